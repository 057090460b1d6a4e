import { asError, isOffline, type Client, type LinkPreview } from "@rialto-im/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useClient, useOnline } from "../client.js";
import { addresses } from "../links.js";

/** A link is read when it has not changed for so long: it may not be complete yet. */
const typedMs = 700;

/** Clients whose server makes no previews. */
const off = new WeakSet<Client>();

export interface LinkPreviewing {
  /** The preview of the first link of the text; undefined while there is none. */
  readonly preview: LinkPreview | undefined;
  readonly remove: () => void;
  /** The preview for a text that is sent. */
  readonly previewOf: (text: string) => LinkPreview | undefined;
}

/** Previews the first link of a text that is being typed. A message that is edited has one already. */
export function useLinkPreview(text: string, before?: LinkPreview): LinkPreviewing {
  const client = useClient();
  const online = useOnline();
  const [found, setFound] = useState(before);
  const [removed, setRemoved] = useState<string>();
  const link = firstLink(text);
  const wanted = link !== undefined && link !== removed && link !== found?.url && online && !off.has(client) && !client.settings()?.noLinkPreviews;
  useEffect(() => {
    if (!wanted) return;
    let stale = false;
    const timer = setTimeout(() => {
      client.chat.previewLink({ url: link }).then(
        (preview) => !stale && setFound(preview),
        (err: unknown) => void (!isOffline(err) && asError(err).reason === "previews_off" && off.add(client)), // a message needs no preview
      );
    }, typedMs);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [client, wanted, link]);
  if (text === "" && removed !== undefined) setRemoved(undefined); // the next message may have it again
  const preview = found && found.url === link && link !== removed ? found : undefined;
  const latest = useRef(preview);
  latest.current = preview;
  const previewOf = useCallback((said: string) => (latest.current?.url === firstLink(said) ? latest.current : undefined), []);
  return { preview, remove: () => setRemoved(link), previewOf };
}

function firstLink(text: string): string | undefined {
  return addresses(text)[0]?.href;
}
