import type { Location } from "@rialto-im/client";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import "./voice.css";

/** A place, drawn without a map: its name and coordinates, which lead to the device's own map, and a link to the server's map service, if there is one. */
export function Place({ place }: { place: Location }) {
  const t = useText();
  const map = useClient().mapUrl(place);
  const at = `${place.latitude.toFixed(5)}, ${place.longitude.toFixed(5)}`;
  return (
    <div className="place" data-testid="place">
      <svg viewBox="0 0 72 72" aria-hidden="true">
        <path d="M0 50 22 34l18 10 32-24M14 72l10-38M52 0l-8 34 14 38" fill="none" stroke="light-dark(#fff, #475569)" strokeWidth="4" />
        <path d="M36 16a12 12 0 0 1 12 12c0 9-12 22-12 22S24 37 24 28a12 12 0 0 1 12-12z" fill="var(--accent)" />
        <circle cx="36" cy="28" r="4.500" fill="#fff" />
      </svg>
      <div>
        <b dir="auto">{place.label || t("location")}</b>
        {place.address && <small dir="auto">{place.address}</small>}
        <small><a href={`geo:${place.latitude},${place.longitude}`}>{at}</a>{place.accuracy > 0 && ` ${t("accuracy", { n: Math.round(place.accuracy) })}`}</small>
        {map && <small><a href={map} target="_blank" rel="noopener noreferrer">{t("openMap")}</a></small>}
      </div>
    </div>
  );
}
