import type { QuietHours as Hours } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useAction } from "../action.js";
import { client } from "../client.js";
import { useText } from "../i18n.js";
import { changePushSettings } from "../notifications/push.js";
import { minutesOf, timeOf, timeZone } from "../notifications/quietHours.js";

type Chosen = Pick<Hours, "from" | "to" | "timeZone">;

/** The hours of a day in which the server pushes nothing to any device of the user. It is not shown where the server pushes nothing at all. */
export function QuietHours() {
  const t = useText();
  const [available, setAvailable] = useState(false);
  const [hours, setHours] = useState<Chosen>();
  const [times, setTimes] = useState({ from: "22:00", to: "07:00" });
  const { run, error } = useAction();
  useEffect(() => {
    let shown = true;
    const read = async () => {
      if ((await client.pushApi.getPushProviders({})).providers.length === 0) return;
      const { quietHours } = await client.pushApi.getPushSettings({});
      if (!shown) return;
      if (quietHours) {
        setHours(quietHours);
        setTimes({ from: timeOf(quietHours.from), to: timeOf(quietHours.to) });
      }
      setAvailable(true);
    };
    void read().catch(() => {}); // offline: the fields are there the next time
    return () => void (shown = false);
  }, []);
  if (!available) return null;
  const here = timeZone();
  const save = (wanted?: Chosen) => void run(async () => {
    await changePushSettings({ quietHours: wanted });
    setHours(wanted);
  });
  const chosen = (at: typeof times, zone: string): Chosen | undefined => {
    const [from, to] = [minutesOf(at.from), minutesOf(at.to)];
    return from === undefined || to === undefined || from === to ? undefined : { from, to, timeZone: zone };
  };
  const change = (part: Partial<typeof times>) => {
    const at = { ...times, ...part };
    setTimes(at);
    const wanted = chosen(at, hours?.timeZone ?? here);
    if (wanted) save(wanted); // else it is half filled in
  };
  return (
    <fieldset className="quiet-hours">
      <legend className="sr-only">{t("quietHours")}</legend>
      <label className="check">
        <input type="checkbox" checked={hours !== undefined} onChange={(e) => save(e.target.checked ? (chosen(times, here) ?? { from: 1320, to: 420, timeZone: here }) : undefined)} />
        {t("quietHours")}
      </label>
      {hours && (
        <div className="quiet-times">
          <label>{t("quietFrom")}<input type="time" required value={times.from} onChange={(e) => change({ from: e.target.value })} /></label>
          <label>{t("quietTo")}<input type="time" required value={times.to} onChange={(e) => change({ to: e.target.value })} /></label>
        </div>
      )}
      {hours && hours.timeZone !== here && <button type="button" onClick={() => save({ ...hours, timeZone: here })}>{t("quietZoneHere", { zone: here })}</button>}
      <p className={error ? "error" : "muted"} role="status">
        {error || (!hours ? t("quietNote") : times.from === times.to ? t("quietSame") : t("quietZone", { zone: hours.timeZone }))}
      </p>
    </fieldset>
  );
}
