package timeline

import "math"

// Each partition has one event stream: a derived timeline that names the entries of its conversations in the order in which they were
// dispatched. Consumers of server events read it. Its key is an inbox of nobody, so that it has what inboxes have: the owner of the partition
// writes it, and it is durable before the partition's checkpoint.

// eventStreamIDs bounds the ids that are reserved for event streams. They end at the highest id, which no user has before the year 2094.
const eventStreamIDs = 1 << 12

var eventStreams = findEventStreams()

// findEventStreams returns the highest id of each partition.
func findEventStreams() (ids [Partitions]uint64) {
	for found, n := 0, uint64(math.MaxInt64); found < Partitions; n-- {
		if p := (Key{Kind: Inbox, ID: n}).Partition(); ids[p] == 0 {
			ids[p] = n
			found++
		}
	}
	return ids
}

// EventStream returns the key of a partition's event stream, which is in the same partition.
func EventStream(partition uint16) Key { return Key{Kind: Inbox, ID: eventStreams[partition]} }

// IsEventStream reports whether a key is reserved for an event stream.
func (k Key) IsEventStream() bool {
	return k.Kind == Inbox && k.ID > math.MaxInt64-eventStreamIDs && k.ID <= math.MaxInt64
}
