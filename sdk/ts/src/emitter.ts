/** Emitter tells listeners of named events. A listener that throws does not keep the others from hearing. */
export class Emitter<Events extends object> {
  private readonly listeners = new Map<keyof Events, Set<(arg: never) => void>>();

  /** Listens; the function returned ends it. */
  on<K extends keyof Events>(event: K, listener: (arg: Events[K]) => void): () => void {
    let set = this.listeners.get(event);
    if (!set) this.listeners.set(event, (set = new Set()));
    set.add(listener as (arg: never) => void);
    return () => set.delete(listener as (arg: never) => void);
  }

  emit<K extends keyof Events>(event: K, arg: Events[K]): void {
    for (const listener of [...(this.listeners.get(event) ?? [])]) {
      try {
        (listener as (arg: Events[K]) => void)(arg);
      } catch (err) {
        console.error(err);
      }
    }
  }
}
