import { useSyncExternalStore } from "react";

const query = () => matchMedia("(prefers-reduced-motion: reduce)");

function subscribe(f: () => void): () => void {
  const q = query();
  q.addEventListener("change", f);
  return () => q.removeEventListener("change", f);
}

/** Whether the user wants little to move. */
export function useReducedMotion(): boolean {
  return useSyncExternalStore(subscribe, () => query().matches);
}
