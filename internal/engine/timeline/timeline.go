// Package timeline is the port for append-only logs: conversations, inboxes and feeds. It owns order and durability. It does not
// interpret payloads.
//
// Every implementation guarantees the following, and package timelinetest checks it:
//
//   - Append assigns the sequence number and stores the entry atomically: 1, 2, 3 … for each key, without a gap.
//   - Done is called only after the entry is durable. No reader sees an entry before it is durable.
//   - A token is unique within its key. A second append with the same token returns the stored entry and stores nothing.
//   - The fan-out record of an entry is in the same commit, in the sequence of its partition.
//   - Post writes derived timelines (inboxes) without a sync. Each such entry must have a durable cause that repeats it.
//   - Several processes may open logs on one store if its engine allows that. All of them append. Only the log that acquired a
//     partition in the latest term writes its inboxes.
//
// All methods are safe for concurrent use.
package timeline

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/tracing"
)

// Kind of a timeline.
type Kind byte

// Kinds of timelines. Append writes conversations and feeds, Post writes inboxes.
const (
	Conversation Kind = 'c'
	Inbox        Kind = 'i'
	// Feed is a window of posts for one reader. Its appends have no token, author, count, access version or fan-out record.
	Feed Kind = 'f'
)

// Kinds are all kinds.
var Kinds = [...]Kind{Conversation, Inbox, Feed}

// Key names a timeline.
type Key struct {
	Kind Kind
	ID   uint64
}

// Partitions is the number of fan-out partitions. At most that many nodes can share the fan-out. Stores depend on it: a higher number
// needs a migration in each. A commit writes a record for each partition that it touches, so more partitions cost more: compared with
// 16, 64 took 5 % more CPU time and 256 took 15 % more on PostgreSQL; a batch on the embedded log took 3 % more.
const Partitions = 64

// Partition returns the partition that has a conversation's fan-out records, or whose owner may post to an inbox.
func (k Key) Partition() uint16 { return uint16(id.Hash(k.ID) % Partitions) }

// Shards is the number of logical shards of stores on many machines. The shard of a key never changes; shards move between machines.
const Shards = 1024

// Shard returns the shard of a key. Shard modulo Partitions is the key's partition, so one machine can hold a partition and its keys.
func (k Key) Shard() uint16 { return uint16(id.Hash(k.ID) % Shards) }

// Hash spreads keys over the parts of a process. It is the same in every process.
func (k Key) Hash() uint64 { return id.Hash(k.ID ^ uint64(k.Kind)<<56) }

// Token makes appends idempotent. The zero Token means none.
//
// Devices number their messages with Counter, across all keys. A counter above the highest that is stored for (Sender, Device) is
// new, without a lookup. Other ids are a hash in Sum, with Counter 0, and always need a lookup.
type Token struct {
	Sender, Device uint64
	Counter        uint64
	Sum            [16]byte
}

// Identity returns the part of a token that identifies an append: (Sender, Device, Counter), or Sum where Counter is 0.
func (t Token) Identity() Token {
	if t.Counter != 0 {
		t.Sum = [16]byte{}
	} else {
		t.Sender, t.Device = 0, 0
	}
	return t
}

// IsZero reports whether there is no token.
func (t *Token) IsZero() bool {
	return t.Sender == 0 && t.Device == 0 && t.Counter == 0 && t.Sum == [16]byte{}
}

// AppendRequest is an entry to append and, afterwards, the result. Between Log.Append and Done the log owns it.
type AppendRequest struct {
	Key Key
	// Payload must not be changed after Append: the log, its listener and readers may keep it.
	Payload []byte
	Token   Token
	// Author, if not 0, makes this entry the author's latest in Key (see LatestByAuthor).
	Author uint64
	// Counts: the entry increments the running number Counted.
	Counts bool
	// CheckAccess: fail with ErrStale unless the key's access version is ExpectedAccess.
	CheckAccess    bool
	ExpectedAccess uint64
	// SetAccess: the entry's seq becomes the key's access version.
	SetAccess bool
	// NeedsFanout: leave a fan-out record.
	NeedsFanout bool
	// Done is called once, from a goroutine of the log, in the order of the key's appends. It must not block.
	Done func(*AppendRequest)
	// UserData is the caller's own.
	UserData any
	// Traced: the append is part of a trace, and learns which batch it was in; nil: it is not.
	Traced *tracing.Member

	// Results, set when Done is called.
	Seq     uint64
	Counted uint64
	// Duplicate: the token was stored before. Seq, Counted and StoredPayload are those of the stored entry. If that has expired,
	// only Seq is set.
	Duplicate     bool
	StoredPayload []byte // the stored payload of a duplicate; nil if it has expired
	Err           error
}

// Entry is an entry of a timeline, as it is read.
type Entry struct {
	Seq     uint64
	Counted uint64 // running number of counting entries, this one included (conversations)
	Prev    uint64 // seq of the entry before (inboxes; conversations: Seq-1)
	Payload []byte // the reader's own copy
}

// Tail describes the newest durable entry of a timeline. The zero Tail is that of an empty timeline.
type Tail struct {
	Seq     uint64
	Counted uint64
	// Access is the seq of the last entry with SetAccess.
	Access uint64
	// FirstSeq is the seq below which entries were trimmed (inboxes) or expired (conversations, except for kept entries). It is 0 if
	// none were.
	FirstSeq uint64
}

// Ref is a range of entries of one key. From and To are inclusive.
type Ref struct {
	Key      Key
	From, To uint64
}

// FanoutRecord names the entries of one partition that one commit appended and that need fan-out.
type FanoutRecord struct {
	Seq  uint64
	Refs []Ref
}

// Commit is one fan-out record of a batch, with its entries. A log passes the records of its own batches to its Listener in order. Records of
// other processes are missing from that sequence.
type Commit struct {
	Partition uint16
	RecordSeq uint64
	// Entries that need fan-out, in order. Their AppendRequests may already be reused. Payloads never change and may be kept.
	Entries []CommittedEntry
}

// CommittedEntry is an appended entry with its seq.
type CommittedEntry struct {
	Key     Key
	Seq     uint64
	Counted uint64
	Payload []byte
}

// Post is an entry for a derived timeline and, afterwards, its position.
type Post struct {
	Key     Key
	Payload []byte
	// Results.
	Seq, Prev uint64
}

// Log stores timelines.
type Log interface {
	// Append queues entries in order. It never waits for the store. If the queue is full, it calls Done with ErrBusy.
	Append(entries ...*AppendRequest)
	// Read returns at most limit entries with seq > after, in ascending order.
	Read(ctx context.Context, key Key, after uint64, limit int) ([]Entry, error)
	// ReadBackward returns at most limit entries with seq < before, in descending order. With before 0 it starts at the tail.
	ReadBackward(ctx context.Context, key Key, before uint64, limit int) ([]Entry, error)
	// Get returns the entries of refs, in the order of refs. It leaves out absent entries.
	Get(ctx context.Context, refs []Ref) ([]Entry, error)
	// GetLimited is Get that fails with ErrTooLarge if the payloads exceed a number of bytes. A single entry never does.
	GetLimited(ctx context.Context, refs []Ref, bytes int) ([]Entry, error)
	Tail(ctx context.Context, key Key) (Tail, error)
	// Tails returns the tails of any number of keys of any kind, in their order. Each tail is read at some moment of the call. Engines
	// bound their concurrency. If one tail cannot be read, Tails fails; to get past a corrupt one, ask for fewer keys.
	Tails(ctx context.Context, keys []Key) ([]Tail, error)
	// Expire removes the entries of a conversation or a feed below firstSeq, except those in keep (ascending), without a sync. Entries that an earlier
	// call kept stay. Tokens and authors stay too, so that a retry of an expired entry stores nothing. firstSeq is at most the tail's
	// seq plus one; a greater one is reduced to it.
	Expire(ctx context.Context, key Key, firstSeq uint64, keep []uint64) error
	// Replace changes the payloads of stored entries of a conversation, durably: of each it uses Seq and Payload. What an entry has beside its payload stays. It
	// leaves out entries that are not stored, so that none that expired returns. Listeners and readers of before may keep the old payloads.
	Replace(ctx context.Context, key Key, entries []Entry) error
	// LatestByAuthor returns seq and counted of the author's latest entry, or 0 if there is none.
	LatestByAuthor(ctx context.Context, key Key, author uint64) (seq, counted uint64, err error)
	// HighestCounter returns the highest counter of a device's tokens, or 0 if there is none.
	HighestCounter(ctx context.Context, sender, device uint64) (uint64, error)

	// Epoch of the derived timelines. It increases after every event that may have lost some of their entries; in a single process that
	// is every stop. The upper 32 bits of an inbox seq are the epoch; the lower bits count from 1 for each epoch and key.
	Epoch() uint32
	// RestoredEpoch is the epoch that began when entries of conversations were lost, because a backup was restored or a repair accepted a loss; 0 if
	// that never happened. A device with a position of an earlier epoch may have entries that are lost, whose seqs are assigned again.
	RestoredEpoch() uint32
	// Acquire makes this log the owner of a partition: it alone posts to the partition's inboxes and moves its checkpoint. The term is
	// that of the grant under which the partition is owned: it rises with each owner. When another log on the same store acquires the
	// partition in a later term, Post and PutCheckpoint of this one fail with ErrFenced. Acquire itself fails with a *FencedError if the
	// store has a later term, or this one from another log. It may be repeated. It returns once no write of an earlier owner can appear
	// any more. If the store has a single process, its log owns all partitions.
	Acquire(ctx context.Context, partition uint16, term uint64) error
	// Post appends to derived timelines, in order, without a sync. A failed Post may still be stored if the store is on another machine;
	// repeating it then stores the entries twice.
	Post(ctx context.Context, posts []Post) error
	// Trim removes a derived timeline's entries below firstSeq.
	Trim(ctx context.Context, key Key, firstSeq uint64) error

	// FanoutRecords returns at most limit records of a partition after a seq, in ascending order. It fails with ErrRecordIncomplete while
	// entries of the first record are still being written. A later call returns the record, without entries that were never written.
	// AwaitFanoutRecords waits for that.
	FanoutRecords(ctx context.Context, partition uint16, after uint64, limit int) ([]FanoutRecord, error)
	// Checkpoint returns the last fan-out record of a partition that was processed. PutCheckpoint sets it and deletes the records up to
	// it. It never becomes durable before Posts that returned earlier.
	Checkpoint(ctx context.Context, partition uint16) (uint64, error)
	PutCheckpoint(ctx context.Context, partition uint16, record uint64) error

	// Keys returns at most limit keys of a kind above an id, in ascending order.
	Keys(ctx context.Context, kind Kind, above uint64, limit int) ([]Key, error)
	// Close waits for queued appends and closes the store.
	Close() error
}

// Listener receives the commits of each batch, after Done of its entries and from the same goroutine. It must not block. It may be nil.
type Listener func([]Commit)
