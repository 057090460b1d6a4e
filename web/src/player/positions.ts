/** The page remembers the positions of so many files; those that were played least recently are forgotten. */
const mostFiles = 200;

/** Where files of chats were stopped, by their uploads, in seconds. It is forgotten with the page, and the server does not learn it. */
export class Positions {
  private readonly seconds = new Map<string, number>();

  of(upload: string): number {
    return this.seconds.get(upload) ?? 0;
  }

  set(upload: string, seconds: number): void {
    this.seconds.delete(upload);
    this.seconds.set(upload, seconds);
    if (this.seconds.size > mostFiles) this.seconds.delete(this.seconds.keys().next().value!);
  }
}

export const positions = new Positions();
