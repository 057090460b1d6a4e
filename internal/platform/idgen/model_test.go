package idgen_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/idgen"
)

// rows is a leaseStore in memory. Its next writes may fail, before or after they are stored.
type rows struct {
	mu     sync.Mutex // guards all
	rand   *rand.Rand
	sizes  map[string]uint64
	stored map[string]map[uint64]idgen.Worker
	faults int // of the next calls
}

var errStore = errors.New("the store is unreachable")

func newRows(r *rand.Rand) *rows {
	return &rows{rand: r, sizes: map[string]uint64{}, stored: map[string]map[uint64]idgen.Worker{}}
}

// copy returns the rows of a copied disk.
func (s *rows) copy() *rows {
	c := newRows(s.rand)
	maps.Copy(c.sizes, s.sizes)
	for pool, of := range s.stored {
		c.stored[pool] = maps.Clone(of)
	}
	return c
}

// row returns a stored row, and fault makes the next calls fail.
func (s *rows) row(pool string, slot uint64) idgen.Worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored[pool][slot]
}

func (s *rows) fault(calls int) {
	s.mu.Lock()
	s.faults = calls
	s.mu.Unlock()
}

func (s *rows) fails() bool {
	s.faults--
	return s.faults >= 0
}

func (s *rows) Pool(_ context.Context, name string, size uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails() {
		return errStore
	}
	if old, ok := s.sizes[name]; ok && old != size {
		return errors.New("of another size")
	}
	s.sizes[name] = size
	return nil
}

func (s *rows) List(_ context.Context, pool string) (list []idgen.Worker, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails() {
		return nil, errStore
	}
	for _, w := range s.stored[pool] {
		list = append(list, w)
	}
	return list, nil
}

func (s *rows) Get(_ context.Context, pool string, slot uint64) (idgen.Worker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails() {
		return idgen.Worker{}, errStore
	}
	w := s.stored[pool][slot]
	w.Slot = slot
	return w, nil
}

func (s *rows) Put(_ context.Context, pool string, old, next idgen.Worker) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fails := s.fails()
	if fails && s.rand.IntN(2) == 0 {
		return false, errStore
	}
	if s.stored[pool] == nil {
		s.stored[pool] = map[uint64]idgen.Worker{}
	}
	w, ok := s.stored[pool][old.Slot]
	same := ok == (old.Term != 0) && (!ok || w.Term == old.Term && w.Token == old.Token)
	if same {
		s.stored[pool][old.Slot] = next
	}
	if fails {
		return false, errStore
	}
	return same, nil
}

// hand is the clock of one machine: the world's time and the clock's offset.
type hand struct {
	world *int64 // milliseconds since 1970
	off   int64
	most  *int64 // that any clock has shown
}

func (h *hand) Now() time.Time {
	ms := *h.world + h.off
	*h.most = max(*h.most, ms)
	return time.UnixMilli(ms)
}

// process is a server and its machine.
type process struct {
	name    string // of its machine and its copy of the store
	own     bool
	store   *rows
	cloned  bool // its store was copied: a second copy is not covered by the guarantee
	clock   *hand
	leases  *idgen.Leases
	flakes  *idgen.Snowflake
	readers *idgen.Messages
	last    [2]number // ids of its generators so far
	wakes   int64     // a snapshot of a running process, which wakes at this time of its clock
}

// number is an id as bytes that sort in order: a message id, or one of eight bytes.
type number [10]byte

// issued is an id and its kind.
type issued struct {
	kind int
	id   number
}

// world is one random schedule.
type world struct {
	t         testing.TB
	rand      *rand.Rand
	seed      uint64
	now, most int64
	layout    idgen.Layout
	ranges    uint64
	all       []*process
	seen      map[issued]*process
	tokens    int
	names     int
	told      []func() string
}

func (w *world) note(format string, args ...any) {
	w.told = append(w.told, func() string { return fmt.Sprintf(format, args...) })
}

func (w *world) fail(format string, args ...any) {
	for _, s := range w.told[max(0, len(w.told)-60):] {
		w.t.Log(s())
	}
	w.t.Fatalf("schedule %d: %s", w.seed, fmt.Sprintf(format, args...))
}

func (w *world) token() string {
	w.tokens++
	return strconv.Itoa(w.tokens)
}

func (w *world) name() string {
	w.names++
	return fmt.Sprintf("machine %d of %d", w.names, w.seed)
}

// start starts a process on a machine. If it fails, a later step tries again.
func (w *world) start(p *process) {
	ctx := context.Background()
	p.leases, p.flakes, p.readers, p.last = nil, nil, nil, [2]number{}
	leases := idgen.NewLeasesOn(p.store, p.clock, slog.New(slog.DiscardHandler), idgen.LeaseConfig{Machine: p.name, Exclusive: p.own}, w.token)
	flakes, err := idgen.NewSnowflakeOf(ctx, leases, w.layout)
	if err == nil {
		var readers *idgen.Messages
		if readers, err = idgen.NewMessagesThatTry(ctx, leases, idgen.MessagesConfig{Ranges: w.ranges}); err == nil {
			p.leases, p.flakes, p.readers = leases, flakes, readers
		}
	}
	w.note("%s starts at %d: %v", p.name, p.clock.Now().UnixMilli(), err)
}

// issue draws ids and checks each.
func (w *world) issue(p *process, n int) {
	ctx := context.Background()
	if p.leases == nil || p.clock.Now().UnixMilli() < p.wakes {
		return
	}
	p.wakes = 0
	for range n {
		if w.rand.IntN(2) == 0 {
			v, ok, err := p.flakes.TryNext(ctx)
			if at, _, _ := w.layout.Parse(v); ok && at.UnixMilli() > w.most+idgen.MaxLead.Milliseconds()+idgen.Margin.Milliseconds() {
				w.fail("%s issued an id of %v, but no clock was past %d", p.name, at, w.most)
			}
			var n number
			binary.BigEndian.PutUint64(n[:], v)
			w.check(p, 0, n, ok, err)
		} else {
			m, err := p.readers.Next(1, id.Conversation(w.rand.Uint64N(2)<<22|5)) // two that share their bits
			w.check(p, 1, number(m), err == nil, err)
		}
	}
}

func (w *world) check(p *process, kind int, v number, ok bool, err error) {
	if err != nil && !errs.Is(err, errs.Unavailable) {
		w.fail("%s: %v", p.name, err)
	}
	if !ok {
		return
	}
	if other := w.seen[issued{kind, v}]; other != nil {
		w.fail("%s issued %x, which %s had issued", p.name, v, other.name)
	}
	w.seen[issued{kind, v}] = p
	if bytes.Compare(v[:], p.last[kind][:]) <= 0 {
		w.fail("%s issued %x after %x", p.name, v, p.last[kind])
	}
	p.last[kind] = v
}

// span returns a duration of 1 ms to 1 h, with a uniform distribution of its logarithm.
func (w *world) span() int64 {
	return int64(1) << w.rand.IntN(22) * (1000 + w.rand.Int64N(1000)) / 1000
}

func (w *world) act() {
	p := w.all[w.rand.IntN(len(w.all))]
	switch w.rand.IntN(20) {
	case 0, 1, 2, 3, 4:
		w.issue(p, 1+w.rand.IntN(12))
	case 5, 6:
		w.issue(p, 1+w.rand.IntN(60)) // more than fit into its milliseconds
	case 7, 8:
		w.now += w.rand.Int64N(4)
	case 9:
		w.now += w.span() / 8
	case 10:
		step := w.span()
		if w.rand.IntN(2) == 0 {
			step = -step
		}
		p.clock.off += step
		w.note("the clock of %s steps by %d ms", p.name, step)
	case 11, 12, 13:
		if p.leases != nil {
			p.leases.Renew(context.Background())
		}
	case 14:
		w.note("%s is killed", p.name)
		w.start(p)
	case 15:
		if p.leases != nil && p.wakes == 0 {
			err := p.leases.Release(context.Background())
			w.note("%s stops, %v", p.name, err)
		}
		w.start(p)
	case 16:
		p.store.fault(w.rand.IntN(4))
	case 17, 18:
		w.multiply(p)
	case 19:
		if p.leases == nil {
			w.start(p)
		}
	}
}

// multiply adds a node, a copy of a disk, or a snapshot of memory that wakes after its lease has ended.
func (w *world) multiply(p *process) {
	if len(w.all) > 5 {
		return
	}
	c := &process{name: w.name(), own: p.own, store: p.store, clock: &hand{world: &w.now, most: &w.most, off: p.clock.off}}
	switch {
	case p.own && p.cloned:
		return
	case p.own:
		p.cloned = true
		c.store = p.store.copy()
		w.note("the disk of %s is copied to %s", p.name, c.name)
		w.start(c)
	case w.rand.IntN(2) == 0:
		w.start(c)
	case p.leases != nil && p.wakes == 0:
		c.name, c.last = p.name, p.last
		c.wakes = w.most + idgen.MaxLead.Milliseconds() + w.span()
		c.leases, c.flakes, c.readers = idgen.Frozen(p.leases, p.flakes, p.readers, c.clock)
		w.note("%s is copied as it runs; the copy wakes at %d", p.name, c.wakes)
	default:
		return
	}
	w.all = append(w.all, c)
}

// Whatever happens to clocks and disks, and whatever is killed or copied: no two ids are equal, and those of a generator increase.
func TestIDsInAnySchedule(t *testing.T) {
	schedules := 10_000
	if s := os.Getenv("ID_SCHEDULES"); s != "" {
		var err error
		if schedules, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	var given atomic.Int64
	t.Cleanup(func() {
		if n := given.Load(); n < int64(50*schedules) {
			t.Errorf("only %d ids in %d schedules", n, schedules)
		}
	})
	const parts = 8
	for part := range parts {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < schedules; seed += parts {
				given.Add(int64(schedule(t, uint64(seed))))
			}
		})
	}
}

func schedule(t testing.TB, seed uint64) int {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &world{t: t, rand: r, seed: seed, now: 1_800_000_000_000, seen: map[issued]*process{}, ranges: 4 << r.IntN(8),
		layout: idgen.Layout{Time: 42, Worker: 2 + uint8(r.IntN(4)), Sequence: 3, Unit: time.Millisecond}}
	if r.IntN(4) == 0 {
		w.layout.Unit = 10 * time.Millisecond
	}
	p := &process{name: w.name(), own: r.IntN(2) == 0, store: newRows(r), clock: &hand{world: &w.now, most: &w.most}}
	w.all = []*process{p}
	w.start(p)
	for range 60 {
		w.act()
	}
	return len(w.seen)
}
