package serverevent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/bulkhead"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/webhook"
)

// retryPolicy is smaller in tests.
type retryPolicy struct {
	// attempts is how often an event is delivered before it becomes a dead letter.
	attempts int
	// first and longest are the delays between attempts.
	first, longest time.Duration
	// events and bytes of one delivery.
	events, bytes int
	// pause is how long a round of deliveries rests, so that it finds more events.
	pause time.Duration
}

// defaultRetryPolicy: 20 attempts, with delays that double from 1 s to 5 min, take about an hour.
func defaultRetryPolicy() retryPolicy {
	return retryPolicy{attempts: 20, first: time.Second, longest: 5 * time.Minute, events: 100, bytes: 256 << 10, pause: 20 * time.Millisecond}
}

const (
	// deliverInterval is how often the deliverer looks for consumers that another node has changed, and for events that were not announced.
	deliverInterval = time.Second
	// maxDeliveries bounds the streams of all consumers that are worked on at once, and maxConsumerDeliveries those of one. Consumers have shares of them
	// (package bulkhead), so that slow webhooks, however many they are, leave some to the others. A request that took slowAfter is slow.
	maxDeliveries         = 128
	maxConsumerDeliveries = 16
	firstDeliveries       = 4
	slowAfter             = time.Second
	// deliverScan bounds the entries that are read for one delivery; deliverRounds the deliveries before others have their turn.
	deliverScan   = 1024
	deliverRounds = 16
)

// deliverer delivers the streams of this node's partitions to webhooks.
type deliverer struct {
	wake   chan struct{}
	active atomic.Bool                // there are webhooks
	slots  *bulkhead.Bulkhead[string] // by consumer
	rounds int                        // of startDeliveries, which alone uses it

	mu       sync.Mutex // guards the fields below
	grants   [timeline.Partitions]cluster.Grant
	lanes    map[laneKey]*lane
	hooks    map[string]*hook // by consumer
	outdated bool             // the consumers must be read again

	isSlow func(took time.Duration) bool // of a request; tests have another one
}

type laneKey struct {
	consumer string
	stream   timeline.Key
}

// lane is the progress of a consumer in one stream. Its fields are used by the deliverer while it is not busy, and by its delivery while it is.
type lane struct {
	busy       bool // guarded by deliverer.mu, as is retryAt
	retryAt    time.Time
	term       uint64 // of the grant under which the position was read
	generation uint64
	known      bool // position is that of the database, or later
	position   uint64
	saved      uint64
	attempts   int    // of the events after position
	singlyTo   uint64 // events up to here are delivered one by one, so that only those which fail become dead letters
}

// hook is a consumer's webhook.
type hook struct {
	*webhook.Hook
	config webhook.Config
	failed atomic.Bool // the last delivery failed
}

// delivery to a webhook, of one stream.
type delivery struct {
	*hook
	asked bool // there was a request
	slow  bool // and one was slow
}

func (d *deliverer) init() {
	d.wake, d.outdated = make(chan struct{}, 1), true
	d.lanes, d.hooks = map[laneKey]*lane{}, map[string]*hook{}
	d.isSlow = func(took time.Duration) bool { return took >= slowAfter }
	d.slots = bulkhead.New[string](bulkhead.Config{Slots: maxDeliveries, First: firstDeliveries, Most: maxConsumerDeliveries})
}

func (d *deliverer) setGrant(part int, g cluster.Grant) {
	d.mu.Lock()
	d.grants[part] = g
	d.mu.Unlock()
	wakeup.Signal(d.wake)
}

// reload makes the next round read the consumers again.
func (d *deliverer) reload() {
	d.mu.Lock()
	d.outdated = true
	d.mu.Unlock()
	wakeup.Signal(d.wake)
}

// posted is called for each post to an inbox or an event stream.
func (d *deliverer) posted(_ id.User, _ bool) {
	if d.active.Load() {
		wakeup.Signal(d.wake)
	}
}

// runDeliverer delivers until ctx ends. Deliveries run in group.
func (s *Service) runDeliverer(ctx context.Context, group *sync.WaitGroup) {
	d := &s.deliverer
	defer d.closeHooks()
	defer group.Wait()
	var consumers []*consumer
	var readAt time.Time
	retry := backoff.New(time.Second, 30*time.Second)
	for {
		d.mu.Lock()
		outdated := d.outdated || time.Since(readAt) >= deliverInterval
		d.outdated = false
		d.mu.Unlock()
		err := error(nil)
		if outdated {
			readAt = time.Now()
			if consumers, err = s.webhookConsumers(ctx); err == nil {
				err = d.setHooks(s, consumers)
			}
		}
		if err == nil {
			err = s.startDeliveries(ctx, group, consumers)
		}
		rest := deliverInterval
		if err != nil && ctx.Err() == nil {
			s.deps.Logger.Warn("events could not be delivered to webhooks; it is tried again", "error", err)
			rest = retry.Next()
		} else {
			retry.Reset()
		}
		if backoff.SleepOrWake(ctx, rest, d.wake) != nil || backoff.Sleep(ctx, s.retry.pause) != nil {
			return
		}
	}
}

// webhookConsumers returns the consumers with webhooks.
func (s *Service) webhookConsumers(ctx context.Context) (list []*consumer, err error) {
	all, err := s.consumers(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.url == "" {
			continue
		}
		if c.retrying, err = s.retryingStreams(ctx, c.name); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	s.deliverer.active.Store(len(list) > 0)
	return list, nil
}

// setHooks makes the webhooks of consumers, and forgets those and the lanes of others.
func (d *deliverer) setHooks(s *Service, consumers []*consumer) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	present := map[string]bool{}
	for _, c := range consumers {
		present[c.name] = true
		config := s.hookConfig(c.url, c.secret)
		if h := d.hooks[c.name]; h != nil && h.config == config {
			continue
		}
		made, err := webhook.New(config, webhook.Kind{Kind: outgoing.EventWebhook, Calls: s.deps.Calls}, s.deps.Clock)
		if err != nil {
			return err
		}
		h := &hook{Hook: made, config: config}
		h.failed.Store(c.lastError != "")
		if old := d.hooks[c.name]; old != nil {
			old.Close()
			for k, l := range d.lanes {
				if k.consumer == c.name {
					l.retryAt = time.Time{} // the new address may work
				}
			}
		}
		d.hooks[c.name] = h
	}
	for name, h := range d.hooks {
		if !present[name] && d.slots.InUse(name) == 0 {
			h.Close()
			delete(d.hooks, name)
		}
	}
	for k, l := range d.lanes {
		if !l.busy && (!present[k.consumer] || !d.grants[k.stream.Partition()].Held()) {
			delete(d.lanes, k)
		}
	}
	return nil
}

func (d *deliverer) closeHooks() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.hooks {
		h.Close()
	}
}

// startDeliveries starts a delivery for each stream of this node that has something to deliver and may be worked on.
func (s *Service) startDeliveries(ctx context.Context, group *sync.WaitGroup, consumers []*consumer) error {
	if len(consumers) == 0 {
		return nil
	}
	s.deliverer.rounds++
	first := s.deliverer.rounds % len(consumers) // each in its turn takes the slots that are free
	for _, c := range append(consumers[first:len(consumers):len(consumers)], consumers[:first]...) {
		keys := s.deliverer.idleStreams(c)
		tails, err := s.tails(ctx, keys)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if s.startDelivery(ctx, group, c, k, tails[k], c.retrying[k]) {
				delete(c.retrying, k)
			}
		}
	}
	return nil
}

// idleStreams returns the streams of a consumer that this node owns, nobody works on, and whose next attempt is due.
func (d *deliverer) idleStreams(c *consumer) (keys []timeline.Key) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range c.streams() {
		if !d.grants[k.Partition()].Held() {
			continue
		}
		if l := d.lanes[laneKey{c.name, k}]; l == nil || !l.busy && !now.Before(l.retryAt) {
			keys = append(keys, k)
		}
	}
	return keys
}

// startDelivery starts a delivery of a stream if there is something to deliver and room.
func (s *Service) startDelivery(ctx context.Context, group *sync.WaitGroup, c *consumer, k timeline.Key, tail uint64, retrying bool) (started bool) {
	d := &s.deliverer
	d.mu.Lock()
	defer d.mu.Unlock()
	grant, h := d.grants[k.Partition()], &delivery{hook: d.hooks[c.name]}
	l := d.lanes[laneKey{c.name, k}]
	if l == nil {
		l = &lane{}
		d.lanes[laneKey{c.name, k}] = l
	}
	if l.term != grant.Term || l.generation != c.generation {
		*l = lane{term: grant.Term, generation: c.generation}
	}
	if !grant.Held() || l.busy || l.known && l.position >= tail && !retrying || tail == 0 && !retrying || !d.slots.TryAcquire(c.name) {
		return false
	}
	l.busy = true
	group.Go(func() {
		within, cancel := grant.During(ctx)
		defer cancel()
		delay, err := s.work(within, c, h, k, l, retrying)
		if err != nil && within.Err() == nil {
			s.deps.Logger.Warn("events of a stream could not be delivered; it is tried again", "consumer", c.name, "stream", k.ID, "error", err)
			delay = max(delay, time.Second)
		}
		d.mu.Lock()
		l.busy = false
		l.retryAt = time.Now().Add(delay)
		d.mu.Unlock()
		if h.asked {
			d.slots.Release(c.name, h.slow)
		} else {
			d.slots.Cancel(c.name)
		}
		wakeup.Signal(d.wake) // others may have waited for the slot
		if delay > 0 {
			time.AfterFunc(delay, func() { wakeup.Signal(d.wake) })
		}
	})
	return true
}

// work delivers what a stream has. It returns the delay before the next attempt, after a failure.
func (s *Service) work(ctx context.Context, c *consumer, h *delivery, k timeline.Key, l *lane, retrying bool) (delay time.Duration, err error) {
	if !l.known {
		positions, err := s.positions(ctx, c.name)
		if err != nil {
			return 0, err
		}
		l.position, l.saved, l.known = positions[k], positions[k], true
	}
	if retrying {
		var refused *outgoing.Refused
		if err := s.retryDead(ctx, c, h, k); errors.As(err, &refused) {
			return refused.Delay(0), nil
		} else if err != nil {
			return 0, err
		}
	}
	for range deliverRounds {
		more, delay, err := s.deliverNext(ctx, c, h, k, l)
		if errors.Is(err, errMoved) {
			l.known = false
			s.deliverer.reload()
			return 0, nil
		}
		if err != nil || delay > 0 || !more {
			return delay, err
		}
	}
	return 0, nil
}

// deliverNext delivers the next events of a stream. more: there are others.
func (s *Service) deliverNext(ctx context.Context, c *consumer, h *delivery, k timeline.Key, l *lane) (more bool, delay time.Duration, err error) {
	most := bounds{events: s.retry.events, bytes: s.retry.bytes, scan: deliverScan}
	if l.singlyTo > l.position {
		most.events = 1
	}
	b, err := s.readStream(ctx, c, k, l.position, most)
	if err != nil {
		return false, 0, err
	}
	if len(b.events) > 0 || b.gap {
		failpoint.Hit("serverevent/read")
		failure := s.post(ctx, c, h, b, false)
		if failure != nil && ctx.Err() != nil {
			return false, 0, nil // the partition has moved, or the node stops: it was no attempt
		}
		if failure != nil {
			return s.failedDelivery(ctx, c, k, l, b, failure)
		}
		failpoint.Hit("serverevent/posted")
	}
	l.position, l.attempts = b.position, 0
	if l.position > l.saved && (len(b.events) > 0 || b.scanned >= deliverScan) {
		if err := s.confirm(ctx, c.name, c.generation, map[timeline.Key]uint64{k: l.position}, nil); err != nil {
			return false, 0, err
		}
		l.saved = l.position
	}
	return !b.end && b.scanned > 0, 0, nil
}

// failedDelivery makes a dead letter of events that have failed too often. Otherwise they are delivered again after a delay.
func (s *Service) failedDelivery(ctx context.Context, c *consumer, k timeline.Key, l *lane, b *batch, failure error) (more bool, delay time.Duration, err error) {
	var refused *outgoing.Refused
	if errors.As(failure, &refused) { // no attempt
		return false, refused.Delay(0), nil
	}
	l.attempts++
	if l.attempts < s.retry.attempts || len(b.events) > 1 {
		l.singlyTo = max(l.singlyTo, b.position)
		return false, backoff.After(l.attempts, s.retry.first, s.retry.longest), nil
	}
	dead := deadLetter{consumer: c.name, stream: k, first: l.position, last: b.position, events: len(b.events), why: webhook.ErrorText(failure), attempts: l.attempts}
	if err := s.bury(ctx, c, &dead); err != nil {
		return false, 0, err
	}
	s.deps.Logger.Error("a webhook did not accept events in all attempts; they are dead letters now: ListDeadEvents shows them, RetryDeadEvents delivers them again", "consumer", c.name, "dead", dead.id, "error", failure)
	l.position, l.saved, l.attempts = b.position, b.position, 0
	return !b.end, 0, nil
}

var errGone = errs.New(errs.NotFound, "no_dead_events", "there is no dead letter of this id; it may have been delivered")
