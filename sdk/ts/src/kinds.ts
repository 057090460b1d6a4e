import type { Card, Custom, Location } from "./gen/rialto/chat/v1/message_pb.js";
import type { ChatMessage } from "./model.js";

/** What a place has; latitude and longitude in degrees, accuracy in metres. */
export type LocationOf = Pick<Location, "latitude" | "longitude"> & Partial<Pick<Location, "label" | "address" | "accuracy">>;

/** What a card has. At most one of url, user and group. */
export type CardOf = Pick<Card, "title"> & Partial<Pick<Card, "text" | "url" | "picture" | "user" | "group">>;

/** How an app reads the messages of a kind of its own. */
export interface Kind<T> {
  /** Reads the data; throws where it is not valid. */
  decode(data: unknown, raw: Uint8Array): T;
  /** What lists, quotes and notifications show. Absent: the message's fallback. */
  text?(value: T): string;
  /**
   * Shows a value in an element of the page, which is empty, and returns what ends that, if something must. It is called again after an edit,
   * and when the language of the page changes. Absent: the text is shown.
   */
  render?(element: HTMLElement, value: T, message: ChatMessage): void | (() => void);
}

const kinds = new Map<string, Kind<unknown>>();

/**
 * Says how messages of a custom type, such as "app.example/poll", are read. Returns what decodes them: undefined for other types, and for
 * data that is not valid. Registering a type again replaces it.
 */
export function registerKind<T>(type: string, kind: Kind<T>): (m: Pick<Custom, "type" | "data">) => T | undefined {
  kinds.set(type, kind as Kind<unknown>);
  return (m) => (m.type === type ? decodeWith(kind, m.data) : undefined);
}

/** What lists, quotes and notifications show of a custom message: what its registered kind says, else its fallback, which may be empty. */
export function fallbackText(m: Pick<Custom, "type" | "data" | "fallback">): string {
  const kind = kinds.get(m.type);
  if (!kind?.text) return m.fallback;
  const value = decodeWith(kind, m.data);
  if (value === undefined) return m.fallback;
  try {
    return kind.text(value);
  } catch {
    return m.fallback; // a kind's own error must not keep a list from being shown
  }
}

/**
 * Returns what shows a custom message in an element and returns what ends that; undefined for types that nobody registered or that have no render, and for data
 * that is not valid. It throws what render throws.
 */
export function rendererOf(m: Pick<Custom, "type" | "data">): ((element: HTMLElement, message: ChatMessage) => void | (() => void)) | undefined {
  const kind = kinds.get(m.type);
  if (!kind?.render) return undefined;
  const value = decodeWith(kind, m.data);
  return value === undefined ? undefined : (element, message) => kind.render!(element, value, message);
}

function decodeWith<T>(kind: Kind<T>, data: Uint8Array): T | undefined {
  try {
    return kind.decode(parsed(data), data);
  } catch {
    return undefined;
  }
}

/** The JSON in some bytes; undefined where they are none. */
function parsed(data: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data)) as unknown;
  } catch {
    return undefined;
  }
}

/** Bytes as they are, and everything else as JSON. */
export function encoded(data: unknown): Uint8Array<ArrayBuffer> {
  if (data instanceof Uint8Array) return new Uint8Array(data);
  return data === undefined ? new Uint8Array() : new TextEncoder().encode(JSON.stringify(data));
}
