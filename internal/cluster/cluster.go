// Package cluster knows which nodes live, and shares work that one node at a time does among them: the partitions of fan-out,
// the homes of presence.
//
// It owns two tables in the records' database. A node beats: it moves a number in its row about once a second, and sees in the
// same transaction the others' numbers and who has what. A node whose number has not moved for Patience, by the watcher's own
// monotonic clock, is dead to the watcher, and its parts are taken; a node that could not beat gives its parts up well before,
// whether the database answers or not. No clocks are compared. Of nodes that beat and do not reach each other on the bus only some have
// parts (together). Parts are spread evenly, and few move when a node comes or goes; they are taken by compare-and-set.
//
// Whoever is paused at the wrong moment may believe for a while that it still has a part. So who works a part must be fenced
// by the store that it writes to (timeline.Log.Take): two for a moment do no harm, they only get in each other's way.
//
// It may touch sqldb. Holder and Nodes may be called from many goroutines, and do not block.
package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/sqldb"
)

// Node of a cluster.
type Node struct {
	// Name is unique among the nodes that run; the others reach the node by it on the bus.
	Name string
	// Since when it runs, in milliseconds since 1970.
	Since int64
	// Address at which the other nodes reach its bus; "" where they do not have to.
	Address string
	// Idle: it takes no parts.
	Idle bool
	// Version that it runs.
	Version
}

// Work is shared in numbered parts. The functions are called one at a time by Run, and must not block: beats would wait.
type Work struct {
	Kind  string
	Parts int
	// Begin is called when this node has a part, End when it has it no longer; both may be nil.
	Begin, End func(part int)
	// Moved is called when a part is another node's than before, "" while it is nobody's; may be nil.
	Moved func(part int, node string)
}

// Deps are what a Service needs.
type Deps struct {
	// DB is shared by the nodes; nil where there is one node alone, which has all parts.
	DB     *sqldb.DB
	Logger *slog.Logger
	// Work that is shared. All nodes of one version share the same.
	Work []Work
	// Met is called by Run with the nodes that live, this one among them, when they are others than before; it must not block. May
	// be nil.
	Met func(nodes []Node)
	// Cut gives the nodes that this one does not reach on the bus, though they may live; it must not block. May be nil.
	Cut func() []string
}

// Config of a node's place among others; the zero value is the documented default.
type Config struct {
	// Node is the node's name, without dots or spaces; needed.
	Node string `yaml:"-"`
	// Address at which other nodes reach this one's bus.
	Address string `yaml:"-"`
	// Idle: the node takes no parts.
	Idle bool `yaml:"-"`
	// Version of this build; the zero Version is that.
	Version Version `yaml:"-"`
	// Every so often a node beats; 0 is 1 s.
	Every time.Duration `yaml:"every"`
	// Patience with a node that does not beat, before others take its parts; 0 is 5 s, and it is at least four of Every.
	Patience time.Duration `yaml:"patience"`
}

// Service is the room.
type Service struct {
	deps   Deps
	config Config
	store  store
	me     member

	// Of Run's goroutine alone:
	seen   map[string]*sighting
	looked time.Time     // last
	mine   map[part]bool // begun
	until  time.Time     // the parts are ours to then, unless there is another beat
	known  map[part]string
	met    []Node // as Met was told

	shown atomic.Pointer[shown]
}

// part names one part of one work.
type part struct {
	kind   string
	number int
}

// member is a node as its row says.
type member struct {
	Node
	incarnation uint64
	beat        uint64
	cut         string // nodes that it does not reach, with spaces between; unsaid of an earlier release
}

// holding says who has a part.
type holding struct {
	node string // "" nobody
	term uint64 // counts the changes
}

// state of the tables.
type state struct {
	members map[string]member
	parts   map[part]holding
	agreed  int // the protocol that all nodes speak
}

// change of a part's holder: it happens only where the term is still as it was.
type change struct {
	part
	term uint64
	to   string
}

// store is where nodes meet.
type store interface {
	// beat puts m's row, and gives all. It fails with errOther where the row is another incarnation's that came after m's.
	beat(ctx context.Context, m member, first bool) (state, error)
	// apply makes the changes that still can be made, each of another part and at least one, and says which were.
	apply(ctx context.Context, changes []change) ([]bool, error)
	// leave drops m's row.
	leave(ctx context.Context, m member) error
	// peek gives all, and changes nothing.
	peek(ctx context.Context) (state, error)
	// agree makes this the protocol where it is higher than the one before, and each row's node speaks it; and says whether it did.
	agree(ctx context.Context, protocol int) (bool, error)
	// forget drops the rows of the dead, where they have not beaten since.
	forget(ctx context.Context, dead []member) error
}

// sighting of a member: its last beat, and when that was new.
type sighting struct {
	member
	at time.Time
}

// shown is what other goroutines see.
type shown struct {
	nodes   []Node
	holders map[part]string
	agreed  int
}

var errOther = errors.New("another process has this node's name; give each node a name of its own")

// New makes the tables where they are missing. It fails where a node lives that this build cannot work with, or where the nodes
// use what it does not know; which to upgrade first is in the error. Nothing is shared before Run.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if config.Every == 0 {
		config.Every = time.Second
	}
	if config.Patience == 0 {
		config.Patience = 5 * time.Second
	}
	if config.Node == "" || config.Patience < 4*config.Every {
		return nil, fmt.Errorf("cluster: a node has a name, and patience (%v) for four beats (of %v)", config.Patience, config.Every)
	}
	if config.Version == (Version{}) {
		config.Version = thisBuild()
	}
	var incarnation [8]byte
	rand.Read(incarnation[:]) //nolint:errcheck // it never fails
	s := &Service{deps: deps, config: config, seen: map[string]*sighting{}, mine: map[part]bool{}, known: map[part]string{}}
	s.me = member{Node: Node{Name: config.Node, Since: time.Now().UnixMilli(), Address: config.Address, Idle: config.Idle, Version: config.Version}, incarnation: binary.BigEndian.Uint64(incarnation[:]) >> 1}
	s.shown.Store(&shown{})
	if deps.DB == nil {
		s.store = &alone{}
		return s, nil
	}
	s.store = promptly(records{deps.DB})
	if err := deps.DB.Migrate(ctx, "cluster", steps); err != nil {
		return nil, err
	}
	return s, s.meet(ctx)
}

// Nodes that live, by name.
func (s *Service) Nodes() []Node { return s.shown.Load().nodes }

// Holder of a part, "" where it is nobody's, as this node saw it last.
func (s *Service) Holder(kind string, number int) string {
	return s.shown.Load().holders[part{kind, number}]
}

// Run beats until ctx ends, and gives all parts up then. It fails where another process takes the node's name, and where the nodes
// go on to a release that this one cannot work with.
func (s *Service) Run(ctx context.Context) error {
	defer s.leave()
	tick := time.NewTicker(s.config.Every)
	defer tick.Stop()
	for first := true; ; {
		if !time.Now().Before(s.until) {
			s.endAll("no beat was possible")
		}
		err := s.round(ctx, first)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errOther) || errors.Is(err, errVersion):
			return err
		case err != nil:
			s.deps.Logger.Warn("this node could not be seen by the others", "error", err)
		default:
			first = false
		}
		over := time.After(time.Until(s.until))
		for waits := true; waits; {
			select {
			case <-over:
				s.endAll("no beat was possible")
			case <-tick.C:
				waits = false
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// round beats, sees, and takes or gives up what the spread of the parts asks for.
func (s *Service) round(ctx context.Context, first bool) error {
	began := time.Now()
	within := s.config.Patience / 2
	if len(s.mine) > 0 {
		within = min(within, s.until.Sub(began))
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	s.me.beat++
	if s.deps.Cut != nil {
		s.me.cut = strings.Join(s.deps.Cut(), " ")
	}
	now, err := s.store.beat(ctx, s.me, first)
	if err != nil {
		return err
	}
	s.until = began.Add(s.config.Patience * 3 / 4) // others count from when they see the beat, which is later
	live, dead := s.look(now, time.Now())
	if err := s.check(now, live); err != nil {
		return err
	}
	if err := s.agree(ctx, &now); err != nil {
		return err
	}
	s.see(now, live) // who begins a part may ask who lives
	if err := s.spread(ctx, now, live); err != nil {
		return err
	}
	s.show(now, live)
	return s.store.forget(ctx, dead)
}

// look tells the living from the dead.
func (s *Service) look(now state, at time.Time) (live []string, dead []member) {
	if at.Sub(s.looked) > s.config.Patience/2 {
		// While this node saw nothing, it may be that nobody could beat: that says nothing of the others.
		for _, o := range s.seen {
			o.at = at
		}
	}
	s.looked = at
	for name, m := range now.members {
		o := s.seen[name]
		if o == nil || o.incarnation != m.incarnation || o.beat != m.beat {
			s.seen[name] = &sighting{m, at}
			o = s.seen[name]
		}
		switch {
		case name == s.me.Name || at.Sub(o.at) <= s.config.Patience:
			live = append(live, name)
		case at.Sub(o.at) > 10*s.config.Patience:
			dead = append(dead, m)
		}
	}
	for name := range s.seen {
		if _, ok := now.members[name]; !ok {
			delete(s.seen, name)
		}
	}
	slices.Sort(live)
	return live, dead
}

// spread brings the parts to where they belong, as far as this node can: it gives up what is another's, and takes what is its
// own and nobody's, or a dead node's.
func (s *Service) spread(ctx context.Context, now state, live []string) error {
	var changes []change
	workers := slices.DeleteFunc(slices.Clone(live), func(name string) bool { return now.members[name].Idle })
	workers = together(workers, now.members)
	for _, w := range s.deps.Work {
		for number, belongs := range spread(w.Kind, w.Parts, workers) {
			p := part{w.Kind, number}
			h := now.parts[p]
			ours := h.node == s.me.Name
			switch {
			case !ours && s.mine[p]: // somebody took it
				s.end(p)
			case ours && belongs != s.me.Name:
				s.end(p)
				changes = append(changes, change{p, h.term, ""})
			}
			if belongs == s.me.Name && !s.mine[p] && (ours || h.node == "" || !slices.Contains(live, h.node)) {
				changes = append(changes, change{p, h.term, s.me.Name})
			}
		}
	}
	if len(changes) == 0 {
		return nil
	}
	made, err := s.store.apply(ctx, changes)
	if err != nil {
		return err
	}
	for i, c := range changes {
		if !made[i] {
			continue
		}
		now.parts[c.part] = holding{c.to, c.term + 1}
		if c.to == s.me.Name && time.Now().Before(s.until) {
			s.begin(c.part)
		}
	}
	return nil
}

// see tells other goroutines who lives and who has what.
func (s *Service) see(now state, live []string) {
	next := &shown{holders: map[part]string{}, agreed: now.agreed}
	for _, name := range live {
		next.nodes = append(next.nodes, now.members[name].Node)
	}
	for p, h := range now.parts {
		if slices.Contains(live, h.node) {
			next.holders[p] = h.node
		}
	}
	s.shown.Store(next)
}

// show tells other goroutines, and the works, who has what.
func (s *Service) show(now state, live []string) {
	s.see(now, live)
	next := s.shown.Load()
	if s.deps.Met != nil && !slices.Equal(s.met, next.nodes) {
		s.met = next.nodes
		s.deps.Met(next.nodes)
	}
	for _, w := range s.deps.Work {
		for number := range w.Parts {
			p := part{w.Kind, number}
			if s.known[p] != next.holders[p] {
				s.known[p] = next.holders[p]
				if w.Moved != nil {
					w.Moved(number, next.holders[p])
				}
			}
		}
	}
}

func (s *Service) work(p part) *Work {
	i := slices.IndexFunc(s.deps.Work, func(w Work) bool { return w.Kind == p.kind })
	return &s.deps.Work[i]
}

func (s *Service) begin(p part) {
	s.mine[p] = true
	s.deps.Logger.Info("this node has a part", "work", p.kind, "part", p.number)
	if w := s.work(p); w.Begin != nil {
		w.Begin(p.number)
	}
}

func (s *Service) end(p part) {
	if !s.mine[p] {
		return
	}
	delete(s.mine, p)
	s.deps.Logger.Info("this node has a part no longer", "work", p.kind, "part", p.number)
	if w := s.work(p); w.End != nil {
		w.End(p.number)
	}
}

func (s *Service) endAll(why string) {
	if len(s.mine) > 0 {
		s.deps.Logger.Warn("this node gives all its parts up", "why", why, "parts", len(s.mine))
	}
	for _, p := range slices.Collect(maps.Keys(s.mine)) {
		s.end(p)
	}
}

// leaveTime that a node which stops has to say so; without it, others take its parts after their patience.
const leaveTime = 2 * time.Second

func (s *Service) leave() {
	held := slices.Collect(maps.Keys(s.mine))
	for _, p := range held {
		s.end(p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if err := s.store.leave(ctx, s.me); err != nil {
		s.deps.Logger.Warn("this node could not say that it goes; others wait for it", "error", err)
	}
}
