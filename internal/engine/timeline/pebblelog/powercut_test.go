package pebblelog

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// The disk of a running log is cloned at random moments as a power cut would leave it: with all synced blocks and a random part of the
// others. Each clone is opened and must have everything that was acknowledged or visible before the cut.

const (
	cutConversations = 6
	cutWriters       = 9
	cutAlone         = cutWriters - 1 // appends alone, so that each of its entries is a batch
	cutShapes        = 6
	cutClonesPerLife = 20
	cutLives         = 2  // cuts of one disk, before the next disk
	cutAppends       = 48 // for each cut
	cutAtOnce        = 4  // appends that a writer makes together, at most
	// Writers may hold a part of the budget that is too small for a group of appends. Between two cuts the test waits only for appends that
	// are certain to complete.
	cutSure = cutAppends - cutAlone*(cutAtOnce-1)
)

// seen is an entry that was acknowledged or visible: it must never change.
type seenEntry struct {
	key     timeline.Key
	seq     uint64
	payload string
}

// cutWorld is one run of a log under load, and its observations.
type cutWorld struct {
	t   *testing.T
	log *Log

	mu    sync.Mutex // guards all below
	seen  map[timeline.Key]map[uint64]string
	acked map[uint64]seenEntry // by counter
	todo  []timeline.Commit
	work  chan struct{}

	under  atomic.Int64  // unanswered appends
	budget chan struct{} // of appends
	look   chan struct{} // has a value when an append was accepted and may be on its way to the disk
}

func (w *cutWorld) note(k timeline.Key, seq uint64, payload []byte) {
	if w.seen[k] == nil {
		w.seen[k] = map[uint64]string{}
	}
	if was, ok := w.seen[k][seq]; ok && was != string(payload) {
		w.t.Errorf("seq %d of %v changed from %q to %q", seq, k, was, payload)
	}
	w.seen[k][seq] = string(payload)
}

func (w *cutWorld) committed(commits []timeline.Commit) {
	w.mu.Lock()
	for _, c := range commits {
		for _, e := range c.Entries {
			w.note(e.Key, e.Seq, e.Payload)
		}
		w.todo = append(w.todo, c)
	}
	w.mu.Unlock()
	select {
	case w.work <- struct{}{}:
	default:
	}
}

func cutKey(n uint64) timeline.Key   { return timeline.Key{Kind: timeline.Conversation, ID: 1000 + n} }
func cutInbox(n uint64) timeline.Key { return timeline.Key{Kind: timeline.Inbox, ID: n} }

// The conversations whose older entries expire.
func cutExpiring() timeline.Key { return timeline.Key{Kind: timeline.Conversation, ID: 2000} }
func cutTrimmed() timeline.Key  { return timeline.Key{Kind: timeline.Inbox, ID: 2000} }

const cutLeft = 3 // number of newest entries that are kept

func cutPayload(counter uint64) []byte { return fmt.Appendf(nil, "entry %d", counter) }

// cutAppend returns the append of a counter, always the same.
func cutAppend(counter uint64) *timeline.AppendRequest {
	return &timeline.AppendRequest{Key: cutKey(counter % cutConversations), Payload: cutPayload(counter), Counts: true, NeedsFanout: true, Author: 1 + counter%cutWriters,
		Token: timeline.Token{Sender: 1 + counter%cutWriters, Device: 7, Counter: counter/cutWriters + 1}}
}

// cutShaped returns the append of a counter in one of the shapes of appends, always the same.
func cutShaped(counter uint64) *timeline.AppendRequest {
	a := cutAppend(counter)
	n := counter / cutWriters
	switch n % cutShapes {
	case 0: // a message
		if n%(2*cutShapes) == 0 {
			a.Key = cutExpiring()
		}
	case 1: // a message of a device without counters
		a.Token = cutSum(counter)
	case 2: // a change of members
		a.Token, a.Author, a.Counts, a.SetAccess = cutSum(counter), 0, false, true
	case 3: // a block
		a.Token, a.Author, a.Counts, a.SetAccess = timeline.Token{}, 0, false, true
	case 4: // a change of the title
		a.Token, a.Author, a.Counts = timeline.Token{}, 0, false
	case 5: // an entry without fan-out
		a.Counts, a.NeedsFanout = false, false
	}
	return a
}

func cutSum(counter uint64) timeline.Token {
	t := timeline.Token{Sender: 1 + counter%cutWriters, Device: 7}
	binary.BigEndian.PutUint64(t.Sum[:], counter+1)
	return t
}

// cutCounter returns the counter of an entry.
func cutCounter(payload []byte) (counter uint64, err error) {
	_, err = fmt.Sscanf(string(payload), "entry %d", &counter)
	return counter, err
}

// appendAlone appends the next counter of the last writer after all appends of the others are answered.
func (w *cutWorld) appendAlone(next *uint64) {
	for more := true; more; {
		select {
		case <-w.budget:
		default:
			more = false
		}
	}
	eventually.True(w.t, "no append is under way", func() bool { return w.under.Load() == 0 })
	var done sync.WaitGroup
	w.log.Append(w.prepare(*next*cutWriters+cutAlone, &done))
	*next++
	done.Wait()
}

// prepare returns the append of a counter, which records its answer.
func (w *cutWorld) prepare(counter uint64, group *sync.WaitGroup) *timeline.AppendRequest {
	a := cutShaped(counter)
	group.Add(1)
	w.under.Add(1)
	a.Done = func(a *timeline.AppendRequest) {
		defer group.Done()
		defer w.under.Add(-1)
		w.mu.Lock()
		defer w.mu.Unlock()
		if a.Err != nil {
			w.t.Errorf("append %d: %v", counter, a.Err)
			return
		}
		w.note(a.Key, a.Seq, a.Payload)
		w.acked[counter] = seenEntry{a.Key, a.Seq, string(a.Payload)}
	}
	return a
}

// write appends counters of one writer until stop, a few at once.
func (w *cutWorld) write(writer, from uint64, stop <-chan struct{}) (next uint64) {
	n := from
	for {
		select {
		case <-stop:
			return n
		default:
		}
		var group sync.WaitGroup
		batch := make([]*timeline.AppendRequest, 1+n%cutAtOnce)
		for range batch {
			select {
			case <-w.budget:
			case <-stop:
				return n
			}
		}
		for i := range batch {
			batch[i] = w.prepare(n*cutWriters+writer, &group)
			n++
		}
		w.log.Append(batch...)
		for range batch {
			select {
			case w.look <- struct{}{}:
			default:
			}
		}
		group.Wait()
	}
}

// read reads conversations like clients.
func (w *cutWorld) read(stop <-chan struct{}) {
	ctx := context.Background()
	for n := uint64(0); ; n++ {
		select {
		case <-stop:
			return
		case <-w.look:
		}
		k := cutKey(n % cutConversations)
		tail, err := w.log.Tail(ctx, k)
		if err != nil {
			w.t.Error(err)
			return
		}
		entries, err := w.log.ReadBackward(ctx, k, 0, 3)
		if err != nil {
			w.t.Error(err)
			return
		}
		w.mu.Lock()
		for _, e := range entries {
			w.note(k, e.Seq, e.Payload)
		}
		if len(entries) > 0 && entries[0].Seq < tail.Seq {
			w.t.Errorf("the tail of %v was %d, but then the newest entry was %d", k, tail.Seq, entries[0].Seq)
		}
		w.mu.Unlock()
	}
}

// dispatch posts committed entries to two inboxes, and then advances the checkpoints.
func (w *cutWorld) dispatch(stop <-chan struct{}) {
	ctx := context.Background()
	for {
		select {
		case <-stop:
			return
		case <-w.work:
		}
		w.mu.Lock()
		todo := w.todo
		w.todo = nil
		w.mu.Unlock()
		for _, c := range todo {
			var posts []timeline.Post
			for _, e := range c.Entries {
				for _, k := range []timeline.Key{cutInbox(0), cutInbox(1), cutTrimmed()} {
					posts = append(posts, timeline.Post{Key: k, Payload: cutRef(e.Key, e.Seq)})
				}
			}
			err := w.log.Post(ctx, posts)
			if last := posts[len(posts)-1]; err == nil && last.Seq&0xffffffff > cutLeft && c.RecordSeq%8 == 0 {
				err = w.log.Trim(ctx, last.Key, last.Seq-cutLeft)
			}
			for _, e := range c.Entries {
				if err == nil && e.Key == cutExpiring() && e.Seq > cutLeft && e.Seq%8 == 0 {
					err = w.log.Expire(ctx, e.Key, e.Seq-cutLeft, nil)
				}
			}
			if err == nil {
				err = w.log.PutCheckpoint(ctx, c.Partition, c.RecordSeq)
			}
			if err != nil {
				w.t.Error(err)
				return
			}
		}
	}
}

func cutRef(k timeline.Key, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, k.ID), seq)
}

// snapshot returns what must survive a later power cut.
func (w *cutWorld) snapshot() (seen []seenEntry, acked map[uint64]seenEntry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, list := range w.seen {
		for seq, p := range list {
			seen = append(seen, seenEntry{k, seq, p})
		}
	}
	acked = make(map[uint64]seenEntry, len(w.acked))
	for n, e := range w.acked {
		acked[n] = e
	}
	return seen, acked
}

// checkCut opens a clone and reports what it lacks; made returns the append of a counter.
func checkCut(fs vfs.FS, made func(counter uint64) *timeline.AppendRequest, epoch uint32, seen []seenEntry, acked map[uint64]seenEntry) (violations []string, err error) {
	l, err := Open("log", Options{FS: fs})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	ctx := context.Background()
	violate := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	if l.Epoch() <= epoch {
		violate("the epoch changed from %d to %d", epoch, l.Epoch())
	}
	stored := map[timeline.Key]map[uint64]string{}
	carried := map[string]bool{}
	for p := range uint16(timeline.Partitions) {
		at, err := l.Checkpoint(ctx, p)
		if err != nil {
			return nil, err
		}
		records, err := l.FanoutRecords(ctx, p, at, 1<<30)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			for _, ref := range r.Refs {
				for seq := ref.From; seq <= ref.To; seq++ {
					carried[string(cutRef(ref.Key, seq))] = true
				}
			}
		}
	}
	inboxes := [3]map[string]bool{{}, {}, {}}
	for u, k := range []timeline.Key{cutInbox(0), cutInbox(1), cutTrimmed()} {
		entries, err := l.Read(ctx, k, 0, 1<<30)
		if err != nil {
			return nil, err
		}
		prev := uint64(0)
		if k == cutTrimmed() && len(entries) > 0 {
			prev = entries[0].Prev
		}
		for _, e := range entries {
			if e.Prev != prev || e.Seq <= prev {
				violate("%v: entry %d follows %d, but names %d", k, e.Seq, prev, e.Prev)
			}
			prev = e.Seq
			inboxes[u][string(e.Payload)] = true
		}
	}
	once := map[uint64]bool{} // counters
	for n := range uint64(cutConversations) + 1 {
		k := cutKey(n)
		if n == cutConversations {
			k = cutExpiring()
		}
		entries, err := l.Read(ctx, k, 0, 1<<30)
		if err != nil {
			return nil, err
		}
		tail, err := l.Tail(ctx, k)
		if err != nil {
			return nil, err
		}
		is := timeline.Tail{FirstSeq: tail.FirstSeq}
		if k == cutExpiring() && tail.FirstSeq > 0 {
			is.Seq, is.Counted = tail.FirstSeq-1, tail.FirstSeq-1 // all of its entries are messages
			if tail.FirstSeq+cutLeft > tail.Seq {
				violate("%v has newest entry %d, but entries below %d are missing", k, tail.Seq, tail.FirstSeq)
			}
		}
		stored[k] = map[uint64]string{}
		lasts := map[uint64][2]uint64{}
		for _, e := range entries {
			counter, err := cutCounter(e.Payload)
			if err != nil || once[counter] {
				violate("%v: entry %d is %q, which is there before, or is none (%v)", k, e.Seq, e.Payload, err)
			}
			once[counter] = true
			a := made(counter)
			is.Seq++
			if a.Counts {
				is.Counted++
			}
			if a.SetAccess {
				is.Access = is.Seq
			}
			if a.Author != 0 {
				lasts[a.Author] = [2]uint64{e.Seq, e.Counted}
			}
			stored[k][e.Seq] = string(e.Payload)
			if a.Key != k || e.Seq != is.Seq || e.Counted != is.Counted {
				violate("%v: place %d has entry %d of %v, counted %d, want %d", k, is.Seq, e.Seq, a.Key, e.Counted, is.Counted)
			}
			ref := string(cutRef(k, e.Seq))
			if a.NeedsFanout && !carried[ref] && (!inboxes[0][ref] || !inboxes[1][ref]) {
				violate("%v: entry %d is in no inbox, and no record names it", k, e.Seq)
			}
		}
		if tail != is {
			violate("the tail of %v is %+v, and its entries make %+v", k, tail, is)
		}
		for author, want := range lasts {
			if seq, counted, err := l.LatestByAuthor(ctx, k, author); err != nil || seq != want[0] || counted != want[1] {
				violate("the stored latest entry of author %d in %v is %d, %d; the actual one is %v (%v)", author, k, seq, counted, want, err)
			}
		}
		for _, s := range seen {
			if s.key == k && s.seq >= tail.FirstSeq && stored[k][s.seq] != s.payload {
				violate("%v: entry %d was visible as %q, and is missing or different: %q", k, s.seq, s.payload, stored[k][s.seq])
			}
		}
	}
	// Retries of acknowledged appends find them, including the oldest and the newest.
	tried := 0
	for n, s := range acked {
		a := made(n)
		if a.Token.IsZero() {
			continue
		}
		if tried++; tried > 10 {
			break
		}
		done := make(chan struct{})
		a.Done = func(*timeline.AppendRequest) { close(done) }
		l.Append(a)
		<-done
		if a.Err != nil || !a.Duplicate || a.Seq != s.seq {
			violate("the retry of %d, stored at %d, got seq %d, duplicate %v, %v", n, s.seq, a.Seq, a.Duplicate, a.Err)
		}
	}
	return violations, nil
}

func newCutWorld(t *testing.T) *cutWorld {
	return &cutWorld{t: t, seen: map[timeline.Key]map[uint64]string{}, acked: map[uint64]seenEntry{}, work: make(chan struct{}, 1), budget: make(chan struct{}, cutAppends), look: make(chan struct{}, 2)}
}

// cutPower runs a log several times, cuts the power of each run many times, and continues from the last cut. It returns the violations.
func cutPower(t *testing.T, clones int, noSync bool) (violations []string) {
	rng := newRand()
	fs := vfs.NewCrashableMem()
	next := [cutWriters]uint64{}
	w := newCutWorld(t)
	for done, life := 0, 0; done < clones && len(violations) == 0; life++ {
		if life%cutLives == 0 {
			fs, w, next = vfs.NewCrashableMem(), newCutWorld(t), [cutWriters]uint64{}
		}
		log, err := Open("log", Options{FS: fs, Listener: w.committed, unsafeNoSync: noSync})
		if err != nil {
			t.Fatal(err)
		}
		w.log = log
		stop := make(chan struct{})
		var group sync.WaitGroup
		for i := range cutAlone {
			group.Go(func() { next[i] = w.write(uint64(i), next[i], stop) })
		}
		group.Go(func() { w.read(stop) })
		group.Go(func() { w.dispatch(stop) })
		var last *vfs.MemFS
		var lastSeen []seenEntry
		var lastAcked map[uint64]seenEntry
		for i := 0; i < cutClonesPerLife && done < clones; i++ {
			// Wait for some appends between cuts.
			w.mu.Lock()
			target := len(w.acked) + rng.IntN(cutSure)
			w.mu.Unlock()
			for range cutAppends - len(w.budget) {
				w.budget <- struct{}{}
			}
			eventually.True(t, "some appends are acknowledged, or one failed", func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return len(w.acked) >= target || t.Failed()
			})
			if i%2 == 1 {
				w.appendAlone(&next[cutAlone])
			}
			seen, acked := w.snapshot() // before the cut: all of it must survive
			clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 30, 70, 100}[rng.IntN(4)], RNG: rngOf(rng)})
			last, lastSeen, lastAcked = clone, seen, acked
			done++
			copied := clone.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rngOf(rng)})
			found, err := checkCut(copied, cutShaped, log.Epoch(), seen, acked)
			if err != nil {
				t.Fatalf("cut %d cannot be opened: %v", done, err)
			}
			violations = append(violations, found...)
		}
		close(stop)
		group.Wait()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		// The next run begins from the last cut.
		fs = last
		w.seen, w.acked, w.todo = map[timeline.Key]map[uint64]string{}, lastAcked, nil
		for _, s := range lastSeen {
			w.note(s.key, s.seq, []byte(s.payload))
		}
		w.recover(fs)
		if t.Failed() {
			return violations
		}
	}
	return violations
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(11, 12)) }

func rngOf(rng *rand.Rand) *rand.Rand { return rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())) }

// recover records what a cut left: unacknowledged entries may be there, and must remain.
func (w *cutWorld) recover(fs vfs.FS) {
	l, err := Open("log", Options{FS: fs, ReadOnly: true})
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	for n := range uint64(cutConversations) {
		w.noteAll(l, cutKey(n))
	}
	w.noteAll(l, cutExpiring())
	// Unprocessed records are dispatched first, as fan-out does at its start.
	for p := range uint16(timeline.Partitions) {
		at, err := l.Checkpoint(context.Background(), p)
		if err != nil {
			w.t.Fatal(err)
		}
		records, err := l.FanoutRecords(context.Background(), p, at, 1<<30)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range records {
			c := timeline.Commit{Partition: p, RecordSeq: r.Seq}
			for _, ref := range r.Refs {
				for seq := ref.From; seq <= ref.To; seq++ {
					c.Entries = append(c.Entries, timeline.CommittedEntry{Key: ref.Key, Seq: seq})
				}
			}
			w.todo = append(w.todo, c)
		}
	}
	select {
	case w.work <- struct{}{}:
	default:
	}
}

func (w *cutWorld) noteAll(l *Log, k timeline.Key) {
	entries, err := l.Read(context.Background(), k, 0, 1<<30)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		w.note(k, e.Seq, e.Payload)
	}
}

func TestPowerCut(t *testing.T) {
	clones := 1000
	if v := os.Getenv("POWER_CUTS"); v != "" {
		var err error
		if clones, err = strconv.Atoi(v); err != nil {
			t.Fatalf("POWER_CUTS is %q; set a number", v)
		}
	}
	for i, v := range cutPower(t, clones, false) {
		if i < 20 {
			t.Error(v)
		}
	}
}

// Without syncs the same test must fail; otherwise it proves nothing.
func TestPowerCutWithoutSyncIsNoticed(t *testing.T) {
	if found := cutPower(t, 200, true); len(found) == 0 {
		t.Error("a log that does not sync passed 200 power cuts")
	}
}
