import { type LessOf, type ShownLess } from "@rialto-im/client";
import { useForYou } from "@rialto-im/client/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText, type Translate } from "../i18n.js";
import { nameOf } from "../names.js";
import { Dialog } from "../ui/Dialog.js";
import { UserAvatar } from "./Avatar.js";
import { postsOf } from "./listedPosts.js";
import { PostTimeline } from "./PostTimeline.js";
import { kindNames, RankedPosts, type Ranked } from "./ranked.js";
import "./people.css";

/** The posts that are ranked for the user. Each says why, and the user can ask for less of its author or kind. */
export function ForYou({ current }: { current: string | undefined }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const listed = useForYou();
  const { refresh } = listed;
  const [last, setLast] = useState<LessOf>();
  const [managing, setManaging] = useState(false);
  const shownLess = useRef(listed.showLess);
  shownLess.current = listed.showLess;
  const showLess = useCallback((of: LessOf) => void run(async () => {
    await shownLess.current(of);
    setLast(of);
  }), [run]);
  const [undoButton, manageButton] = [useRef<HTMLButtonElement>(null), useRef<HTMLButtonElement>(null)];
  useEffect(() => {
    if (last && document.activeElement === document.body) undoButton.current?.focus(); // the post that had the focus is gone
  }, [last]);
  const undo = () => run(async () => {
    if (last) await client.showAgain(last);
    manageButton.current?.focus(); // this button goes
    setLast(undefined);
    await refresh();
  });
  const again = () => {
    setLast(undefined); // it may be what was just taken back
    void run(refresh);
  };
  const ranked = useMemo(() => {
    const known = new Map<string, Ranked>();
    for (const e of listed.posts) if (e.ranked) known.set(e.post.id, { ...e.ranked, showLess });
    return (post: string) => known.get(post);
  }, [listed.posts, showLess]);
  return (
    <RankedPosts value={ranked}>
      <div className="filters feed-windows" role="group" aria-label={t("forYou")}>
        <button className="chip" disabled={busy} onClick={() => void run(refresh)}>{t("rankAgain")}</button>
        <button ref={manageButton} className="chip" onClick={() => setManaging(true)}>{t("shownLess")}</button>
      </div>
      {error && <p className="error" role="alert">{error}</p>}
      <div role="status">
        {last && <p className="shown-less" data-testid="shown-less">{"author" in last ? t("lessOfAuthor", { who: nameOf(client, last.author) }) : t("lessOfKind", { kind: t(kindNames[last.kind]) })} <button ref={undoButton} className="link" onClick={() => void undo()}>{t("undo")}</button></p>}
      </div>
      <PostTimeline posts={postsOf(listed)} empty="nothingForYou" end="endForYou" current={current} />
      {managing && <ShownLessDialog onClose={() => setManaging(false)} onChange={again} />}
    </RankedPosts>
  );
}

function targetOf(e: ShownLess): LessOf {
  return e.author === "0" ? { kind: e.kind } : { author: e.author };
}

function targetName(of: LessOf, client: ReturnType<typeof useClient>, t: Translate): string {
  return "author" in of ? nameOf(client, of.author) : t(kindNames[of.kind]);
}

/** What the user wanted to see less of. Each can be shown again. */
function ShownLessDialog({ onClose, onChange }: { onClose: () => void; onChange: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const [entries, setEntries] = useState<readonly ShownLess[]>();
  useEffect(() => void run(async () => setEntries(await client.shownLess())), [client, run]);
  const again = (e: ShownLess) => run(async () => {
    await client.showAgain(targetOf(e));
    setEntries((list) => list?.filter((other) => other !== e));
    onChange();
  });
  return (
    <Dialog title={t("shownLess")} onClose={onClose}>
      {error && <p className="error" role="alert">{error}</p>}
      {!entries && !error && <p role="status">{t("loading")}</p>}
      {entries?.length === 0 && <p className="empty" role="status">{t("nothingShownLess")}</p>}
      <ul className="members">
        {entries?.map((e) => {
          const name = targetName(targetOf(e), client, t);
          return <li key={`${e.author} ${e.kind}`} className="person">{e.author !== "0" && <UserAvatar user={e.author} size={32} />}<span className="person-name"><bdi className="name">{name}</bdi></span><button type="button" aria-label={t("showAgainOf", { who: name })} onClick={() => void again(e)}>{t("showAgain")}</button></li>;
        })}
      </ul>
    </Dialog>
  );
}
