import { ReportedKind, type ReplyTarget, type ChatMessage, type OutgoingMessage } from "@rialto-im/client";
import { createContext, lazy, Suspense, useContext, useState, type ReactElement } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { save } from "../saved.js";
import { openThread } from "../threads.js";
import { confirm } from "../ui/Confirm.js";
import { ContextItem, ContextMenu } from "../ui/ContextMenu.js";
import { Dialog } from "../ui/Dialog.js";
import { Menu, MenuItem } from "../ui/Menu.js";
import { EditHistory } from "./EditHistory.js";
import { Reactors } from "./Reactors.js";
import { ReportDialog } from "./ReportDialog.js";

const EmojiPicker = lazy(() => import("./EmojiPicker.js"));

/** A message that one answers, edits, forwards, or selects first. */
export interface Acting {
  kind: "reply" | "edit" | "forward" | "select";
  conversation: string;
  /** 0 for one's own message on its way, which can only be answered. */
  seq: number;
  outgoing?: OutgoingMessage;
  text: string;
}

/** What the message answers that one writes. */
export function answeredBy(acting: Acting | undefined): ReplyTarget | undefined {
  return acting?.outgoing ?? acting?.seq;
}

const Act = createContext<(acting: Acting) => void>(() => {});

/** Gives its messages the function that begins one of these. */
export const MessageActing = Act.Provider;

/** Begins a reply to a message. */
export function useReply(m: ChatMessage): () => void {
  const act = useContext(Act);
  return () => act({ kind: "reply", conversation: m.conversation, seq: m.seq, text: m.text });
}

/** Begins a reply to one's own message that is on its way. */
export function useReplyToOutgoing(o: OutgoingMessage): () => void {
  const act = useContext(Act);
  return () => act({ kind: "reply", conversation: o.conversation, seq: 0, outgoing: o, text: o.text });
}

interface Props {
  m: ChatMessage;
  mine: boolean;
  group: boolean;
  /** An admin of the group, or its owner. */
  manages: boolean;
  writes: boolean;
  /** Followers of a channel react, and do not write. */
  reacts: boolean;
  /** Whether one can open a thread under it, or start one. */
  threads: boolean;
}

/** For so long a message of one's own can be taken back, in the server's default settings. Where it is another time, the server says so. */
const recallWithinMs = 24 * 60 * 60 * 1_000;

interface Item {
  label: string;
  run: () => void;
  sure?: string;
}

/** What one can do with a message. */
function useItems({ m, mine, group, manages, writes, reacts, threads }: Props, onDialog: (dialog: MessageDialog) => void, run: (action: () => Promise<unknown>) => void): Item[] {
  const client = useClient();
  const t = useText();
  const act = useContext(Act);
  const begin = (kind: Acting["kind"]) => act({ kind, conversation: m.conversation, seq: m.seq, text: m.text });
  const items: Item[] = [];
  if (writes) items.push({ label: t("reply"), run: () => begin("reply") });
  if (reacts) items.push({ label: t("react"), run: () => onDialog("react") });
  if (threads && (writes || m.thread)) items.push({ label: t("replyInThread"), run: () => run(() => openThread(client, m)) });
  items.push({ label: t("forward"), run: () => begin("forward") }, { label: t("select"), run: () => begin("select") });
  items.push({ label: t("saveMessage"), run: () => run(() => save(client, m)) });
  if (m.text) items.push({ label: t("copyText"), run: () => run(() => navigator.clipboard.writeText(m.text)) });
  const editable = editableKind(m);
  if (writes && mine && editable) items.push({ label: t(editable === "text" ? "editMessage" : "editCaption"), run: () => begin("edit") });
  if (writes && (manages || !group)) items.push({ label: t(m.pinned ? "unpinMessage" : "pinMessage"), run: () => run(() => client.pin(m.conversation, m.seq, m.pinned)) });
  if (m.editedMs) items.push({ label: t("editHistory"), run: () => onDialog("versions") });
  if (m.reactions?.counts.length) items.push({ label: t("whoReacted"), run: () => onDialog("reactors") });
  items.push({ label: t("deleteForMe"), sure: t("sureDeleteForMe", { n: 1 }), run: () => run(() => client.deleteMessages(m.conversation, [m.seq])) });
  if (writes && (mine ? Date.now() - m.timeMs < recallWithinMs : manages)) {
    items.push({ label: t("recall"), sure: t("sureRecall"), run: () => run(() => client.recall(m.conversation, m.seq)) });
  }
  if (!mine) items.push({ label: t("report"), run: () => onDialog("report") });
  return items;
}

/** What the sender of a message may edit of it. */
function editableKind(m: ChatMessage): "text" | "caption" | undefined {
  switch (m.content.kind.case) {
    case "text":
      return "text";
    case "image":
    case "file":
    case "video":
    case "album":
      return "caption";
    default:
      return undefined;
  }
}

type MessageDialog = "react" | "report" | "versions" | "reactors";

function Dialogs({ dialog, m, onClose }: { dialog: MessageDialog | undefined; m: ChatMessage; onClose: () => void }) {
  if (dialog === "react") return <ReactDialog m={m} onClose={onClose} />;
  if (dialog === "versions") return <EditHistory m={m} onClose={onClose} />;
  if (dialog === "reactors") return <Reactors m={m} onClose={onClose} />;
  return dialog === "report" && <ReportDialog of={{ kind: ReportedKind.MESSAGE, id: m.conversation, seq: m.seq }} onClose={onClose} />;
}

/** Opens by a right click, a long touch or the menu key on a message. */
export function MessageContextMenu({ children, ...props }: Props & { children: ReactElement }) {
  const { run, error } = useAction();
  const [dialog, setDialog] = useState<MessageDialog>();
  const items = useItems(props, setDialog, (action) => void run(action));
  const select = ({ label, sure, run }: Item) => (sure === undefined ? run() : void confirm({ label, question: sure }).then((yes) => yes && run()));
  return (
    <>
      <ContextMenu items={items.map((i) => <ContextItem key={i.label} label={i.label} onSelect={() => select(i)} />)}>{children}</ContextMenu>
      {error && <p className="error" role="alert">{error}</p>}
      <Dialogs dialog={dialog} m={props.m} onClose={() => setDialog(undefined)} />
    </>
  );
}

/** The same menu behind a button, for the keyboard and the mouse. */
export function MessageMenu({ name, ...props }: Props & { name: string }) {
  const { run, error } = useAction();
  const [dialog, setDialog] = useState<MessageDialog>();
  const items = useItems(props, setDialog, (action) => void run(action));
  return (
    <span className="more">
      <Menu label={name}>{items.map((i) => <MenuItem key={i.label} label={i.label} {...(i.sure ? { sure: i.sure } : {})} onSelect={i.run} />)}</Menu>
      {error && <span className="failed" role="alert">{error}</span>}
      <Dialogs dialog={dialog} m={props.m} onClose={() => setDialog(undefined)} />
    </span>
  );
}

const quick = ["👍", "❤️", "😂", "😮", "😢", "🎉"];

/** Chooses an emoji: one of a few, or any. */
function ReactDialog({ m, onClose }: { m: ChatMessage; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const pick = (emoji: string) => run(() => client.react(m.conversation, m.seq, emoji).then(onClose));
  return (
    <Dialog title={t("react")} onClose={onClose}>
      <div className="buttons">{quick.map((emoji) => <button key={emoji} className="icon" onClick={() => void pick(emoji)}>{emoji}</button>)}</div>
      {error && <p className="error" role="alert">{error}</p>}
      <Suspense fallback={<div className="emoji-space" />}><EmojiPicker onPick={(emoji) => void pick(emoji)} onClose={onClose} /></Suspense>
    </Dialog>
  );
}

/** What one can do with one's own message that is on its way, by a right click, a long touch or the menu key, and behind a button. */
export function OutgoingMenu({ o, children }: { o: OutgoingMessage; children: (button: ReactElement) => ReactElement }) {
  const t = useText();
  const reply = useReplyToOutgoing(o);
  const button = <span className="more"><Menu label={t("you")}><MenuItem label={t("reply")} onSelect={reply} /></Menu></span>;
  return <ContextMenu items={<ContextItem label={t("reply")} onSelect={reply} />}>{children(button)}</ContextMenu>;
}
