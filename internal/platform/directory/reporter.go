package directory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/bus"
	"github.com/rialto-im/rialto/internal/platform/nodecall"
)

// Subjects of a node. Nodes of the release before use the same.
func ownerSubject(node string) string   { return bus.NodeSubject(node, "presence") }
func changesSubject(node string) string { return bus.NodeSubject(node, "presence.changes") }

const (
	// announceTimeout is how long an owner may take to answer.
	announceTimeout = 2 * time.Second
	// announceInterval is the time between two verifications of a registration.
	announceInterval = 2 * time.Second
	retryMin         = 20 * time.Millisecond
	retryMax         = time.Second
	// awaitTimeout bounds how long a connection waits until its owner knows it.
	awaitTimeout = 2 * time.Second
)

// partition has this node's two roles in one partition.
type partition struct {
	number   int
	reporter reporter
	owner    owner
}

// reporter reports this node's connections, watched users and followed conversations to the partition's owner. It keeps the set of what has
// changed, and looks up the current state when it sends, so its memory is bounded by what is on this node.
type reporter struct {
	wake         chan struct{} // something is pending
	ownerChanged chan struct{} // the owner may have changed

	mu        sync.Mutex // guards what follows
	local     bool       // this node is the owner, so nothing has to be sent
	pending   map[key]struct{}
	inFlight  map[key]struct{} // sent, not yet confirmed
	waiters   map[key][]chan struct{}
	recheck   bool // call Recheck once all is confirmed
	confirmed confirmation

	// Used by runReporter's goroutine only:
	owner      string // the node
	term       uint64 // of the owner with which it has registered; 0: it has not
	seq        uint64 // of the last announcement
	unresolved []key  // watched users whose status the owner did not know
}

func newPartition(number int) *partition {
	return &partition{number: number,
		reporter: reporter{wake: make(chan struct{}, 1), ownerChanged: make(chan struct{}, 1), pending: map[key]struct{}{}, waiters: map[key][]chan struct{}{}},
		owner:    owner{registrations: map[string]*registration{}, heard: map[reporterID]heardSeq{}, watchedBy: map[id.User]*nodeSet{}, followedBy: map[id.Conversation]*nodeSet{}, changed: map[id.User]bool{}}}
}

func (s *Service) partitionOf(of uint64) *partition {
	return s.partitions[s.deps.Cluster.Partition(of)]
}

// report makes the reporter send the current state of something to its owner. It does not block.
func (s *Service) report(k key) {
	if s.partitions == nil {
		return
	}
	r := &s.partitionOf(k.id).reporter
	r.mu.Lock()
	need := !r.local || k.about == aboutVisibility
	if need {
		r.pending[k] = struct{}{}
	}
	r.mu.Unlock()
	if need {
		wakeup.Signal(r.wake)
	}
}

// OwnerChanged is called when a partition's owner may have changed.
func (s *Service) OwnerChanged(partition int, _ string) {
	if s.partitions != nil {
		wakeup.Signal(s.partitions[partition].reporter.ownerChanged)
	}
}

// runReporter keeps the owner of a partition up to date until ctx ends.
func (s *Service) runReporter(ctx context.Context, p *partition) {
	r := &p.reporter
	timer := time.NewTimer(0)
	defer timer.Stop()
	retry, failed := backoff.New(retryMin, retryMax), false
	retriedAt := time.Now()
	for {
		wake := r.wake
		if failed {
			wake = nil // not before the next retry
		}
		select {
		case <-ctx.Done():
			return
		case <-r.ownerChanged:
		case <-wake:
		case <-timer.C:
		}
		if time.Since(retriedAt) >= announceInterval {
			retriedAt = time.Now()
			r.retryUnresolved()
		}
		err := s.reportAll(ctx, p)
		if err != nil {
			failed = true
			s.deps.Logger.Debug("a directory owner cannot be reached; it is retried", "partition", p.number, "node", r.owner, "error", err)
			timer.Reset(retry.Next())
			continue
		}
		failed = false
		retry.Reset()
		timer.Reset(announceInterval)
	}
}

// retryUnresolved asks again for statuses that the owner did not know.
func (r *reporter) retryUnresolved() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.unresolved {
		r.pending[k] = struct{}{}
	}
	r.unresolved = nil
}

var (
	errNoOwner      = errors.New("no node owns the partition at the moment")
	errUnregistered = errors.New("the owner needs a full sync")
)

// reportAll sends all that is pending. If nothing is, and the owner has not confirmed the registration lately, it sends an empty
// announcement.
func (s *Service) reportAll(ctx context.Context, p *partition) error {
	r := &p.reporter
	node := s.deps.Cluster.Owner(p.number)
	if node != r.owner {
		r.owner, r.term = node, 0
	}
	if node != s.deps.Node {
		r.mu.Lock()
		r.local = false
		r.mu.Unlock()
	}
	switch {
	case node == "":
		r.term = 0
		return errNoOwner
	case node == s.deps.Node:
		return s.adoptLocal(p)
	}
	if r.term == 0 {
		if err := s.fullSync(ctx, p); err != nil {
			return err
		}
	}
	if r.fresh() {
		return nil
	}
	for {
		more, err := s.sendBatch(ctx, p)
		if err != nil || !more {
			return err
		}
	}
}

// adoptLocal confirms all that is pending, because this node is the owner.
func (s *Service) adoptLocal(p *partition) error {
	term := p.owner.current()
	r := &p.reporter
	r.mu.Lock()
	if term == 0 { // the ownership has not begun, or has ended
		r.local, r.term = false, 0
		r.mu.Unlock()
		return errNoOwner
	}
	if r.term == term && !r.recheck && len(r.pending) == 0 {
		r.mu.Unlock()
		return nil
	}
	started := r.term != term
	recheck := started || r.recheck
	r.local, r.term, r.recheck, r.unresolved = true, term, false, nil
	confirmed := r.pending
	r.pending = map[key]struct{}{}
	r.releaseWaiters(confirmed)
	r.mu.Unlock()
	for k := range confirmed {
		if k.about == aboutVisibility {
			s.change(id.User(k.id), true)
		}
	}
	if started {
		s.resetStatuses(p.number)
	}
	if recheck {
		s.deps.Cluster.Recheck(p.number)
	}
	return nil
}

// releaseWaiters wakes those who wait for what is confirmed now. The caller holds mu.
func (r *reporter) releaseWaiters(confirmed map[key]struct{}) {
	for k := range confirmed {
		if _, again := r.pending[k]; again {
			continue
		}
		for _, w := range r.waiters[k] {
			close(w)
		}
		delete(r.waiters, k)
	}
}

// fullSync starts a new registration, and marks all that the owner has to know as pending.
func (s *Service) fullSync(ctx context.Context, p *partition) error {
	r := &p.reporter
	r.seq++
	a, err := s.request(ctx, r.owner, (&announcement{node: s.deps.Node, process: s.process, part: uint64(p.number), seq: r.seq}).append(nil))
	if err != nil {
		return err
	}
	if a.code != answerAccepted || a.term == 0 {
		return errNoOwner
	}
	r.term, r.unresolved = a.term, nil
	all := s.localKeys(p.number)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range all {
		r.pending[k] = struct{}{}
	}
	r.recheck = true
	return nil
}

// localKeys returns all of this node that the owner of a partition has to know.
func (s *Service) localKeys(partition int) (list []key) {
	of := func(n uint64) bool { return s.deps.Cluster.Partition(n) == partition }
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.RLock()
		for u, p := range sh.users {
			if of(uint64(u)) && (p.remote == nil || len(p.sessions) > 0) {
				list = append(list, key{aboutUser, uint64(u)})
			}
		}
		sh.mu.RUnlock()
	}
	s.mu.Lock()
	for u := range s.watched {
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

// sendBatch sends a part of what is pending, and reports whether there is more.
func (s *Service) sendBatch(ctx context.Context, p *partition) (more bool, err error) {
	r := &p.reporter
	r.seq++
	at := time.Now()
	a := announcement{node: s.deps.Node, process: s.process, part: uint64(p.number), term: r.term, seq: r.seq}
	batch := r.nextBatch()
	a.complete = len(batch) < maxEntries
	for k := range batch {
		a.entries = append(a.entries, s.currentEntry(k))
	}
	answer, err := s.request(ctx, r.owner, a.append(nil))
	watched := slices.DeleteFunc(a.entries, func(n entry) bool { return n.about != aboutWatch || !n.on })
	switch {
	case err != nil:
	case answer.code == answerNotOwner:
		r.term, err = 0, errNoOwner
	case answer.code != answerAccepted:
		r.term, err = 0, errUnregistered
	case len(answer.statuses) != len(watched):
		err = errWire
	}
	r.mu.Lock()
	r.inFlight = nil
	if err != nil {
		for k := range batch {
			r.pending[k] = struct{}{}
		}
		r.mu.Unlock()
		return false, err
	}
	r.releaseWaiters(batch)
	if a.complete {
		r.confirmed = confirmation{r.owner, r.term, at}
	}
	recheck := r.recheck && a.complete
	if recheck {
		r.recheck = false
	}
	more = len(r.pending) > 0
	r.mu.Unlock()
	r.unresolved = append(r.unresolved, s.applyStatuses(watched, answer.statuses)...)
	if recheck {
		s.deps.Cluster.Recheck(p.number)
	}
	return more, nil
}

// nextBatch returns what to send next: at most maxEntries of what is pending.
func (r *reporter) nextBatch() map[key]struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.pending) < maxEntries {
		r.inFlight, r.pending = r.pending, map[key]struct{}{}
		return r.inFlight
	}
	r.inFlight = make(map[key]struct{}, maxEntries)
	for k := range r.pending {
		if len(r.inFlight) == maxEntries {
			break
		}
		r.inFlight[k] = struct{}{}
		delete(r.pending, k)
	}
	return r.inFlight
}

// ownerPolicy: a reporter tries again, perhaps with another owner, and a query is answered without what is unknown.
var ownerPolicy = nodecall.FailFast{Timeout: announceTimeout}

// request sends a request to an owner.
func (s *Service) request(ctx context.Context, node string, data []byte) (answer, error) {
	b, err := ownerPolicy.Ask(ctx, s.deps.Cluster.Bus, ownerSubject(node), data)
	if err != nil {
		return answer{}, err
	}
	return readAnswer(b)
}

// currentEntry returns the current state of something.
func (s *Service) currentEntry(k key) entry {
	n := entry{key: k}
	switch k.about {
	case aboutUser:
		sh := s.shard(id.User(k.id))
		sh.mu.RLock()
		n.age = 2 * s.grace() // for an unknown user: the grace has passed
		if p := sh.users[id.User(k.id)]; p != nil {
			n.on, n.loggedOut = len(p.sessions) > 0, p.loggedOut
			last := p.lastFrame.Load()
			if n.away = p.isAwayHere(); n.away {
				last = p.lastActiveHere()
			}
			if len(p.sessions) == 0 {
				n.away = p.graceAway
			}
			n.age = s.now() - min(s.now(), last)
		}
		sh.mu.RUnlock()
	case aboutWatch:
		s.mu.Lock()
		_, n.on = s.watched[id.User(k.id)]
		s.mu.Unlock()
	case aboutFollow:
		n.on = s.followedHere(id.Conversation(k.id))
	}
	return n
}

// listen handles requests and notices of other nodes until stop is called.
func (s *Service) listen() (stop func(), err error) {
	if s.partitions == nil {
		return func() {}, nil
	}
	c := s.deps.Cluster
	stopResponder, err := c.Bus.Respond(ownerSubject(s.deps.Node), s.handleRequest)
	if err != nil {
		return nil, err
	}
	unsubscribe, err := c.Bus.Subscribe(changesSubject(s.deps.Node), s.handleChanges, s.handleMissedChanges)
	if err != nil {
		stopResponder()
		return nil, err
	}
	return func() { stopResponder(); unsubscribe() }, nil
}
