import { useEffect, useId, useRef, type KeyboardEvent } from "react";
import { useClient, useOnline } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { goUp } from "../routes.js";
import { mostText, nothingTyped } from "../search/filters.js";
import { IconButton } from "../ui/IconButton.js";
import { Palette } from "../ui/Palette.js";
import { GroupAvatar, UserAvatar } from "./Avatar.js";
import { ClockIcon, CloseIcon, DownIcon, SearchIcon } from "./icons.js";
import "./search.css";
import { SearchFilters, filterText } from "./SearchFilters.js";
import { SearchHit } from "./SearchHit.js";
import { countOf, hitTitles, type Option } from "../search/options.js";
import { useSearchBox } from "./useSearchBox.js";

const touch = matchMedia("(pointer: coarse)").matches;

type Box = ReturnType<typeof useSearchBox>;

/** The search of everything, above the place that one came from. near is the chat that is open there. */
export function SearchPalette({ near }: { near: string | undefined }) {
  const t = useText();
  const leaving = useRef(false);
  const box = useSearchBox(near, leaving);
  const id = useId();
  const { typed, options, active } = box;
  const escape = (e: KeyboardEvent) => {
    if (e.key !== "Escape" || e.nativeEvent.isComposing) return;
    if (!box.dismiss()) goUp();
  };
  /** Begins a filter behind what is typed. */
  const begin = (token: string) => box.change({ ...typed, text: typed.text.trim() === "" ? token : `${typed.text.trimEnd()} ${token}` });
  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: "nearest" });
  }, [id, active]);
  const aria = options.length > 0 ? { "aria-expanded": true, "aria-controls": id, ...(active >= 0 && { "aria-activedescendant": `${id}-${active}` }) } : { "aria-expanded": false };
  return (
    <Palette title={t("searchAll")} leaving={leaving} onClose={goUp}>
      <div className="search-box" role="search" onKeyDown={escape}>
        <div className="search-field">
          <SearchIcon />
          <input ref={box.field} role="combobox" aria-autocomplete="list" {...aria} aria-label={t("searchFor")} placeholder={t("searchFor")} autoComplete="off" autoCapitalize="none" spellCheck={false} enterKeyHint="search" maxLength={mostText} dir="auto" value={typed.text} onChange={(e) => { box.setTyped({ ...typed, text: e.target.value }); box.moved(); }} onSelect={box.moved} onKeyDown={box.key} data-testid="search-input" />
          {typed.text !== "" && <button type="button" className="link" onClick={() => box.change(nothingTyped)}>{t("clearSearch")}</button>}
          <IconButton label={t("close")} onClick={goUp}><CloseIcon /></IconButton>
        </div>
        <SearchFilters typed={typed} onChange={(next) => box.change(next)} onBegin={begin} />
        <Status box={box} />
        {options.length > 0 && <Options id={id} box={box} />}
        {!box.typing && box.query === undefined && box.recent.length > 0 && <p className="search-note">{t("recentNote")} <button type="button" className="link" onClick={box.clearRecent}>{t("clearRecent")}</button></p>}
      </div>
    </Palette>
  );
}

function Options({ id, box: { sections, options, active, choose, search, query, typing } }: { id: string; box: Box }) {
  const t = useText();
  const stale = query !== undefined && !typing && !search.settled;
  return (
    <div id={id} role="listbox" aria-label={t("results")} aria-busy={stale} className={stale ? "search-results stale" : "search-results"} data-testid="search-results">
      {sections.map((s) => (
        <div key={s.key} role="group" aria-labelledby={`${id}-title-${s.key}`}>
          <div id={`${id}-title-${s.key}`} role="presentation" className="search-heading">{s.title}</div>
          {s.options.map((o) => {
            const i = options.indexOf(o);
            return <div key={o.key} id={`${id}-${i}`} role="option" aria-selected={i === active} className="search-option" onPointerDown={(e) => e.preventDefault()} onClick={() => choose(o)} data-testid="search-option" data-key={o.key}><OptionText of={o} /></div>;
          })}
        </div>
      ))}
    </div>
  );
}

function OptionText({ of }: { of: Option }) {
  const client = useClient();
  const t = useText();
  switch (of.kind) {
    case "hit":
      return <SearchHit hit={of.hit} />;
    case "more":
      return <span className="search-more"><DownIcon />{t(of.loading ? "loadingMoreOf" : "moreOf", { kind: t(hitTitles[of.of]!) })}</span>;
    case "recent":
      return <><ClockIcon /><span className="search-text"><bdi>{[...of.typed.filters.map((f) => filterText(f, client, t)), of.typed.text].filter(Boolean).join(" · ")}</bdi></span></>;
    case "completion": {
      const { user, chat, label, detail } = of.completion;
      return (
        <>
          {user ? <UserAvatar user={user} size={28} /> : chat && (chat.peer === "0" || chat.peer === "" ? <GroupAvatar c={chat} size={28} /> : <UserAvatar user={chat.peer} size={28} />)}
          <span className="search-text"><bdi>{label}</bdi></span>
          <small>{detail}</small>
        </>
      );
    }
  }
}

/** What there is to say of the search: how many results, or why there are none, and what to do then. */
function Status({ box: { typed, setTyped, typing, options, query, search } }: { box: Box }) {
  const t = useText();
  const online = useOnline();
  const { n, more } = countOf(search.groups);
  const again = <button type="button" onClick={() => void search.now()}>{t("searchAgain")}</button>;
  const said = (): string => {
    if (typing) return options.length > 0 ? "" : typing.name === "before" || typing.name === "after" ? t("typeDay", { day: "2026-01-31" }) : t("noFilterValue", { text: typing.value });
    if (query === undefined) return t(touch ? "searchIntro" : "searchIntroKeys");
    if (!online) return t("searchOffline");
    if (!search.settled) return n > 0 ? "" : t("searching");
    if (search.error) return "";
    if (n === 0 && !more) return typed.text.trim() === "" ? t("foundNothingFiltered") : t("foundNothing", { text: typed.text.trim() });
    return more ? t("foundAtLeast", { n }) : t("foundCount", { n });
  };
  const text = said();
  const searched = query !== undefined && !typing && online && search.settled;
  const isCount = searched && n > 0;
  const nothing = searched && n === 0 && !more && !search.error;
  return (
    <div className="search-status">
      <div role="status" data-testid="search-status"><p className={isCount || text === "" ? "sr-only" : undefined}>{text}</p></div>
      {searched && search.error && <div role="alert"><p className="error">{search.error.reason === "bad_query" ? t("errSearchQuery") : t("searchFailed", { why: errorText(search.error) })}</p>{search.error.reason !== "bad_query" && again}</div>}
      {nothing && <p className="search-hint">{t("foundNothingHint")}</p>}
      {nothing && typed.filters.length > 0 && <button type="button" onClick={() => setTyped({ ...typed, filters: [] })}>{t("removeFilters")}</button>}
      {searched && search.incomplete && <p className="search-incomplete" data-testid="search-incomplete">{t("searchIncomplete")} {again}</p>}
    </div>
  );
}
