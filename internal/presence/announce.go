package presence

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/id"
)

// Subjects of a node.
func homeSubject(node string) string    { return "node." + node + ".presence" }
func changesSubject(node string) string { return "node." + node + ".presence.changes" }

const (
	// announceTime that a home has to answer.
	announceTime = 2 * time.Second
	// announceEvery so often homes are told that the node is there, and asked whether they still know what they were told.
	announceEvery = 2 * time.Second
	retryFirst    = 20 * time.Millisecond
	retryMost     = time.Second
	// awaitTime bounds how long a connection waits until its home knows it. One that waited in vain is rechecked later.
	awaitTime = 2 * time.Second
)

// part is what this node has to do with a partition.
type part struct {
	number int
	edge   edge
	home   home
}

// edge is what this node has to tell the partition's home, in memory bounded by what is here: each thing once, as it is when it
// is sent.
type edge struct {
	wake  chan struct{} // there is something
	moved chan struct{} // the home may be another

	mu      sync.Mutex // guards what follows
	own     bool       // the home is here, and nothing has to be told
	due     map[key]struct{}
	flying  map[key]struct{} // under way
	waiters map[key][]chan struct{}
	recheck bool // when all is told
	told    told

	// Of the announcing goroutine alone:
	to     string // the home
	life   uint64 // of its register, 0: none yet
	number uint64 // of the last announcement
	later  []key  // watched users that the home did not know about
}

func newPart(number int) *part {
	return &part{number: number,
		edge: edge{wake: make(chan struct{}, 1), moved: make(chan struct{}, 1), due: map[key]struct{}{}, waiters: map[key][]chan struct{}{}},
		home: home{registers: map[string]*register{}, watching: map[id.User]*nodes{}, following: map[id.Conversation]*nodes{}, changed: map[id.User]bool{}}}
}

func (s *Service) part(of uint64) *part { return s.parts[s.deps.Cluster.Partition(of)] }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// tellHome has something told to its home. It does not block.
func (s *Service) tellHome(k key) {
	if s.parts == nil {
		return
	}
	e := &s.part(k.id).edge
	e.mu.Lock()
	need := !e.own || k.about == aboutSight
	if need {
		e.due[k] = struct{}{}
	}
	e.mu.Unlock()
	if need {
		poke(e.wake)
	}
}

// Moved is told that a partition is another node's than before.
func (s *Service) Moved(partition int, _ string) {
	if s.parts != nil {
		poke(s.parts[partition].edge.moved)
	}
}

// Announced returns when a user's home knows of the connections here that Connected was told of before. Where that takes too long,
// it returns as well, and they are rechecked when it does.
func (s *Service) Announced(ctx context.Context, u id.User) { s.await(ctx, key{aboutUser, uint64(u)}) }

// Followed returns when it is known that this node follows a large conversation, as Announced does. It tells whether it is.
func (s *Service) Followed(ctx context.Context, c id.Conversation) bool {
	return s.await(ctx, key{aboutFollow, uint64(c)})
}

func (s *Service) await(ctx context.Context, k key) bool {
	if s.parts == nil {
		return true
	}
	e := &s.part(k.id).edge
	e.mu.Lock()
	if !e.waits(k) {
		e.mu.Unlock()
		return true
	}
	told := make(chan struct{})
	e.waiters[k] = append(e.waiters[k], told)
	e.mu.Unlock()
	patience := time.NewTimer(awaitTime)
	defer patience.Stop()
	select {
	case <-told:
		return true
	case <-patience.C:
	case <-ctx.Done():
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-told:
		return true
	default:
	}
	e.waiters[k] = slices.DeleteFunc(e.waiters[k], func(c chan struct{}) bool { return c == told })
	if len(e.waiters[k]) == 0 {
		delete(e.waiters, k)
	}
	e.recheck = true
	return false
}

// waits tells whether something is still to be told. The caller holds mu.
func (e *edge) waits(k key) bool {
	_, due := e.due[k]
	_, flying := e.flying[k]
	return due || flying
}

// Follow is told when the first connection here follows a large conversation, or the last one that did no longer does.
func (s *Service) Follow(c id.Conversation, on bool) {
	s.followed.Lock()
	if on {
		s.follows[c] = true
	} else {
		delete(s.follows, c)
	}
	s.followed.Unlock()
	s.tellHome(key{aboutFollow, uint64(c)})
}

func (s *Service) followsHere(c id.Conversation) bool {
	s.followed.RLock()
	defer s.followed.RUnlock()
	return s.follows[c]
}

// announcing tells the home of a partition what it must know, until ctx ends.
func (s *Service) announcing(ctx context.Context, p *part) {
	e := &p.edge
	timer := time.NewTimer(0)
	defer timer.Stop()
	wait := time.Duration(0)
	asked := time.Now()
	for {
		wake := e.wake
		if wait > 0 {
			wake = nil // not before the time to try again
		}
		select {
		case <-ctx.Done():
			return
		case <-e.moved:
		case <-wake:
		case <-timer.C:
		}
		if time.Since(asked) >= announceEvery {
			asked = time.Now()
			e.again()
		}
		err := s.announceAll(ctx, p)
		if err != nil {
			wait = min(max(retryFirst, 2*wait), retryMost)
			s.deps.Logger.Debug("a home of presence cannot be told", "partition", p.number, "node", e.to, "error", err)
			timer.Reset(wait)
			continue
		}
		wait = 0
		timer.Reset(announceEvery)
	}
}

// again has asked about who was not known.
func (e *edge) again() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range e.later {
		e.due[k] = struct{}{}
	}
	e.later = nil
}

var (
	errNoHome = errors.New("the partition is no node's at the moment")
	errStale  = errors.New("the home has to be told all again")
)

// announceAll tells all that is to be told, or, where that is nothing and the home was not heard of for long, that this node is there.
func (s *Service) announceAll(ctx context.Context, p *part) error {
	e := &p.edge
	to := s.deps.Cluster.Holder(p.number)
	if to != e.to {
		e.to, e.life = to, 0
	}
	if to != s.deps.Node {
		e.mu.Lock()
		e.own = false
		e.mu.Unlock()
	}
	switch {
	case to == "":
		e.life = 0
		return errNoHome
	case to == s.deps.Node:
		return s.homecoming(p)
	}
	if e.life == 0 {
		if err := s.introduce(ctx, p); err != nil {
			return err
		}
	}
	if e.quiet() {
		return nil
	}
	for {
		more, err := s.announce(ctx, p)
		if err != nil || !more {
			return err
		}
	}
}

// homecoming: what there is to tell is told, since the home is here.
func (s *Service) homecoming(p *part) error {
	life := p.home.lives()
	e := &p.edge
	e.mu.Lock()
	if life == 0 { // it has not begun, or is over
		e.own, e.life = false, 0
		e.mu.Unlock()
		return errNoHome
	}
	if e.life == life && !e.recheck && len(e.due) == 0 {
		e.mu.Unlock()
		return nil
	}
	fresh := e.life != life
	recheck := fresh || e.recheck
	e.own, e.life, e.recheck, e.later = true, life, false, nil
	due := e.due
	e.due = map[key]struct{}{}
	e.release(due)
	e.mu.Unlock()
	for k := range due {
		if k.about == aboutSight {
			s.change(id.User(k.id), true)
		}
	}
	if fresh {
		s.lookAgain(p.number)
	}
	if recheck {
		s.deps.Cluster.Recheck(p.number)
	}
	return nil
}

// release lets those go on who wait for what is told now. The caller holds mu.
func (e *edge) release(told map[key]struct{}) {
	for k := range told {
		if _, again := e.due[k]; again {
			continue
		}
		for _, w := range e.waiters[k] {
			close(w)
		}
		delete(e.waiters, k)
	}
}

// introduce asks the home for a register, which has to be told all.
func (s *Service) introduce(ctx context.Context, p *part) error {
	e := &p.edge
	e.number++
	a, err := s.ask(ctx, e.to, (&announcement{node: s.deps.Node, part: uint64(p.number), number: e.number}).append(nil))
	if err != nil {
		return err
	}
	if a.code != answerTaken || a.life == 0 {
		return errNoHome
	}
	e.life, e.later = a.life, nil
	all := s.all(p.number)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range all {
		e.due[k] = struct{}{}
	}
	e.recheck = true
	return nil
}

// all that a home has to know of this node.
func (s *Service) all(partition int) (list []key) {
	of := func(n uint64) bool { return s.deps.Cluster.Partition(n) == partition }
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.RLock()
		for u, p := range sh.persons {
			if of(uint64(u)) && (p.away == nil || len(p.sessions) > 0) {
				list = append(list, key{aboutUser, uint64(u)})
			}
		}
		sh.mu.RUnlock()
	}
	s.mu.Lock()
	for u := range s.watchers {
		if of(uint64(u)) {
			list = append(list, key{aboutWatch, uint64(u)})
		}
	}
	s.mu.Unlock()
	s.followed.RLock()
	defer s.followed.RUnlock()
	for c := range s.follows {
		if of(uint64(c)) {
			list = append(list, key{aboutFollow, uint64(c)})
		}
	}
	return list
}

// announce tells the home some of what is due, and whether there is more.
func (s *Service) announce(ctx context.Context, p *part) (more bool, err error) {
	e := &p.edge
	e.number++
	at := time.Now()
	a := announcement{node: s.deps.Node, part: uint64(p.number), life: e.life, number: e.number}
	flying := e.take()
	a.whole = len(flying) < mostAnnounce
	for k := range flying {
		a.list = append(a.list, s.entry(k))
	}
	answer, err := s.ask(ctx, e.to, a.append(nil))
	watched := slices.DeleteFunc(a.list, func(n entry) bool { return n.about != aboutWatch || !n.on })
	switch {
	case err != nil:
	case answer.code == answerNotMine:
		e.life, err = 0, errNoHome
	case answer.code != answerTaken:
		e.life, err = 0, errStale
	case len(answer.sights) != len(watched):
		err = errWire
	}
	e.mu.Lock()
	e.flying = nil
	if err != nil {
		for k := range flying {
			e.due[k] = struct{}{}
		}
		e.mu.Unlock()
		return false, err
	}
	e.release(flying)
	if a.whole {
		e.told = told{e.to, e.life, at}
	}
	recheck := e.recheck && a.whole
	if recheck {
		e.recheck = false
	}
	more = len(e.due) > 0
	e.mu.Unlock()
	e.later = append(e.later, s.saw(watched, answer.sights)...)
	if recheck {
		s.deps.Cluster.Recheck(p.number)
	}
	return more, nil
}

// take gives what is told next: all, if it is less than mostAnnounce.
func (e *edge) take() map[key]struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.due) < mostAnnounce {
		e.flying, e.due = e.due, map[key]struct{}{}
		return e.flying
	}
	e.flying = make(map[key]struct{}, mostAnnounce)
	for k := range e.due {
		if len(e.flying) == mostAnnounce {
			break
		}
		e.flying[k] = struct{}{}
		delete(e.due, k)
	}
	return e.flying
}

// ask has a home answer.
func (s *Service) ask(ctx context.Context, node string, question []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, announceTime)
	defer cancel()
	b, err := s.deps.Cluster.Bus.Request(ctx, homeSubject(node), question)
	if err != nil {
		return answer{}, err
	}
	return readAnswer(b)
}

// entry is how something is now.
func (s *Service) entry(k key) entry {
	n := entry{key: k}
	switch k.about {
	case aboutUser:
		sh := s.shard(id.User(k.id))
		sh.mu.RLock()
		n.age = 2 * s.grace() // of nobody who is known here: there was time enough
		if p := sh.persons[id.User(k.id)]; p != nil {
			n.on, n.out = len(p.sessions) > 0, p.out
			n.age = s.now() - min(s.now(), p.active.Load())
		}
		sh.mu.RUnlock()
	case aboutWatch:
		s.mu.Lock()
		n.on = len(s.watchers[id.User(k.id)]) > 0
		s.mu.Unlock()
	case aboutFollow:
		n.on = s.followsHere(id.Conversation(k.id))
	}
	return n
}

// saw notes what a home knows of those who are watched here, and gives those of whom it knows nothing yet.
func (s *Service) saw(watched []entry, sights []sight) (later []key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range watched {
		u := id.User(n.id)
		if len(s.watchers[u]) == 0 {
			continue
		}
		if !sights[i].known {
			later = append(later, n.key)
			continue
		}
		if s.seen[u].online != sights[i].online || !s.seen[u].known {
			s.note(u, false)
		}
		s.seen[u] = sights[i]
	}
	return later
}

// lookAgain looks at all who are watched here and have their home here since now.
func (s *Service) lookAgain(partition int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for u := range s.watchers {
		if s.deps.Cluster.Partition(uint64(u)) == partition {
			delete(s.seen, u)
			s.note(u, false)
		}
	}
}

// hearChanges is told by homes of users who are watched here.
func (s *Service) hearChanges(data []byte) {
	list, err := readChanges(data)
	if err != nil {
		s.deps.Logger.Error("what another node told of presence cannot be read", "error", err)
		return
	}
	for _, c := range list {
		if c.all {
			s.mu.Lock()
			if len(s.watchers[c.user]) > 0 {
				s.note(c.user, true)
			}
			s.mu.Unlock()
		}
		s.tellHome(key{aboutWatch, uint64(c.user)})
	}
}

// missedChanges: all who are watched here are asked for again.
func (s *Service) missedChanges() {
	s.mu.Lock()
	users := make([]id.User, 0, len(s.watchers))
	for u := range s.watchers {
		users = append(users, u)
	}
	s.mu.Unlock()
	for _, u := range users {
		s.tellHome(key{aboutWatch, uint64(u)})
	}
}

// listen takes what other nodes tell and ask this one, until stop is called.
func (s *Service) listen() (stop func(), err error) {
	if s.parts == nil {
		return func() {}, nil
	}
	c := s.deps.Cluster
	dumb, err := c.Bus.Respond(homeSubject(s.deps.Node), s.respond)
	if err != nil {
		return nil, err
	}
	deaf, err := c.Bus.Subscribe(changesSubject(s.deps.Node), s.hearChanges, s.missedChanges)
	if err != nil {
		dumb()
		return nil, err
	}
	return func() { dumb(); deaf() }, nil
}
