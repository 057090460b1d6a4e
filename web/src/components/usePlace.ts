import { useState } from "react";
import { client } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";

/** Sends where the device is. The browser asks the user first; onResult gets why it could not, or nothing. */
export function usePlace(conversation: string, onResult: (error?: string) => void): { sending: boolean; sendPlace: () => void } {
  const t = useText();
  const [sending, setSending] = useState(false);
  const end = (error?: string) => {
    setSending(false);
    onResult(error);
  };
  const sendPlace = () => {
    if (!("geolocation" in navigator)) return end(t("noPlace"));
    setSending(true);
    navigator.geolocation.getCurrentPosition(
      ({ coords: { latitude, longitude, accuracy } }) => {
        client.sendLocation(conversation, { latitude, longitude, accuracy }).then(() => end(), (err: unknown) => end(errorText(err)));
      },
      () => end(t("noPlace")),
      { enableHighAccuracy: true, timeout: 20_000 },
    );
  };
  return { sending, sendPlace };
}
