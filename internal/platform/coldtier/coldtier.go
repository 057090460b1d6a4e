// Package coldtier moves old entries of conversations from the log to the blob store, and reads them there.
//
// It owns the files of old entries (segments), and the manifest that names them: two tables of the SQL database. Log is the timeline.Log
// that services use: entries in a segment are read as if they were still in the log below it. Run packs what is old enough.
//
// It promises the following:
//
//   - An entry leaves the log only after its segment is durable, was read back, and is in the manifest, and only if the segment still has it.
//     A crash in between leaves the entries in both, and the next round continues.
//   - The manifest is the truth about what is in the cold tier: a transaction that changes it compares what it had when the entries were
//     read. So two nodes that pack one conversation, or a pack and the retention, cannot both succeed.
//   - A file is in the manifest from before it is written until after it was deleted. Those that are not used are swept.
//   - A segment that is damaged or missing is an error of the reads that need it (timeline.ErrCorrupt). It is never an empty page.
//   - Tokens, the latest entries of authors, control entries and the newest entry of a conversation stay in the log.
//
// Locks: the cache has one, which is held for look-ups only. All methods are safe for concurrent use.
package coldtier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Deps are what a Tier needs.
type Deps struct {
	Hot    timeline.Log
	DB     *sqldb.DB
	Files  blob.Store
	Clock  clock.Clock
	Logger *slog.Logger
	// SingleNode: no other process uses the log and the database.
	SingleNode bool
	// OwnsPartition reports whether this node packs the conversations of a partition. If nil, it packs all. Two nodes that both believe so
	// do no harm.
	OwnsPartition func(partition uint16) bool
	// IsCoordinator reports whether this node sweeps and rewrites segments for all nodes. If nil, it does.
	IsCoordinator func() bool
	// Recalled returns which messages of a range of a conversation were recalled, and which edits of such messages are in it. Their contents do not enter a segment. If nil, none are.
	Recalled func(ctx context.Context, key timeline.Key, from, to uint64) ([]uint64, error)
}

// Config of the cold tier.
type Config struct {
	// After is how old an entry must be to be packed; 0 is never. What is packed already stays readable.
	After time.Duration
	// MinEntries is the number of entries below which no segment is made; 0 is 500.
	MinEntries int
	// MaxEntries and MaxBytes bound a segment: entries, and bytes of payloads before compression. 0 is 10,000 and 4 MiB. A single entry may
	// exceed MaxBytes.
	MaxEntries, MaxBytes int
	// CacheBytes bounds the decompressed blocks in memory; 0 is 32 MiB.
	CacheBytes int
	// Interval is the time between two rounds; 0 is an hour. If fan-out held a conversation up, as it may after each start, it is at most half a minute.
	Interval time.Duration
	// Pause after each segment and each page of conversations, so that packing takes a small share of the stores' work; 0 is 20 ms.
	Pause time.Duration
	// RewriteAfter is how long a segment keeps expired or recalled contents before it is rewritten; 0 is 12 hours.
	RewriteAfter time.Duration
	// SweepAfter is how long a file that is not used stays, so that reads and writes in progress end; 0 is an hour.
	SweepAfter time.Duration
}

func (c *Config) defaults() {
	orDefault(&c.MinEntries, 500)
	orDefault(&c.MaxEntries, 10_000)
	orDefault(&c.MaxBytes, 4<<20)
	orDefault(&c.CacheBytes, 32<<20)
	orDefault(&c.Interval, time.Hour)
	orDefault(&c.Pause, 20*time.Millisecond)
	orDefault(&c.RewriteAfter, 12*time.Hour)
	orDefault(&c.SweepAfter, time.Hour)
}

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// In a cluster, a node may rely for so long on its answer that the cold tier is empty. No node trims a log earlier than trimDelay after
// it has seen that the tier is not. So whoever finds that entries are missing in the log also looks for them in the cold tier.
const (
	emptyFor  = 10 * time.Second
	trimDelay = 3 * emptyFor
)

// heldUpInterval is the time until the next round if fan-out held a conversation up.
const heldUpInterval = 30 * time.Second

// Tier is the cold tier.
type Tier struct {
	deps   Deps
	config Config
	cache  *blockCache

	inUse      atomic.Bool
	inUseSince atomic.Pointer[time.Time] // when this node learned it
	emptyAt    atomic.Pointer[time.Time] // when the tier was last seen empty

	heldUp atomic.Bool // in the last round, old entries stayed in a log because fan-out had not dispatched them

	stats Stats

	// interrupt is called between two steps, and its error ends the round. Only tests set it.
	interrupt func(point string) error
}

// Stats count since the start.
type Stats struct {
	Segments, Entries, Bytes          atomic.Int64 // packed: segments, their entries, and the bytes of their files
	Rewritten, Swept                  atomic.Int64 // segments rewritten; files deleted
	Reads, CacheHits, Corrupt, Failed atomic.Int64 // blocks read from files and from the cache; reads of damaged segments; conversations not packed because of an error
	LagSeconds                        atomic.Int64 // how much older than Config.After the oldest entry was that the last round found in a log
}

// New creates a Tier, and migrates its tables.
func New(ctx context.Context, deps Deps, config Config) (*Tier, error) {
	config.defaults()
	t := &Tier{deps: deps, config: config, cache: newBlockCache(config.CacheBytes)}
	if err := deps.DB.Migrate(ctx, "coldtier", migrations); err != nil {
		return nil, err
	}
	if _, err := t.used(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// Stats returns the counters.
func (t *Tier) Stats() *Stats { return &t.stats }

// reached is called between two steps that change stores.
func (t *Tier) reached(point string) error {
	failpoint.Hit("coldtier/" + point)
	if t.interrupt == nil {
		return nil
	}
	return t.interrupt(point)
}

// CacheBytes returns the bytes of segments in memory.
func (t *Tier) CacheBytes() int { return t.cache.bytes() }

func (t *Tier) nowMs() int64 { return t.deps.Clock.Now().UnixMilli() }

// used reports whether the cold tier has ever had anything. Call it after the log was read: see trimDelay.
func (t *Tier) used(ctx context.Context) (bool, error) {
	if t.inUse.Load() {
		return true, nil
	}
	now := time.Now()
	if at := t.emptyAt.Load(); at != nil && (t.deps.SingleNode || now.Sub(*at) < emptyFor) {
		return false, nil
	}
	some, err := mayHaveSegments(ctx, t.deps.DB.Read())
	switch {
	case err != nil:
		return false, err
	case some:
		t.markUsed()
	default:
		t.emptyAt.Store(&now)
	}
	return some, nil
}

func (t *Tier) markUsed() {
	now := time.Now()
	t.inUseSince.CompareAndSwap(nil, &now)
	t.inUse.Store(true)
}

// mayTrim reports whether all nodes know that the cold tier is in use.
func (t *Tier) mayTrim() bool {
	since := t.inUseSince.Load()
	return since != nil && (t.deps.SingleNode || time.Since(*since) > trimDelay)
}

// corrupt returns the error of a read that needs a damaged segment, or err itself if the store may answer later.
func (t *Tier) corrupt(key timeline.Key, file string, err error) error {
	if !errors.Is(err, errSegment) && !errors.Is(err, blob.ErrNotFound) {
		return fmt.Errorf("the segment %s of conversation %d: %w", file, key.ID, err)
	}
	t.stats.Corrupt.Add(1)
	t.deps.Logger.Error("a segment of old messages is damaged or missing: run rialto verify", "conversation", key.ID, "file", file, "error", err)
	return fmt.Errorf("the segment %s of conversation %d: %w: %w", file, key.ID, timeline.ErrCorrupt, err)
}
