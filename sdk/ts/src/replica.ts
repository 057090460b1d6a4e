import { Conversations } from "./conversations.js";
import { Events } from "./events.js";
import { Expiry } from "./expiry.js";
import type { Relation as RelationPb } from "./gen/rialto/chat/v1/chat_pb.js";
import { History } from "./history.js";
import { LocalData, type ReplicaDeps } from "./localdata.js";
import { toRelation } from "./model.js";
import type { Op } from "./storage.js";
import { StoredExpiry } from "./storedExpiry.js";
import { Sync } from "./sync.js";

/**
 * Replica is the device's copy of the user's data. It applies events in the order of the stream. Where one is missing, and after
 * each reconnect, it syncs. It stores the changes of events and the position after them in one write, so a crash of the page
 * repeats events and never skips one.
 */
export class Replica {
  readonly data: LocalData;
  readonly history: History;
  readonly conversations: Conversations;
  readonly events: Events;
  readonly stream: Sync;
  readonly expiry: Expiry;
  readonly storedExpiry: StoredExpiry;

  constructor(all: ReplicaDeps) {
    const onChange = () => {
      all.onChange();
      this.expiry.changed();
    };
    const deps: ReplicaDeps = { ...all, onChange };
    this.data = new LocalData(deps);
    this.history = new History(this.data, deps);
    this.conversations = new Conversations(this.data, deps, this.history);
    this.events = new Events(this.data, this.history, this.conversations, deps);
    this.stream = new Sync(this.data, this.events, this.history, this.conversations, {
      ...deps,
      onSynced: () => {
        this.storedExpiry.synced();
        all.onSynced();
      },
    });
    this.expiry = new Expiry(this.data, this.history, deps.now);
    this.storedExpiry = new StoredExpiry(this.data, { ...deps, sync: () => this.stream.sync() });
  }

  /** This window became the one that stores. */
  lead(): void {
    this.data.lead();
    this.storedExpiry.sweep();
  }

  /** Ends all that would go on by itself; resolves when what was taken is stored. */
  stop(): Promise<void> {
    this.data.stopped = true;
    this.stream.stop();
    this.expiry.stop();
    this.storedExpiry.stop();
    this.conversations.stop();
    return this.data.written();
  }

  /** Takes the answer of a graph call. */
  takeRelation(r: RelationPb): void {
    const ops: Op[] = [];
    this.data.putRelation(toRelation(r), ops);
    this.data.keep(ops);
  }
}
