package search

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

const (
	// maxDirty bounds the conversations that wait for the indexer. Beyond, a sweep finds them.
	maxDirty = 100_000
	// maxKnown bounds the positions and parents of conversations in memory.
	maxKnown = 100_000
	// conversationsAtOnce is of how many conversations one batch has entries.
	conversationsAtOnce = 64
	sweepInterval       = 10 * time.Minute
	retryFirst          = 200 * time.Millisecond
	retryMax            = 10 * time.Second
)

// errAhead: the index has what the log has not, because the stores were replaced by older ones.
var errAhead = errors.New("the search index is ahead of the log of a conversation")

// indexer keeps an index up to date. Only run's goroutine uses what mu does not guard.
type indexer struct {
	service    *Service
	generation *generation
	index      searchindex.Index
	onlyReads  bool // it makes documents to be compared with the index, and no updates are applied

	mu    sync.Mutex                    // guards what follows
	dirty map[id.Conversation]time.Time // conversations with new entries, and since when
	taken map[id.Conversation]time.Time // those that are being indexed
	sweep bool                          // a sweep is due
	cause error                         // why the index has to be built again
	wake  chan struct{}

	started      bool                                // reader, users and posts are what the index has; false at the start and after an error
	positions    map[id.Conversation]uint64          // the last seq that is indexed
	parents      map[id.Conversation]id.Conversation // of threads; 0: it is none
	sweeping     bool
	swept        id.Conversation // the last conversation that the sweep compared
	sweptOnce    bool
	nextSweep    time.Time
	reader       reader
	users, posts uint64 // positions of the first pass
	nextPoll     time.Time
	pace         pacer
}

func newIndexer(s *Service, g *generation) *indexer {
	return &indexer{service: s, generation: g, index: g.index, dirty: map[id.Conversation]time.Time{}, wake: make(chan struct{}, 1), sweep: true,
		positions: map[id.Conversation]uint64{}, parents: map[id.Conversation]id.Conversation{}, pace: newPacer(&s.deps, s.sizes.pause)}
}

// mark says that conversations have new entries. It does not block.
func (x *indexer) mark(list []id.Conversation) {
	now := time.Now()
	x.mu.Lock()
	for _, c := range list {
		if _, ok := x.dirty[c]; ok {
			continue
		}
		if len(x.dirty) == maxDirty {
			x.sweep = true
			break
		}
		x.dirty[c] = now
	}
	x.mu.Unlock()
	wakeup.Signal(x.wake)
}

// markAll says that any conversation may have new entries.
func (x *indexer) markAll() {
	x.mu.Lock()
	x.sweep = true
	x.mu.Unlock()
	wakeup.Signal(x.wake)
}

// fail ends run, because the index is damaged.
func (x *indexer) fail(cause error) {
	x.mu.Lock()
	x.cause = cause
	x.mu.Unlock()
	wakeup.Signal(x.wake)
}

// failed returns the cause that fail had.
func (x *indexer) failed() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.cause
}

// lag returns for how long the oldest new entry has been waiting, and how many conversations wait.
func (x *indexer) lag() (oldest time.Duration, waiting int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	for _, list := range []map[id.Conversation]time.Time{x.dirty, x.taken} {
		for _, since := range list {
			oldest = max(oldest, now.Sub(since))
		}
	}
	return oldest, len(x.dirty) + len(x.taken)
}

// take returns some of the conversations that wait.
func (x *indexer) take() []id.Conversation {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.taken = map[id.Conversation]time.Time{}
	list := make([]id.Conversation, 0, conversationsAtOnce)
	for c, since := range x.dirty {
		if len(list) == conversationsAtOnce {
			break
		}
		list = append(list, c)
		x.taken[c] = since
		delete(x.dirty, c)
	}
	return list
}

// settle forgets what was taken, or returns it to those that wait.
func (x *indexer) settle(failed bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if failed {
		for c, since := range x.taken {
			x.dirty[c] = since
		}
	}
	x.taken = nil
}

// run keeps the index until ctx ends, or the index has to be built again: then it returns why.
func (x *indexer) run(ctx context.Context) error {
	retry := backoff.New(retryFirst, retryMax)
	for ctx.Err() == nil {
		var idle bool
		err := x.failed()
		if err == nil {
			idle, err = x.round(ctx)
		}
		switch {
		case err == nil:
			retry.Reset()
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, searchindex.ErrCorrupt), errors.Is(err, errAhead), errors.Is(err, searchindex.ErrMissing), isSuperseded(err):
			return err
		default:
			x.service.deps.Logger.Warn("the search index could not be brought up to date; trying again", "error", err)
			_ = retry.Wait(ctx) // the loop sees the context's end
		}
		if idle {
			x.await(ctx)
		}
	}
	return nil
}

func isSuperseded(err error) bool {
	var s *searchindex.Superseded
	return errors.As(err, &s)
}

// await waits for something to do.
func (x *indexer) await(ctx context.Context) {
	timer := time.NewTimer(time.Until(x.nextPoll))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-x.wake:
	case <-x.service.changes:
		x.nextPoll = time.Time{}
	}
}

// round indexes something of each source. idle: there was nothing.
func (x *indexer) round(ctx context.Context) (idle bool, err error) {
	if !x.started {
		if err := x.startRows(ctx); err != nil {
			return false, err
		}
	}
	idle = true
	for _, step := range []func(context.Context, *builder) (bool, error){x.indexDirty, x.indexChanges, x.indexSwept, x.indexFirstPass} {
		b, began := newBuilder(x.service.deps.Dictionary, x.pace.batch()), time.Now()
		busy, err := step(ctx, b)
		if err == nil {
			err = b.apply(ctx, x)
		}
		x.settle(err != nil)
		if err != nil {
			b.forget(x)
			x.started = false // what the step has read is read again
			return false, err
		}
		if idle = idle && !busy; busy {
			x.pace.rest(ctx, time.Since(began))
		}
	}
	if idle && !x.generation.complete.Load() {
		return false, x.finish(ctx)
	}
	return idle, nil
}

// finish notes that the index has everything, once it does.
func (x *indexer) finish(ctx context.Context) error {
	if !x.sweptOnce || x.users != finished || x.posts != finished {
		return nil
	}
	if err := x.index.Apply(ctx, &searchindex.Batch{Checkpoints: map[string]uint64{completePoint: 1}}); err != nil {
		return err
	}
	x.generation.complete.Store(true)
	x.service.deps.Logger.Info("the search index is complete", "generation", x.generation.number)
	return nil
}

// builder collects a batch.
type builder struct {
	dictionary *searchindex.Dictionary
	batch      searchindex.Batch
	positions  map[id.Conversation]uint64
	swept      id.Conversation // 0: as it is
	most       int             // documents
}

func newBuilder(dictionary *searchindex.Dictionary, most int) *builder {
	return &builder{dictionary: dictionary, most: most, batch: searchindex.Batch{Checkpoints: map[string]uint64{}}, positions: map[id.Conversation]uint64{}}
}

func (b *builder) put(d searchindex.Document) {
	b.batch.Put = append(b.batch.Put, divided(b.dictionary, d))
}
func (b *builder) remove(d searchindex.ID)      { b.batch.Delete = append(b.batch.Delete, d) }
func (b *builder) point(name string, at uint64) { b.batch.Checkpoints[name] = at }
func (b *builder) isFull() bool                 { return len(b.batch.Put) >= b.most }

// apply stores the batch, and then remembers how far it is: nothing in memory is ahead of the index.
func (b *builder) apply(ctx context.Context, x *indexer) error {
	if len(b.batch.Put)+len(b.batch.Delete)+len(b.batch.Checkpoints) > 0 {
		if err := x.index.Apply(ctx, &b.batch); err != nil {
			return err
		}
	}
	if b.swept != 0 {
		x.swept = b.swept
	}
	x.service.indexed.Add(uint64(len(b.batch.Put)))
	if len(x.positions) > maxKnown {
		clear(x.positions)
	}
	for c, seq := range b.positions {
		x.positions[c] = seq
	}
	return nil
}

// forget makes the positions of a batch that failed be read again.
func (b *builder) forget(x *indexer) {
	for c := range b.positions {
		delete(x.positions, c)
	}
}

// conversationPoint names the checkpoint of a conversation: the last seq that is indexed. expiredPoint names the first one that was not removed since.
func conversationPoint(c id.Conversation) string {
	return string(binary.BigEndian.AppendUint64([]byte{'m'}, uint64(c)))
}

func expiredPoint(c id.Conversation) string {
	return string(binary.BigEndian.AppendUint64([]byte{'x'}, uint64(c)))
}

// indexDirty indexes the conversations that wait.
func (x *indexer) indexDirty(ctx context.Context, b *builder) (busy bool, err error) {
	list := x.take()
	for i, c := range list {
		if b.isFull() {
			x.mark(list[i:])
			break
		}
		more, err := x.indexReadable(ctx, c, b)
		if err != nil {
			return true, err
		}
		if more {
			x.mark([]id.Conversation{c})
		}
	}
	return len(list) > 0, nil
}

// indexSwept compares some conversations with their logs, and indexes what is missing.
func (x *indexer) indexSwept(ctx context.Context, b *builder) (busy bool, err error) {
	x.mu.Lock()
	due := x.sweep
	x.sweep = x.sweep && x.sweeping
	x.mu.Unlock()
	if !x.sweeping {
		if !due && time.Now().Before(x.nextSweep) {
			return false, nil
		}
		x.sweeping, x.swept = true, 0
	}
	keys, err := x.service.deps.Log.Keys(ctx, timeline.Conversation, uint64(x.swept), x.service.sizes.keys)
	if err != nil {
		return true, err
	}
	if len(keys) == 0 {
		x.sweeping, x.sweptOnce, x.nextSweep = false, true, time.Now().Add(sweepInterval)
		return true, nil
	}
	_, err = x.compare(ctx, keys, b)
	return true, err
}

// compare indexes what is missing of some conversations, and removes what has expired. all: there is room for more after the last of them.
func (x *indexer) compare(ctx context.Context, keys []timeline.Key, b *builder) (all bool, err error) {
	tails, err := x.service.deps.Log.Tails(ctx, keys)
	if errors.Is(err, timeline.ErrCorrupt) && len(keys) > 1 {
		if all, err := x.compare(ctx, keys[:len(keys)/2], b); err != nil || !all {
			return false, err
		}
		return x.compare(ctx, keys[len(keys)/2:], b)
	}
	if err != nil && !errors.Is(err, timeline.ErrCorrupt) {
		return false, err
	}
	if err != nil {
		x.service.deps.Logger.Error("a conversation is left out of the search index, because its log is corrupt: run rialto verify", "conversation", keys[0].ID, "error", err)
		b.swept = id.Conversation(keys[0].ID)
		return true, nil
	}
	names := make([]string, 0, 2*len(keys))
	for _, k := range keys {
		names = append(names, conversationPoint(id.Conversation(k.ID)), expiredPoint(id.Conversation(k.ID)))
	}
	at, err := x.index.Checkpoints(ctx, names)
	if err != nil {
		return false, err
	}
	for i, k := range keys {
		c := id.Conversation(k.ID)
		if at[2*i] > tails[i].Seq {
			return false, errAhead
		}
		x.removeExpired(c, at[2*i+1], tails[i].FirstSeq, b)
		if at[2*i] < tails[i].Seq {
			more, err := x.indexReadable(ctx, c, b)
			if err != nil {
				return false, err
			}
			if more {
				return false, nil // the next round goes on with this conversation
			}
		}
		if b.swept = c; b.isFull() {
			return false, nil
		}
	}
	return true, nil
}

// maxRemoved bounds the documents that one comparison removes.
const maxRemoved = 2000

// removeExpired removes messages that have expired.
func (x *indexer) removeExpired(c id.Conversation, from, first uint64, b *builder) {
	if first <= max(from, 1) {
		return
	}
	end := min(first, max(from, 1)+maxRemoved)
	for seq := max(from, 1); seq < end; seq++ {
		b.remove(searchindex.ID{Kind: searchindex.Message, Parent: uint64(c), Number: seq})
	}
	b.point(expiredPoint(c), end)
}

// Announcements of new entries to other nodes may be lost, since each node sweeps.
const (
	announceSubject  = "search"
	announceInterval = 100 * time.Millisecond
	maxAnnounced     = 4096
)

// Committed says that entries of conversations were committed on this node. It does not block.
func (s *Service) Committed(commits []timeline.Commit) {
	if !s.answers() && s.deps.Bus == nil {
		return
	}
	var list []id.Conversation
	last := uint64(math.MaxUint64)
	for i := range commits {
		for k := range commits[i].Entries {
			if key := commits[i].Entries[k].Key; key.Kind == timeline.Conversation && key.ID != last {
				list, last = append(list, id.Conversation(key.ID)), key.ID
			}
		}
	}
	if len(list) == 0 {
		return
	}
	s.mark(list)
	if s.deps.Bus == nil {
		return
	}
	s.mu.Lock()
	for _, c := range list {
		if len(s.announced) < maxAnnounced {
			s.announced[c] = struct{}{}
		}
	}
	s.mu.Unlock()
	wakeup.Signal(s.announce)
}

// mark says that conversations have new entries.
func (s *Service) mark(list []id.Conversation) {
	for _, g := range s.current() {
		g.indexer.mark(list)
	}
}

// listen marks the conversations that other nodes announce.
func (s *Service) listen() (cancel func(), err error) {
	return s.deps.Bus.Subscribe(announceSubject, func(b []byte) {
		list := make([]id.Conversation, 0, len(b)/8)
		for ; len(b) >= 8; b = b[8:] {
			list = append(list, id.Conversation(binary.BigEndian.Uint64(b)))
		}
		s.mark(list)
	}, func() {
		for _, g := range s.current() {
			g.indexer.markAll()
		}
	})
}

// runAnnouncements tells other nodes of new entries until ctx ends.
func (s *Service) runAnnouncements(ctx context.Context) {
	for {
		select {
		case <-s.announce:
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		list := s.announced
		s.announced = map[id.Conversation]struct{}{}
		s.mu.Unlock()
		b := make([]byte, 0, 8*len(list))
		for c := range list {
			b = binary.BigEndian.AppendUint64(b, uint64(c))
		}
		if err := s.deps.Bus.Publish(announceSubject, b); err != nil && !errors.Is(err, bus.ErrClosed) {
			s.deps.Logger.Debug("new messages could not be announced for search; a sweep finds them", "error", err)
		}
		_ = backoff.Sleep(ctx, announceInterval) // the loop sees the context's end
	}
}
