// Package interest notifies nodes of changes to what their clients show: read cursors in conversations whose list of readers is open, and posts on
// screens. Each topic has its own Service.
//
// Each node tells all others in which keys (conversations or posts) it is interested, and renews this every few seconds. The node that stores a change looks
// up the interested nodes. Usually there are none, and the change costs one look-up. All of this is soft state. A node that restarted, or forgot, says so in
// its next answer, and the bus reports where messages may be lost. Then Missed is called, and the interested nodes read the current state again.
//
// It uses the bus only. All methods are safe for concurrent use; Publish, Remove and Wanted do not block.
package interest

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/platform/nodecall"
)

const (
	renewInterval = 5 * time.Second
	keptFor       = 3 * renewInterval // an interest that is not renewed ends
	requestTime   = time.Second
	// maxKeys bounds the keys of one node. Beyond them, later ones are refused.
	maxKeys = 20_000
)

// Key is what a node is interested in: a conversation in the topic of open lists of readers, a post in that of posts.
type Key uint64

// Change is a read cursor that moved: the user has now read the messages above From up to To. In the topic of posts, Key is a post that changed, and
// the other fields are 0.
type Change struct {
	Key      Key
	User     id.User
	From, To uint64
}

// Deps are the dependencies of a Service.
type Deps struct {
	Bus bus.Bus
	// Topic of the subjects of messages; empty is interest, that of the lists of readers.
	Topic  string
	Node   string
	Nodes  func() []string // that live, with this one or without
	Logger *slog.Logger
	// Changed is called with changes of keys that this node is interested in, and perhaps in others. It must not block.
	Changed func([]Change)
	// Missed is called where changes may have been missed. It must not block.
	Missed func()
}

// Service is one node's part.
type Service struct {
	deps   Deps
	others atomic.Int64 // entries of of: without any, Publish takes no lock

	mu  sync.Mutex                   // guards the fields below
	own map[Key]*ownInterest         // this node's
	of  map[Key]map[string]time.Time // other nodes', until when
}

// ownInterest is an interest of this node.
type ownInterest struct {
	count int           // calls of Add without Remove
	told  chan struct{} // closed when the other nodes were told, or had their time to answer
}

// New returns a Service, which knows of other nodes while Run runs.
func New(deps Deps) *Service {
	deps.Topic = cmp.Or(deps.Topic, "interest")
	return &Service{deps: deps, own: map[Key]*ownInterest{}, of: map[Key]map[string]time.Time{}}
}

func (s *Service) requestSubject(node string) string { return bus.NodeSubject(node, s.deps.Topic) }
func (s *Service) changeSubject(node string) string {
	return bus.NodeSubject(node, s.deps.Topic+".changes")
}

// Add is AddAll for one key.
func (s *Service) Add(ctx context.Context, k Key) bool {
	return s.AddAll(ctx, []Key{k})
}

// AddAll makes changes of some keys known here, until Remove was called as often for each. It returns when all nodes that answer within a second
// know them; the others learn it at the next renewal, and then Missed is called. If an earlier call is telling them, it waits for that one, at most
// until ctx ends. It is false, and adds none, if there is no room.
func (s *Service) AddAll(ctx context.Context, list []Key) bool {
	told := make(chan struct{})
	first, waits, ok := s.addOwn(list, told)
	if !ok {
		return false
	}
	if len(first) > 0 {
		s.tell(context.WithoutCancel(ctx), first) // later calls wait for it, too
		close(told)
	}
	for _, t := range waits {
		select {
		case <-t:
		case <-ctx.Done():
			return true
		}
	}
	return true
}

// addOwn counts interests. It returns those that are new, of which other nodes are to be told before told is closed, and what is closed when they were told of
// the others.
func (s *Service) addOwn(list []Key, told chan struct{}) (first []Key, waits []<-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range list {
		if s.own[c] == nil {
			first = append(first, c)
		}
	}
	if len(s.own)+len(first) > maxKeys {
		return nil, nil, false
	}
	for _, c := range list {
		o := s.own[c]
		if o == nil {
			o = &ownInterest{told: told}
			s.own[c] = o
		} else if o.told != told {
			waits = append(waits, o.told)
		}
		o.count++
	}
	return first, waits, true
}

// Remove ends one Add. Other nodes forget the interest some seconds after its last renewal.
func (s *Service) Remove(c Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.own[c]
	if o == nil {
		return
	}
	if o.count--; o.count == 0 {
		delete(s.own, c)
	}
}

// Publish tells the interested nodes, this one too, of changes that are stored.
func (s *Service) Publish(list []Change) {
	if len(list) == 0 {
		return
	}
	s.deps.Changed(list)
	if s.others.Load() == 0 {
		return
	}
	for node, some := range s.concerned(list) {
		for part := range slices.Chunk(some, maxChanges) {
			if err := s.deps.Bus.Publish(s.changeSubject(node), appendChanges(nil, part)); err != nil {
				s.forget(node) // its next renewal is answered that it missed something
				break
			}
		}
	}
}

func (s *Service) concerned(list []Change) map[string][]Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var of map[string][]Change
	for _, c := range list {
		for node, until := range s.of[c.Key] {
			if until.After(now) {
				if of == nil {
					of = map[string][]Change{}
				}
				of[node] = append(of[node], c)
			}
		}
	}
	return of
}

// forget drops all interests of a node.
func (s *Service) forget(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.of {
		s.drop(c, node)
	}
}

// drop drops one interest. The caller holds mu.
func (s *Service) drop(c Key, node string) {
	if _, is := s.of[c][node]; is {
		delete(s.of[c], node)
		s.others.Add(-1)
	}
	if len(s.of[c]) == 0 {
		delete(s.of, c)
	}
}

// Run answers other nodes and renews this node's interests, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	stopRequests, err := s.deps.Bus.Respond(s.requestSubject(s.deps.Node), s.answer)
	if err != nil {
		return err
	}
	defer stopRequests()
	stopChanges, err := s.deps.Bus.Subscribe(s.changeSubject(s.deps.Node), s.handleChanges, s.deps.Missed)
	if err != nil {
		return err
	}
	defer stopChanges()
	tick := time.NewTicker(renewInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.expire()
			s.renew(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Service) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for c, nodes := range s.of {
		for node, until := range nodes {
			if !until.After(now) {
				s.drop(c, node)
			}
		}
	}
}

func (s *Service) renew(ctx context.Context) {
	s.mu.Lock()
	list := make([]Key, 0, len(s.own))
	for c := range s.own {
		list = append(list, c)
	}
	s.mu.Unlock()
	if len(list) > 0 && s.tell(ctx, list) {
		s.deps.Missed()
	}
}

// tellPolicy: the next round tells a node that does not answer.
var tellPolicy = nodecall.FailSafe{Timeout: requestTime}

// tell tells all other nodes of interests, and reports whether one of them did not know all of them.
func (s *Service) tell(ctx context.Context, list []Key) (fresh bool) {
	data := appendRequest(nil, s.deps.Node, list)
	tellPolicy.Tell(ctx, s.deps.Bus, nodecall.Nodes{Own: s.deps.Node, Live: s.deps.Nodes}, s.requestSubject, data, func(_ string, answer []byte, err error) {
		fresh = fresh || err == nil && !knewAll(answer)
	})
	return fresh
}

// answer stores another node's interests.
func (s *Service) answer(data []byte) []byte {
	node, list, err := readRequest(data)
	if err != nil || len(list) > maxKeys {
		s.deps.Logger.Error("a request of another node for changes cannot be decoded", "topic", s.deps.Topic, "error", err)
		return nil
	}
	until := time.Now().Add(keptFor)
	knew := true
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range list {
		if s.of[c] == nil {
			s.of[c] = map[string]time.Time{}
		}
		was, is := s.of[c][node]
		if !is {
			s.others.Add(1)
		}
		knew = knew && is && was.After(time.Now())
		s.of[c][node] = until
	}
	return appendAnswer(nil, knew)
}

func (s *Service) handleChanges(data []byte) {
	list, err := readChanges(data)
	if err != nil {
		s.deps.Logger.Error("a notice of another node about changes cannot be decoded", "topic", s.deps.Topic, "error", err)
		s.deps.Missed()
		return
	}
	s.deps.Changed(list)
}
