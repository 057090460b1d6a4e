import type { Content } from "@rialto-im/client";

// What an official account sends by itself. The forms edit texts; a content of another kind stays as it is.

export const textOf = (c: Content | undefined): string => (c?.kind.case === "text" ? c.kind.value : "");

export const textContent = (text: string) => ({ kind: { case: "text" as const, value: text.trim() } });

/** A content that the forms do not edit; undefined for a text, and for none. */
export const otherThanText = (c: Content | undefined): Content | undefined => (c?.kind.case === "text" ? undefined : c);

/** Whether two parts of an account, as its menu, are the same. */
export const sameParts = (a: unknown, b: unknown): boolean => textOfPart(a) === textOfPart(b);

const textOfPart = (part: unknown): string => JSON.stringify(part, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value)) ?? "";
