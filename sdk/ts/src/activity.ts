const inputs = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"] as const;

/**
 * Watches whether somebody uses this window: it is away while it is hidden, and after a time without input. onChange is called at once with what
 * is the case, and then with each change. Where there is no window, nothing is known. Ends with the function that it returns.
 */
export function watchActivity(idleMs: number, now: () => number, onChange: (away: boolean) => void): () => void {
  if (typeof document === "undefined" || typeof window === "undefined" || !window.addEventListener) return () => {};
  let away: boolean | undefined;
  let inputMs = now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const check = () => {
    clearTimeout(timer);
    const leftMs = inputMs + idleMs - now();
    const visible = document.visibilityState === "visible";
    if (visible && leftMs > 0) timer = setTimeout(check, leftMs);
    const is = !visible || leftMs <= 0;
    if (is === away) return;
    away = is;
    onChange(is);
  };
  const input = () => {
    inputMs = now();
    if (away) check(); // else the timer looks again when it is due
  };
  const shown = () => {
    if (document.visibilityState === "visible") inputMs = now();
    check();
  };
  for (const name of inputs) window.addEventListener(name, input, { passive: true, capture: true });
  document.addEventListener("visibilitychange", shown);
  check();
  return () => {
    clearTimeout(timer);
    for (const name of inputs) window.removeEventListener(name, input, { capture: true });
    document.removeEventListener("visibilitychange", shown);
  };
}
