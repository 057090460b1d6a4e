// Package timeline is the port of append-only sequences: conversations and inboxes. It owns order and durability, and
// knows nothing of what an entry says.
//
// What every implementation promises (package timelinetest holds it to them):
//
//   - Append gives the sequence number and stores the entry in one act: 1, 2, 3 … by key, without a gap.
//   - Done is called after the entry is durable, never before, and nothing is read before it is durable.
//   - A token is unique in its key: appending it again answers with the stored entry and stores nothing.
//   - The fan-out record of an entry is in the same commit, in the timeline of its partition.
//   - Derived timelines (inboxes) are written by Post without a sync: each entry must have a durable cause that repeats it.
//   - Several processes may each have a log on one store, where its engine is made for that. Anyone appends; a partition's
//     inboxes are written by the log that took it last.
//
// All methods may be called from many goroutines.
package timeline

import (
	"context"
)

// Kind of a timeline.
type Kind byte

// Kinds of timelines. Conversations are written by Append, inboxes by Post.
const (
	Conversation Kind = 'c'
	Inbox        Kind = 'i'
)

// Key names a timeline.
type Key struct {
	Kind Kind
	ID   uint64
}

// Partitions is the number of fan-out partitions, and so of nodes that carry messages, at most. It is part of what stores hold: a
// higher number needs a step in each. A commit leaves a record in each partition that it touches, so more cost more: against 16,
// 64 took 5 % more processor time and 256 took 15 % more, on PostgreSQL; a batch on the embedded log took 3 % more.
const Partitions = 64

// Partition of a key: where a conversation's fan-out records are, and whose log may post to an inbox.
func (k Key) Partition() uint16 { return uint16(mix(k.ID) % Partitions) }

func mix(x uint64) uint64 { // splitmix64's finalizer
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Shards is the number of logical shards that stores of many machines are laid out in: a key's stays what it is when shards move.
const Shards = 1024

// Shard of a key. Those of one partition are Shard modulo Partitions, so a partition is on one machine with its keys.
func (k Key) Shard() uint16 { return uint16(mix(k.ID) % Shards) }

// Hash spreads keys over the parts of a process; the same in every process.
func (k Key) Hash() uint64 { return mix(k.ID ^ uint64(k.Kind)<<56) }

// Token makes a retry harmless. The zero Token is none.
//
// Devices count their messages: Counter is that count, over all keys, and a counter above the highest stored for (Sender,
// Device) needs no look-up. Other ids come as a hash in Sum, with Counter 0, and pay the look-up.
type Token struct {
	Sender, Device uint64
	Counter        uint64
	Sum            [16]byte
}

// IsZero tells whether there is no token.
func (t *Token) IsZero() bool {
	return t.Sender == 0 && t.Device == 0 && t.Counter == 0 && t.Sum == [16]byte{}
}

// Append is one entry to be appended, and afterwards its result. The caller owns it until Log.Append, and again from Done on.
type Append struct {
	Key Key
	// Payload must not be changed or reused after Append: the log, its listener and readers may keep it.
	Payload []byte
	Token   Token
	// Author, where not 0, has the entry remembered as the author's latest in Key (see LastBy).
	Author uint64
	// Counts: the entry moves the running number Counted on.
	Counts bool
	// CheckAccess: refuse with ErrStale unless the key's access version is IfAccess.
	CheckAccess bool
	IfAccess    uint64
	// SetAccess: this entry's seq becomes the key's access version.
	SetAccess bool
	// Carry: leave a fan-out record.
	Carry bool
	// Done is called once, from a goroutine of the log, in the order of the appends to a key. It must not block.
	Done func(*Append)
	// Context is the caller's own.
	Context any

	// Results, set when Done is called.
	Seq     uint64
	Counted uint64
	// Duplicate: the token was stored before; Seq, Counted and Stored are the first time's. Of an entry that expired since,
	// Seq alone is known.
	Duplicate bool
	Stored    []byte // the stored payload, when Duplicate; nil: it expired
	Err       error
}

// Entry of a timeline, as read.
type Entry struct {
	Seq     uint64
	Counted uint64 // running number of counting entries, this one included (conversations)
	Prev    uint64 // seq of the entry before (inboxes; conversations: Seq-1)
	Payload []byte // the reader's own copy
}

// Tail of a timeline: its newest durable entry. The zero Tail is an empty timeline's.
type Tail struct {
	Seq     uint64
	Counted uint64
	// Access is the seq of the last entry with SetAccess.
	Access uint64
	// Head is the seq below which entries were trimmed (inboxes), or have expired but for those that were kept
	// (conversations); 0 where nothing was.
	Head uint64
}

// Ref is a run of entries of one key, From to To inclusive.
type Ref struct {
	Key      Key
	From, To uint64
}

// Record of a partition: what one commit appended there, to be carried further.
type Record struct {
	Seq  uint64
	Refs []Ref
}

// Commit is told to a Listener after each batch of its own log: the record of each partition with its appends, in order. Where
// other processes append as well, the numbers that are missing are their records'.
type Commit struct {
	Partition uint16
	Record    uint64
	// Entries of this record that carry, in order. The Append they came from may be in other use by now; the payload is
	// never changed again, and may be kept.
	Entries []Committed
}

// Committed is an appended entry in its place.
type Committed struct {
	Key     Key
	Seq     uint64
	Counted uint64
	Payload []byte
}

// Post is one entry for a derived timeline, and afterwards its place.
type Post struct {
	Key     Key
	Payload []byte
	// Results.
	Seq, Prev uint64
}

// Log stores timelines.
type Log interface {
	// Append takes entries over, in order. It never blocks on the store; when the queue is full it calls Done with ErrBusy.
	Append(entries ...*Append)
	// Read gives entries with seq > after, rising, at most limit.
	Read(ctx context.Context, key Key, after uint64, limit int) ([]Entry, error)
	// ReadBack gives entries with seq < before (0: from the tail), falling, at most limit.
	ReadBack(ctx context.Context, key Key, before uint64, limit int) ([]Entry, error)
	// Get gives the entries of refs of any keys, in the order of refs (From to To each). Absent ones are left out.
	Get(ctx context.Context, refs []Ref) ([]Entry, error)
	// GetMost is Get that gives up with ErrTooMuch beyond so many bytes of payload; one entry is never too much.
	GetMost(ctx context.Context, refs []Ref, bytes int) ([]Entry, error)
	Tail(ctx context.Context, key Key) (Tail, error)
	// Tails gives the tails of keys, any number of any kinds, in their order: each as it was at a moment of its own during the call.
	// Engines bound what they ask for at once. It gives all or fails, as Tail does: where one that is damaged holds up the others, ask
	// for fewer.
	Tails(ctx context.Context, keys []Key) ([]Tail, error)
	// Expire drops a conversation's entries below head, but for those at keep (seqs, rising), without a sync. What was kept
	// below an earlier head stays. Tokens and authors stay as well: a retry of an entry that expired stores nothing. A head
	// above the tail's next is that.
	Expire(ctx context.Context, key Key, head uint64, keep []uint64) error
	// LastBy gives seq and counted of the author's latest entry, 0 for none.
	LastBy(ctx context.Context, key Key, author uint64) (seq, counted uint64, err error)
	// HighestCounter of a device's tokens, 0 for none.
	HighestCounter(ctx context.Context, sender, device uint64) (uint64, error)

	// Epoch of the derived timelines: greater after whatever may have lost a part of them, which in one process is every stop.
	// Seqs that Post gives have it in their upper 32 bits (the lower count up from 1 in each epoch and key).
	Epoch() uint32
	// Take makes this log the one that posts to the inboxes of a partition and moves its checkpoint, until another log on the
	// same store takes it: from then on this one's Post and PutCheckpoint there fail with ErrTaken. It returns when nothing that
	// an earlier one wrote can come any more. Where one process alone writes the store, every log has all partitions.
	Take(ctx context.Context, partition uint16) error
	// Post appends to derived timelines, in order, without a sync. Posts that failed may be there nevertheless, where the store
	// is on another machine: posted again, they have two places.
	Post(ctx context.Context, posts []Post) error
	// Trim drops a derived timeline's entries below head.
	Trim(ctx context.Context, key Key, head uint64) error

	// Records of a partition after a seq, rising, at most limit. ErrForming where the entries of the first are on their way, or never
	// come: asked again it is there soon, without them if they do not come. AwaitRecords waits for that.
	Records(ctx context.Context, partition uint16, after uint64, limit int) ([]Record, error)
	// Checkpoint tells how far a partition has been carried: PutCheckpoint drops its records to there, and is never durable
	// before the Posts that returned before it.
	Checkpoint(ctx context.Context, partition uint16) (uint64, error)
	PutCheckpoint(ctx context.Context, partition uint16, record uint64) error

	// Keys gives keys of a kind above an id, rising, at most limit.
	Keys(ctx context.Context, kind Kind, above uint64, limit int) ([]Key, error)
	// Close waits for what was taken over, and closes the store.
	Close() error
}

// Listener is called by a log after each batch, after the Dones of its entries, from the goroutine that called those. It
// must not block. May be nil.
type Listener func([]Commit)
