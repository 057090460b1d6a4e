import { useEffect } from "react";
import type { RoomView } from "../rooms.js";
import { useRialto, useSnapshot } from "./context.js";

/** A live chat room, which one is in while the component is shown. Undefined before the first render is done. */
export function useRoom(room: string): RoomView | undefined {
  const client = useRialto();
  useEffect(() => client.rooms.enter(room), [client, room]);
  return useSnapshot((c) => c.rooms.view(room));
}
