import { AlertDialog } from "radix-ui";
import { useSyncExternalStore } from "react";
import { useText } from "../i18n.js";
import styles from "./Dialog.module.css";
import { useReturnFocus } from "./returnFocus.js";

export interface Question {
  /** What is done, on the button that does it. */
  label: string;
  question: string;
}

let asked: (Question & { answer: (yes: boolean) => void }) | undefined;
const listeners = new Set<() => void>();

function ask(next: typeof asked): void {
  asked?.answer(false);
  asked = next;
  for (const f of listeners) f();
}

function subscribe(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

/** Asks before what cannot be taken back is done. Escape and Cancel mean no. */
export function confirm(q: Question): Promise<boolean> {
  return new Promise((answer) => ask({ ...q, answer }));
}

/** Shows the questions of confirm. The app has one. */
export function Questions() {
  const t = useText();
  const { opened, closed } = useReturnFocus();
  const q = useSyncExternalStore(subscribe, () => asked);
  if (!q) return null;
  const answer = (yes: boolean) => {
    if (asked !== q) return;
    asked = undefined;
    for (const f of listeners) f();
    q.answer(yes);
  };
  return (
    <AlertDialog.Root open onOpenChange={(open) => !open && answer(false)}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={styles["overlay"]} />
        <AlertDialog.Content className={styles["dialog"]} onOpenAutoFocus={opened} onCloseAutoFocus={closed}>
          <AlertDialog.Title>{q.label}</AlertDialog.Title>
          <AlertDialog.Description>{q.question}</AlertDialog.Description>
          <div className="buttons end">
            <AlertDialog.Cancel>{t("cancel")}</AlertDialog.Cancel>
            <AlertDialog.Action className="primary danger-fill" onClick={() => answer(true)}>{q.label}</AlertDialog.Action>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

/** A button for what cannot be taken back: it asks first. */
export function Confirm({ label, question, onAsk, onYes, testId }: Question & { onAsk?: () => void; onYes: () => void; testId?: string }) {
  const click = async () => {
    onAsk?.();
    if (await confirm({ label, question })) onYes();
  };
  return <button type="button" className="danger" data-testid={testId} onClick={() => void click()}>{label}</button>;
}
