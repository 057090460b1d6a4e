import type { Key, Translate } from "./i18n.js";

const names: Record<string, Key> = { phone: "typePhone", tablet: "typeTablet", desktop: "typeDesktop", web: "typeWeb", terminal: "typeTerminal", other: "typeOther" };

/** The name of a type of device. Another client may give a type that this app has no name for. */
export function deviceType(t: Translate, type: string): string {
  const name = names[type];
  return name ? t(name) : type;
}
