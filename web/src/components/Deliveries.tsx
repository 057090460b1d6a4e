import type { ChatMessage } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { deviceType } from "../deviceType.js";
import { useText } from "../i18n.js";
import { Dialog } from "../ui/Dialog.js";
import { Tip } from "../ui/Tip.js";
import { CheckIcon, ChecksIcon } from "./icons.js";

export type DeliveryState = "sent" | "delivered" | "read";

/** How often the server is asked again while the dialog is open and a device lacks the message. */
const refreshMs = 2_000;

interface Answer {
  delivered: boolean;
  devices: readonly { type: string; delivered: boolean }[];
}

/** In a one-to-one chat, how far one's own message has come. The devices that have it are asked for when one wants to know. */
export function Deliveries({ m, state }: { m: ChatMessage; state: DeliveryState }) {
  const client = useClient();
  const t = useText();
  const [open, setOpen] = useState(false);
  const [answer, setAnswer] = useState<Answer | undefined>();
  const { run, error } = useAction();
  useEffect(() => {
    if (!open) return;
    let stale = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = () => run(async () => {
      const r = await client.chat.listDeliveries({ conversation: m.conversation, seq: BigInt(m.seq) });
      if (stale) return;
      const delivered = r.users.length > 0;
      setAnswer({ delivered, devices: r.devices });
      if (!delivered || r.devices.some((d) => !d.delivered)) timer = setTimeout(() => void ask(), refreshMs);
    });
    void ask();
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [client, m.conversation, m.seq, open]);
  const close = () => {
    setOpen(false);
    setAnswer(undefined);
  };
  return (
    <>
      <Tip label={t(state)} side="top"><button className={`state ask ${state}`} aria-label={`${t(state)}. ${t("whereDelivered")}`} onClick={() => setOpen(true)} data-testid="state">{state === "sent" ? <CheckIcon /> : <ChecksIcon />}</button></Tip>
      {open && (
        <Dialog title={t("whereDelivered")} onClose={close}>
          {error && <p className="failed" role="alert">{error}</p>}
          {answer && <Devices answer={answer} />}
        </Dialog>
      )}
    </>
  );
}

function Devices({ answer }: { answer: Answer }) {
  const t = useText();
  const word = (delivered: boolean) => t(delivered ? "delivered" : "notDelivered");
  if (answer.devices.length === 0) return <p className="empty">{word(answer.delivered)}. {t("devicesHidden")}</p>;
  return (
    <ul className="members" data-testid="deliveries">
      {answer.devices.map((d) => <li key={d.type} className="person"><span className="person-name"><b>{deviceType(t, d.type)}</b><small>{word(d.delivered)}</small></span></li>)}
    </ul>
  );
}
