import type { ChatMessage, Client, NewReaders } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { Dialog } from "../ui/Dialog.js";
import { Tabs } from "../ui/Tabs.js";
import { Tip } from "../ui/Tip.js";
import { CheckIcon, ChecksIcon } from "./icons.js";
import { useReadCount } from "./useReadCount.js";
import { UserLinks } from "./UserLinks.js";

const shown = 200;

interface List {
  users: string[];
  more: boolean;
}

/** Pages may be short, or empty, before the last one. */
async function pages(read: (page: string) => Promise<{ users: string[]; next: string }>): Promise<List> {
  const users: string[] = [];
  let page = "";
  do {
    const r = await read(page);
    users.push(...r.users);
    page = r.next;
  } while (page !== "" && users.length < shown);
  return { users, more: page !== "" };
}

async function lists(client: Client, m: ChatMessage): Promise<Answer> {
  const message = { conversation: m.conversation, seq: BigInt(m.seq), limit: shown };
  const readers = (unread: boolean) => pages((page) => client.chat.listReaders({ ...message, unread, page }));
  const large = client.conversation(m.conversation)?.large; // where deliveries are not known
  const [read, unread, delivered] = await Promise.all([readers(false), readers(true), large ? undefined : pages((page) => client.chat.listDeliveries({ ...message, page }))]);
  return { read, unread, delivered };
}

function count(list: List): string {
  return `${list.users.length}${list.more ? "+" : ""}`;
}

interface Answer {
  read: List;
  unread: List;
  delivered: List | undefined;
}

function withUsers(list: List, users: readonly string[]): List {
  return { ...list, users: [...list.users, ...users.filter((u) => !list.users.includes(u))] };
}

/** The lists once some more users have read the message. */
function withNew({ read, unread, delivered }: Answer, users: readonly string[]): Answer {
  return { read: withUsers(read, users), delivered: delivered && withUsers(delivered, users), unread: { ...unread, users: unread.users.filter((u) => !users.includes(u)) } };
}

/**
 * In a group, who has read one's own message is asked for, when one wants to know, and kept up to date while it is shown. Of a counted message, how
 * many have is shown at once.
 */
export function Readers({ m, counted }: { m: ChatMessage; counted: boolean }) {
  const client = useClient();
  const t = useText();
  const [answer, setAnswer] = useState<Answer | undefined>();
  const { run, error } = useAction();
  const ask = async () => {
    setAnswer(await lists(client, m));
  };
  const open = answer !== undefined;
  const readCount = useReadCount(m, counted);
  const state = readCount === undefined ? t("sent") : t("readByCount", { n: readCount });
  useEffect(() => {
    if (!open) return;
    const reading = { on: true };
    const news = async ({ users, more }: NewReaders) => {
      if (!more) return setAnswer((a) => a && withNew(a, users));
      const all = await lists(client, m);
      if (reading.on) setAnswer(all);
    };
    const stop = client.watchReaders(m.conversation, m.seq, (n) => void news(n).catch(() => {})); // what is shown stays
    return () => {
      reading.on = false;
      stop();
    };
  }, [client, m.conversation, m.seq, open]);
  return (
    <>
      {error && <span className="failed" role="alert">{error}</span>}
      <Tip label={t("whoRead")} side="top"><button className={readCount === undefined ? "state ask" : "state ask read counted"} aria-label={`${state}. ${t("whoRead")}`} onClick={() => void run(ask)} data-testid="state">{readCount === undefined ? <CheckIcon /> : <><ChecksIcon /> {state}</>}</button></Tip>
      {answer && (
        <Dialog title={t("whoRead")} onClose={() => setAnswer(undefined)}>
          <Tabs
            label={t("whoRead")}
            tabs={[
              { id: "read", label: t("readBy", { n: count(answer.read) }), content: <UserLinks users={answer.read.users} /> },
              { id: "unread", label: t("unreadBy", { n: count(answer.unread) }), content: <UserLinks users={answer.unread.users} /> },
              ...(answer.delivered ? [{ id: "delivered", label: t("deliveredTo", { n: count(answer.delivered) }), content: <UserLinks users={answer.delivered.users} /> }] : []),
            ]}
          />
        </Dialog>
      )}
    </>
  );
}
