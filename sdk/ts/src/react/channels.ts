import { useCallback, useEffect, useRef, useState } from "react";
import type { ChannelAddress, ChannelPreview } from "../channels.js";
import type { ConversationView } from "../model.js";
import { useRialto, useSnapshot } from "./context.js";
import { useOnline } from "./hooks.js";

/** The channels that the user follows or writes in: pinned first, then the last active first. */
export function useChannels(): readonly ConversationView[] {
  const all = useSnapshot((c) => c.conversations());
  return all.filter((c) => c.channel);
}

export interface PreviewedChannel {
  /** Undefined while it is being read, or after it failed. */
  readonly preview: ChannelPreview | undefined;
  /** Why it could not be read. */
  readonly error: unknown;
  /** Follows the channel. */
  readonly join: () => Promise<ConversationView>;
}

/** What a channel's address leads to, before one follows it. */
export function useChannelPreview(at: ChannelAddress): PreviewedChannel {
  const client = useRialto();
  const online = useOnline();
  const [state, setState] = useState<{ preview?: ChannelPreview; error?: unknown }>({});
  const key = JSON.stringify(at);
  const latest = useRef(at);
  latest.current = at;
  useEffect(() => {
    if (!online) return;
    let current = true;
    client.channels.preview(latest.current).then(
      (preview) => current && setState({ preview }),
      (error: unknown) => current && setState({ error }),
    );
    return () => void (current = false);
  }, [client, online, key]);
  const join = useCallback(() => client.channels.join(latest.current), [client]);
  return { preview: state.preview, error: state.error, join };
}
