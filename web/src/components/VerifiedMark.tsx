import { useUser } from "@rialto-im/client/react";
import { useText } from "../i18n.js";
import "./official.css";

/** The mark of an official account beside its name; nothing for others. */
export function VerifiedMark({ user }: { user: string }) {
  const t = useText();
  if (!useUser(user)?.official) return null;
  return <span className="verified" role="img" aria-label={t("officialMark")} title={t("officialMark")}>✓</span>;
}
