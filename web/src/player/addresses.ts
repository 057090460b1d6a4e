/** The address up to its last name. */
function folderOf(url: string): string {
  return url.slice(0, url.lastIndexOf("/") + 1);
}

/**
 * Addresses of a video that are signed again from time to time. The files of a playlist lie below its own address, so an address that was read from an
 * older playlist still works with the newest signature.
 */
export class SignedAddresses {
  private current: string;
  private readonly older = new Set<string>();

  constructor(playlist: string) {
    this.current = folderOf(playlist);
  }

  renew(playlist: string): void {
    const folder = folderOf(playlist);
    if (folder === this.current) return;
    this.older.add(this.current);
    this.older.delete(folder);
    this.current = folder;
  }

  /** What began with the host of one address is at that of another from now on. */
  move(from: string, to: string): void {
    const [before, after] = [new URL(from).origin, new URL(to).origin];
    if (this.current.startsWith(before)) this.renew(after + this.current.slice(before.length));
  }

  /** The address to load in place of one. */
  newest(url: string): string {
    for (const folder of this.older) if (url.startsWith(folder)) return this.current + url.slice(folder.length);
    return url;
  }
}
