import { createContext, createElement, useContext, useSyncExternalStore, type ReactNode } from "react";
import type { Client } from "../client.js";
import { FrameStore } from "./frames.js";

const ClientContext = createContext<Client | undefined>(undefined);

/** Gives a client to the hooks of all components below. */
export function RialtoProvider({ client, children }: { client: Client; children?: ReactNode }): ReactNode {
  return createElement(ClientContext.Provider, { value: client }, children);
}

/** The provider's client. Does not render again when what it shows changes. */
export function useRialto(): Client {
  const client = useContext(ClientContext);
  if (!client) throw new Error("rialto: a hook needs <RialtoProvider client={client}> above it");
  return client;
}

/** One for each client: all components render for the same frame. */
const stores = new WeakMap<Client, FrameStore>();

function framesOf(client: Client): FrameStore {
  let frames = stores.get(client);
  if (!frames) stores.set(client, (frames = new FrameStore(client.subscribe, client.version)));
  return frames;
}

/** A part of what the client shows. Renders again when it is another one, by identity, at most once a frame. */
export function useSnapshot<T>(read: (client: Client) => T): T {
  const client = useRialto();
  const get = () => read(client);
  return useSyncExternalStore(framesOf(client).subscribe, get, get);
}

/** Of whom lists are, and since which reset: when it is another text, what was read belongs to another user, or to data that the server has lost. */
export function useOwner(): string {
  return useSnapshot((c) => `${c.me}/${c.resets}`);
}

/** The provider's client. Renders again with every change of what it shows, at most once a frame; the other hooks render less often. */
export function useClient(): Client {
  const client = useRialto();
  const { subscribe, snapshot } = framesOf(client);
  useSyncExternalStore(subscribe, snapshot, snapshot);
  return client;
}
