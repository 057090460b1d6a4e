// Package canary checks continuously that messages are delivered.
//
// Each node has a canary, which is a user. It has a WebSocket to the public listener of each node, including its own, as a client has. Every few seconds it sends a
// probe through its own node, and records at which sockets, how late and how often the probe arrives. All times are measured by this node's clock. Late, lost and
// duplicate probes are logged, and counted for the node that should have delivered them.
//
// A probe is a signal in a conversation with no other member: it is stored, dispatched and pushed like any message, and never shown. Probes are deleted after an
// hour. The canary follows the protocol: after a hint it syncs, and the events that the sync returns count as delivered then.
//
// It does not count what it cannot know: probes that wait for a socket that breaks, probes that their node refused, probes that are in flight while a node drains, and the time
// while this process itself was paused.
//
// It imports no other service, no package of the platform and no engine: it is a client. Run and Metrics may be called from any goroutine, Run once.
package canary

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
)

// Accounts opens sessions of canaries.
type Accounts interface {
	OpenCanary(ctx context.Context, node string) (id.Caller, error)
	// CanaryToken returns a token for a connection that is opened now.
	CanaryToken(c id.Caller) (string, error)
}

// Conversations has the conversations of canaries.
type Conversations interface {
	// Open returns the conversation of a canary, which has no other member.
	Open(ctx context.Context, canary id.User) (id.Conversation, error)
	// DeleteBefore deletes messages from before a time, in milliseconds since 1970.
	DeleteBefore(ctx context.Context, c id.Conversation, ms int64) error
}

// Target is a node to which messages are to be delivered.
type Target struct {
	Node string
	// URL of its sockets.
	URL string
	// Fingerprint of the certificate at the URL, which need not be signed then; "": the certificate must be valid for the URL.
	Fingerprint string
}

// Deps are what a Service needs.
type Deps struct {
	Accounts      Accounts
	Conversations Conversations
	// Node is this node's name.
	Node string
	// Targets are the live nodes with sockets that do not drain, this one's included.
	Targets func() []Target
	// Draining reports whether this node drains: there are no probes then.
	Draining func() bool
	Clock    clock.Clock // of messages; delays are measured by the process's own
	Logger   *slog.Logger
}

// Config of the canary. The zero value is the documented default.
type Config struct {
	// Interval between two probes of a node; 0 is 10 s in a cluster. On a single node that keeps its data in its own directory 0 is none, so that its disk may rest.
	Interval time.Duration `yaml:"interval"`
	// Off: the node sends no probes. Default false.
	Off bool `yaml:"off"`
}

const (
	defaultInterval = 10 * time.Second
	minInterval     = 100 * time.Millisecond
	// LateAfter and LostAfter are when a probe counts as late, and as lost.
	LateAfter = 2 * time.Second
	LostAfter = 30 * time.Second

	checkInterval = 500 * time.Millisecond
	keepFor       = time.Hour       // how long probes are stored
	trimInterval  = 5 * time.Minute // between two deletions
	storeTime     = 5 * time.Second // for the database
)

// Check reports invalid settings.
func (c Config) Check() error {
	if c.Interval != 0 && c.Interval < minInterval {
		return fmt.Errorf("canary.interval is at least %v, not %v", minInterval, c.Interval)
	}
	return nil
}

// Runs reports whether a node has a canary.
func (c Config) Runs(clustered bool) bool { return !c.Off && (clustered || c.Interval != 0) }

// Service is the canary of a node.
type Service struct {
	deps     Deps
	interval time.Duration
	process  uint64 // distinguishes the probes of this process from earlier ones
	figures  *figures
	probes   *probes

	// The fields below belong to Run's goroutine.
	sockets      map[string]*socket
	round        uint64 // of the last probe
	caller       id.Caller
	conversation id.Conversation // 0: not opened yet
	trimmedAt    time.Time

	clientSeq clientSeqs // of this device
}

// New returns the canary of a node.
func New(deps Deps, config Config) *Service {
	f := newFigures()
	return &Service{deps: deps, interval: cmp.Or(config.Interval, defaultInterval), process: rand.Uint64(), figures: f, probes: newProbes(deps.Node, f, deps.Logger), sockets: map[string]*socket{}, clientSeq: clientSeqs{rounds: map[uint64]uint64{}}}
}

// Metrics are those of the canary.
func (s *Service) Metrics() prometheus.Collector { return s.figures }

// Run sends probes until ctx ends. Then it closes its sockets.
func (s *Service) Run(ctx context.Context) error {
	var connecting sync.WaitGroup
	defer connecting.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Nodes that started together send at different times.
	if backoff.Sleep(ctx, backoff.Spread(0, min(s.interval, time.Second))) != nil {
		return nil
	}
	rounds, checks := time.NewTicker(s.interval), time.NewTicker(checkInterval)
	defer rounds.Stop()
	defer checks.Stop()
	for s.nextRound(ctx, &connecting); ; {
		select {
		case <-rounds.C:
			s.nextRound(ctx, &connecting)
		case <-checks.C:
			if s.deps.Draining() {
				s.keepOnly(nil)
			}
			s.probes.check(time.Now())
		case <-ctx.Done():
			s.keepOnly(nil)
			return nil
		}
	}
}

// nextRound sends a probe to the nodes with an open socket, and opens sockets to the others.
func (s *Service) nextRound(ctx context.Context, connecting *sync.WaitGroup) {
	if s.deps.Draining() {
		s.keepOnly(nil)
		return
	}
	targets := map[string]Target{}
	for _, t := range s.deps.Targets() {
		targets[t.Node] = t
	}
	s.keepOnly(targets)
	if !s.open(ctx) {
		return
	}
	for node, t := range targets {
		if s.sockets[node] == nil {
			s.connect(ctx, t, connecting)
		}
	}
	s.probe(ctx)
	s.trim(ctx)
}

// open opens the canary's session and its conversation, unless they are open.
func (s *Service) open(ctx context.Context) bool {
	if s.conversation != 0 {
		return true
	}
	within, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	caller, err := s.deps.Accounts.OpenCanary(within, s.deps.Node)
	if err == nil {
		s.caller = caller
		s.conversation, err = s.deps.Conversations.Open(within, caller.User)
	}
	if err != nil && ctx.Err() == nil {
		s.deps.Logger.Warn("the delivery canary has no session; it tries again", "error", err)
	}
	return err == nil
}

// connect opens a socket in a goroutine, which ends when the node is no target any more, or ctx ends.
func (s *Service) connect(ctx context.Context, to Target, connecting *sync.WaitGroup) {
	ctx, cancel := context.WithCancel(ctx)
	k := &socket{service: s, target: to, caller: s.caller, cancel: cancel}
	s.sockets[to.Node] = k
	s.probes.add(to.Node)
	connecting.Go(func() { k.run(ctx) })
}

// keepOnly ends the sockets to all nodes but some, and to those whose address has changed or whose session has ended.
func (s *Service) keepOnly(targets map[string]Target) {
	for node, k := range s.sockets {
		if t, is := targets[node]; is && t == k.target && !k.rejected.Load() {
			continue
		} else if is && k.rejected.Load() {
			s.conversation = 0 // open another session
		} else if !is {
			s.probes.remove(node)
		}
		k.cancel()
		delete(s.sockets, node)
	}
}

// probe sends the next probe through this node.
func (s *Service) probe(ctx context.Context) {
	s.round++
	own := s.sockets[s.deps.Node]
	isOpen := own != nil && own.isOpen()
	if !s.probes.sent(s.round, time.Now(), isOpen) {
		return
	}
	if err := own.send(ctx, s.conversation, s.round); err != nil {
		s.probes.withdraw(s.round, false)
	}
}

// trim deletes old probes from time to time.
func (s *Service) trim(ctx context.Context) {
	if time.Since(s.trimmedAt) < trimInterval {
		return
	}
	s.trimmedAt = time.Now()
	within, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if err := s.deps.Conversations.DeleteBefore(within, s.conversation, s.deps.Clock.Now().Add(-keepFor).UnixMilli()); err != nil && ctx.Err() == nil {
		s.deps.Logger.Warn("old probes of the delivery canary could not be deleted", "error", err)
	}
}
