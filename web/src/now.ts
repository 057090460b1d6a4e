import { useSyncExternalStore } from "react";

const stepMs = 60_000;

let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(f: () => void): () => void {
  if (listeners.size === 0) {
    now = Date.now();
    timer = setInterval(step, stepMs);
  }
  listeners.add(f);
  return () => {
    listeners.delete(f);
    if (listeners.size === 0) clearInterval(timer);
  };
}

function step(): void {
  now = Date.now();
  for (const f of listeners) f();
}

/** The time by the device's clock. What shows how long ago something was is rendered again once a minute. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
