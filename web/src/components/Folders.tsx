import type { ChatFolder, ConversationView } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import { useAction, type RunAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { titleOf } from "../names.js";
import { confirm } from "../ui/Confirm.js";
import { Dialog } from "../ui/Dialog.js";
import { IconButton } from "../ui/IconButton.js";
import "./folders.css";
import { CloseIcon, DownIcon, UpIcon } from "./icons.js";

const mostFolders = 20;
const longestName = 32;

/** Puts a chat into folders, those there are or a new one. */
export function ChatFolders({ c, onClose }: { c: ConversationView; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const folders = client.folders();
  const put = (f: ChatFolder, inside: boolean) => run(() => client.updateFolder(f.id, inside ? { add: [c.id] } : { remove: [c.id] }));
  return (
    <Dialog title={t("foldersOf", { chat: titleOf(c) })} onClose={onClose}>
      <div className="stack">
        {folders.map((f) => (
          <label key={f.id} className="check">
            <input type="checkbox" checked={f.conversations.includes(c.id)} onChange={(e) => void put(f, e.target.checked)} />
            <bdi>{f.name}</bdi>
          </label>
        ))}
        <NewFolder run={run} chats={[c.id]} />
        {error && <p className="error" role="alert">{error}</p>}
      </div>
    </Dialog>
  );
}

/** Makes folders, renames, orders and deletes them. */
export function ManageFolders({ onClose }: { onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const folders = client.folders();
  const move = (i: number, to: number) => {
    const ids = folders.map((f) => f.id);
    ids.splice(to, 0, ...ids.splice(i, 1));
    void run(() => client.orderFolders(ids));
  };
  return (
    <Dialog title={t("folders")} onClose={onClose}>
      <div className="stack">
        <p className="muted">{t("foldersNote")}</p>
        <ol className="folders">
          {folders.map((f, i) => (
            <li key={f.id} data-testid="folder">
              <FolderName f={f} run={run} />
              <IconButton label={t("moveUp", { folder: f.name })} disabled={i === 0} onClick={() => move(i, i - 1)}><UpIcon /></IconButton>
              <IconButton label={t("moveDown", { folder: f.name })} disabled={i === folders.length - 1} onClick={() => move(i, i + 1)}><DownIcon /></IconButton>
              <DeleteFolder f={f} run={run} />
            </li>
          ))}
        </ol>
        <NewFolder run={run} chats={[]} />
        {error && <p className="error" role="alert">{error}</p>}
      </div>
    </Dialog>
  );
}

function FolderName({ f, run }: { f: ChatFolder; run: RunAction }) {
  const client = useClient();
  const t = useText();
  const [name, setName] = useState<string>();
  const save = () => {
    const wanted = name?.trim();
    setName(undefined);
    if (wanted && wanted !== f.name) void run(() => client.updateFolder(f.id, { name: wanted }));
  };
  return <input aria-label={t("folderName")} dir="auto" maxLength={longestName} value={name ?? f.name} onChange={(e) => setName(e.target.value)} onBlur={save} onKeyDown={(e) => e.key === "Enter" && save()} />;
}

function DeleteFolder({ f, run }: { f: ChatFolder; run: RunAction }) {
  const client = useClient();
  const t = useText();
  const remove = async () => {
    if (await confirm({ label: t("deleteFolder"), question: t("sureDeleteFolder", { folder: f.name }) })) await run(() => client.deleteFolder(f.id));
  };
  return <IconButton label={t("deleteFolderOf", { folder: f.name })} onClick={() => void remove()}><CloseIcon /></IconButton>;
}

function NewFolder({ run, chats }: { run: RunAction; chats: readonly string[] }) {
  const client = useClient();
  const t = useText();
  const [name, setName] = useState("");
  if (client.folders().length >= mostFolders) return null;
  const submit = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.createFolder(name, chats);
      setName("");
    });
  };
  return (
    <form className="new-folder" onSubmit={submit}>
      <input required aria-label={t("newFolder")} placeholder={t("newFolder")} maxLength={longestName} dir="auto" value={name} onChange={(e) => setName(e.target.value)} data-first />
      <button className="primary">{t("create")}</button>
    </form>
  );
}
