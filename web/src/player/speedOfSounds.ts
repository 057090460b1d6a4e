import { storage, type KeyValueStorage } from "../storage.js";
import { speeds } from "./keys.js";

const key = "sound-speed";

/** How fast voice messages play: the user chose it once on this device, for all of them. */
export class SpeedOfSounds {
  private readonly listeners = new Set<() => void>();
  private speed: number;

  constructor(private readonly storage: Pick<KeyValueStorage, "getItem" | "setItem">) {
    const stored = Number(storage.getItem(key));
    this.speed = speeds.find((s) => s === stored) ?? 1;
  }

  readonly get = (): number => this.speed;

  readonly set = (speed: number): void => {
    this.speed = speed;
    try {
      this.storage.setItem(key, String(speed));
    } catch {
      // A full or forbidden storage: it holds for this page.
    }
    for (const l of this.listeners) l();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };
}

export const speedOfSounds = new SpeedOfSounds(storage);
