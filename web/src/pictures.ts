interface Source {
  download(of: { conversation: string; seq?: number }, upload: string): Promise<string>;
}

const most = 200; // URLs; the oldest are dropped beyond

/** The URLs of groups' pictures. Each is asked for once, however many places show it, and again where it has expired. */
export class GroupPictures {
  private urls = new Map<string, { asked: Promise<string>; url?: string }>();

  constructor(private readonly client: Source) {}

  url(conversation: string, upload: string): Promise<string> {
    const key = `${conversation}/${upload}`;
    const known = this.urls.get(key);
    if (known) return known.asked;
    const entry: { asked: Promise<string>; url?: string } = { asked: this.client.download({ conversation }, upload) };
    this.urls.set(key, entry);
    if (this.urls.size > most) this.urls.delete(this.urls.keys().next().value!);
    entry.asked.then(
      (url) => (entry.url = url),
      () => this.urls.get(key) === entry && this.urls.delete(key), // the next to show it asks again
    );
    return entry.asked;
  }

  /** Drops a URL that does not work any more. */
  forget(conversation: string, upload: string, url: string): void {
    const key = `${conversation}/${upload}`;
    if (this.urls.get(key)?.url === url) this.urls.delete(key);
  }
}

const pictures = new WeakMap<Source, GroupPictures>();

export function picturesOf(client: Source): GroupPictures {
  let all = pictures.get(client);
  if (!all) pictures.set(client, (all = new GroupPictures(client)));
  return all;
}
