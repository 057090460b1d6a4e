package pebblelog

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/timeline"
)

// The disk of a running log is cloned as a power cut would leave it, at any moment: what was synced is there, each block that
// was not is there or not by chance. Each clone is opened, and must have everything that was acknowledged or shown to anyone
// before the cut.

const (
	cutConversations = 6
	cutWriters       = 8
	cutClonesPerLife = 20
	cutLives         = 2  // of one disk, before another takes its place
	cutAppends       = 48 // for each cut
	cutAtOnce        = 4  // appends that a writer makes together, at most
	// Writers may hold appends of the budget that are not enough for what they make together: between two cuts no more is
	// waited for than is sure to come.
	cutSure = cutAppends - cutWriters*(cutAtOnce-1)
)

// seen is something that was acknowledged or shown: it may never change again.
type seenEntry struct {
	key     timeline.Key
	seq     uint64
	payload string
}

// cutWorld is one life of a log under load, and what came out of it.
type cutWorld struct {
	t   *testing.T
	log *Log

	mu    sync.Mutex // guards all below
	seen  map[timeline.Key]map[uint64]string
	acked map[uint64]seenEntry // by counter
	todo  []timeline.Commit
	work  chan struct{}

	budget chan struct{} // of appends
	look   chan struct{} // has something when an append was taken over, and so may be on its way to the disk
}

func (w *cutWorld) note(k timeline.Key, seq uint64, payload []byte) {
	if w.seen[k] == nil {
		w.seen[k] = map[uint64]string{}
	}
	if was, ok := w.seen[k][seq]; ok && was != string(payload) {
		w.t.Errorf("seq %d of %v was %q, and is %q", seq, k, was, payload)
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

func cutPayload(counter uint64) []byte { return fmt.Appendf(nil, "entry %d", counter) }

// cutAppend makes the append of a counter, always the same.
func cutAppend(counter uint64) *timeline.Append {
	return &timeline.Append{Key: cutKey(counter % cutConversations), Payload: cutPayload(counter), Counts: true, Carry: true, Author: 1 + counter%cutWriters,
		Token: timeline.Token{Sender: 1 + counter%cutWriters, Device: 7, Counter: counter/cutWriters + 1}}
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
		batch := make([]*timeline.Append, 1+n%cutAtOnce)
		for range batch {
			select {
			case <-w.budget:
			case <-stop:
				return n
			}
		}
		for i := range batch {
			counter := n*cutWriters + writer
			n++
			a := cutAppend(counter)
			group.Add(1)
			a.Done = func(a *timeline.Append) {
				defer group.Done()
				w.mu.Lock()
				defer w.mu.Unlock()
				if a.Err != nil {
					w.t.Errorf("append %d: %v", counter, a.Err)
					return
				}
				w.note(a.Key, a.Seq, a.Payload)
				w.acked[counter] = seenEntry{a.Key, a.Seq, string(a.Payload)}
			}
			batch[i] = a
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

// read looks at conversations as readers do.
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
		entries, err := w.log.ReadBack(ctx, k, 0, 3)
		if err != nil {
			w.t.Error(err)
			return
		}
		w.mu.Lock()
		for _, e := range entries {
			w.note(k, e.Seq, e.Payload)
		}
		if len(entries) > 0 && entries[0].Seq < tail.Seq {
			w.t.Errorf("the tail of %v was %d, and then the newest entry %d", k, tail.Seq, entries[0].Seq)
		}
		w.mu.Unlock()
	}
}

// carry posts what was committed to two inboxes, and moves the checkpoints behind it.
func (w *cutWorld) carry(stop <-chan struct{}) {
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
				for u := range uint64(2) {
					posts = append(posts, timeline.Post{Key: cutInbox(u), Payload: cutRef(e.Key, e.Seq)})
				}
			}
			if err := w.log.Post(ctx, posts); err != nil {
				w.t.Error(err)
				return
			}
			if err := w.log.PutCheckpoint(ctx, c.Partition, c.Record); err != nil {
				w.t.Error(err)
				return
			}
		}
	}
}

func cutRef(k timeline.Key, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, k.ID), seq)
}

// snapshot of what must have survived a cut that comes after it.
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

// checkCut opens a clone and finds what it lacks.
func checkCut(fs vfs.FS, epoch uint32, seen []seenEntry, acked map[uint64]seenEntry) (violations []string, err error) {
	l, err := Open("log", Options{FS: fs})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	ctx := context.Background()
	violate := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	if l.Epoch() <= epoch {
		violate("the epoch was %d, and is %d", epoch, l.Epoch())
	}
	stored := map[timeline.Key][]timeline.Entry{}
	carried := map[string]bool{}
	for p := range uint16(timeline.Partitions) {
		at, err := l.Checkpoint(ctx, p)
		if err != nil {
			return nil, err
		}
		records, err := l.Records(ctx, p, at, 1<<30)
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
	inboxes := [2]map[string]bool{{}, {}}
	for u := range uint64(2) {
		entries, err := l.Read(ctx, cutInbox(u), 0, 1<<30)
		if err != nil {
			return nil, err
		}
		prev := uint64(0)
		for _, e := range entries {
			if e.Prev != prev || e.Seq <= prev {
				violate("inbox %d: %d follows %d, and says %d", u, e.Seq, prev, e.Prev)
			}
			prev = e.Seq
			inboxes[u][string(e.Payload)] = true
		}
	}
	for n := range uint64(cutConversations) {
		k := cutKey(n)
		entries, err := l.Read(ctx, k, 0, 1<<30)
		if err != nil {
			return nil, err
		}
		stored[k] = entries
		for i, e := range entries {
			if e.Seq != uint64(i+1) || e.Counted != e.Seq {
				violate("%v: entry %d has seq %d and running number %d", k, i+1, e.Seq, e.Counted)
			}
			ref := string(cutRef(k, e.Seq))
			if !carried[ref] && (!inboxes[0][ref] || !inboxes[1][ref]) {
				violate("%v: entry %d is in no inbox, and no record will bring it there", k, e.Seq)
			}
		}
	}
	for _, s := range seen {
		if s.seq > uint64(len(stored[s.key])) || string(stored[s.key][s.seq-1].Payload) != s.payload {
			violate("%v: entry %d was shown as %q, and is gone or another", s.key, s.seq, s.payload)
		}
	}
	// A retry of what was acknowledged finds it: also of the oldest and the newest.
	tried := 0
	for n, s := range acked {
		if tried++; tried > 10 {
			break
		}
		a := cutAppend(n)
		done := make(chan struct{})
		a.Done = func(*timeline.Append) { close(done) }
		l.Append(a)
		<-done
		if a.Err != nil || !a.Duplicate || a.Seq != s.seq {
			violate("the retry of %d, stored at %d, was answered seq %d, duplicate %v, %v", n, s.seq, a.Seq, a.Duplicate, a.Err)
		}
	}
	return violations, nil
}

func newCutWorld(t *testing.T) *cutWorld {
	return &cutWorld{t: t, seen: map[timeline.Key]map[uint64]string{}, acked: map[uint64]seenEntry{}, work: make(chan struct{}, 1), budget: make(chan struct{}, cutAppends), look: make(chan struct{}, 2)}
}

// cutPower runs lives of a log, cuts each off many times, and goes on from the last cut. It gives what was violated.
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
		for i := range next {
			group.Go(func() { next[i] = w.write(uint64(i), next[i], stop) })
		}
		group.Go(func() { w.read(stop) })
		group.Go(func() { w.carry(stop) })
		var last *vfs.MemFS
		var lastSeen []seenEntry
		var lastAcked map[uint64]seenEntry
		for i := 0; i < cutClonesPerLife && done < clones; i++ {
			// Let something happen between cuts: some appends, counted and not timed.
			w.mu.Lock()
			target := len(w.acked) + rng.IntN(cutSure)
			w.mu.Unlock()
			for range cutAppends - len(w.budget) {
				w.budget <- struct{}{}
			}
			for reached := false; !reached && !t.Failed(); {
				w.mu.Lock()
				reached = len(w.acked) >= target
				w.mu.Unlock()
				runtime.Gosched()
			}
			seen, acked := w.snapshot() // before the cut: all of it must survive
			clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 30, 70, 100}[rng.IntN(4)], RNG: rngOf(rng)})
			last, lastSeen, lastAcked = clone, seen, acked
			done++
			copied := clone.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rngOf(rng)})
			found, err := checkCut(copied, log.Epoch(), seen, acked)
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
		// The next life begins from the last cut: what came after it never was.
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

// recover notes what a cut left: entries that were not acknowledged may be there, and stay.
func (w *cutWorld) recover(fs vfs.FS) {
	l, err := Open("log", Options{FS: fs, ReadOnly: true})
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	for n := range uint64(cutConversations) {
		entries, err := l.Read(context.Background(), cutKey(n), 0, 1<<30)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range entries {
			w.note(cutKey(n), e.Seq, e.Payload)
		}
	}
	// Records that nobody carried yet are carried first, as fan-out does at its start.
	for p := range uint16(timeline.Partitions) {
		at, err := l.Checkpoint(context.Background(), p)
		if err != nil {
			w.t.Fatal(err)
		}
		records, err := l.Records(context.Background(), p, at, 1<<30)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range records {
			c := timeline.Commit{Partition: p, Record: r.Seq}
			for _, ref := range r.Refs {
				for seq := ref.From; seq <= ref.To; seq++ {
					c.Entries = append(c.Entries, timeline.Committed{Key: ref.Key, Seq: seq})
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

func TestPowerCut(t *testing.T) {
	clones := 1000
	if v := os.Getenv("POWER_CUTS"); v != "" {
		var err error
		if clones, err = strconv.Atoi(v); err != nil {
			t.Fatalf("POWER_CUTS is %q, and must be a count", v)
		}
	}
	for i, v := range cutPower(t, clones, false) {
		if i < 20 {
			t.Error(v)
		}
	}
}

// Without syncs the same test must fail: else it would prove nothing.
func TestPowerCutWithoutSyncIsNoticed(t *testing.T) {
	if found := cutPower(t, 200, true); len(found) == 0 {
		t.Error("a log that does not sync passed 200 power cuts")
	}
}
