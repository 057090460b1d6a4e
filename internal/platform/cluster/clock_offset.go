package cluster

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
)

// clockWindow is the least time for which a bound from a probe is used. The greatest is twice as long.
const clockWindow = 30 * time.Second

// ClockOffsets knows how far the clocks of other nodes are behind this node's. A time that another node wrote down looks older here by so much.
//
// All that it knows are lower bounds, so slow probes never make a clock look further behind than it is. A probe shows two bounds. The clock of the
// asked node is behind by at least the asker's time of the question minus the time in the answer. The asker's clock is behind by at least the time in
// the answer minus the asker's time of its arrival; the asker reports this bound with its next question. Nodes without work are not probed: what is
// known of them comes with the answers of other nodes.
type ClockOffsets struct {
	node  string
	clock clock.Clock

	mu    sync.Mutex // guards peers
	peers map[string]*peerClock
}

// peerClock is what is known of one node's clock. A negative bound says how far ahead the clock is at most.
type peerClock struct {
	used     time.Time
	behind   windowMax // it is behind this node's clock by at least so much
	reported windowMax // the same, as that node reported it
	ahead    windowMax // this node's clock is behind it by at least so much
	furthest windowMax // some other node's clock is behind it by at least so much
}

// windowMax is the greatest duration that was added in the last one or two windows.
type windowMax struct {
	last, before time.Duration
	began        time.Time
}

// noBound is the value of windows in which nothing was added.
const noBound = time.Duration(-1 << 61)

func (w *windowMax) add(d time.Duration, now time.Time) {
	w.rotate(now)
	w.last = max(w.last, d)
}

func (w *windowMax) get(now time.Time) time.Duration {
	w.rotate(now)
	return max(w.last, w.before)
}

// rotate begins a new window when the last one is over.
func (w *windowMax) rotate(now time.Time) {
	switch age := now.Sub(w.began); {
	case age >= 2*clockWindow:
		w.last, w.before, w.began = noBound, noBound, now
	case age >= clockWindow:
		w.last, w.before, w.began = noBound, w.last, now
	}
}

// NewClockOffsets returns offsets that know nothing yet, and learn from the probes that carry their topic.
func NewClockOffsets(node string, c clock.Clock) *ClockOffsets {
	return &ClockOffsets{node: node, clock: c, peers: map[string]*peerClock{}}
}

// Topic is the question about clocks in each probe.
func (o *ClockOffsets) Topic(number byte) Topic {
	return Topic{ID: number, Ask: o.ask, Answer: o.answer}
}

// Behind is by how much, at least, the clock of the node that is furthest behind is behind this node's; 0 if none is.
func (o *ClockOffsets) Behind() (behind time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for _, p := range o.peers {
		behind = max(behind, p.behind.get(now), p.reported.get(now), p.furthest.get(now)+p.behind.get(now))
	}
	return behind
}

// direct is Behind of what this node knows at first hand. The caller holds mu.
func (o *ClockOffsets) direct(now time.Time) (behind time.Duration) {
	for node, p := range o.peers {
		behind = max(behind, p.behind.get(now), p.reported.get(now))
		if now.Sub(p.used) > 2*clockWindow {
			delete(o.peers, node)
		}
	}
	return behind
}

// peer returns what is known of a node. The caller holds mu.
func (o *ClockOffsets) peer(node string) *peerClock {
	p := o.peers[node]
	if p == nil {
		p = &peerClock{}
		o.peers[node] = p
	}
	p.used = time.Now()
	return p
}

func (o *ClockOffsets) ask(node string) (question []byte, answered func([]byte)) {
	asked := o.clock.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	own := max(o.peer(node).ahead.get(time.Now()), 0)
	question = append(binary.AppendUvarint(nil, uint64(own.Milliseconds())), o.node...)
	return question, func(answer []byte) { o.answered(node, asked, answer) }
}

// answered learns from an answer. One that cannot be read says nothing.
func (o *ClockOffsets) answered(node string, asked time.Time, answer []byte) {
	ms, n := binary.Uvarint(answer)
	if n <= 0 || ms > 1<<62 {
		return
	}
	furthest, m := binary.Uvarint(answer[n:])
	if m <= 0 || furthest > maxOffsetMs {
		return
	}
	there, now := time.UnixMilli(int64(ms)), time.Now()
	if asked.Sub(there).Abs() > maxClockError {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.peer(node)
	p.behind.add(asked.Sub(there)-time.Millisecond, now) // times are cut to milliseconds
	p.ahead.add(there.Sub(o.clock.Now()), now)
	p.furthest.add(time.Duration(furthest)*time.Millisecond, now)
}

// maxClockError is what no clock is off by. A duration has room for three times as much, and beyond would turn into one of the other sign.
const maxClockError = 100 * 365 * 24 * time.Hour

// maxOffsetMs is the greatest offset that a node may tell: a day.
const maxOffsetMs = 24 * 3600 * 1000

func (o *ClockOffsets) answer(question []byte) []byte {
	behind, n := binary.Uvarint(question)
	if n <= 0 || behind > maxOffsetMs || n == len(question) {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.peer(string(question[n:])).reported.add(time.Duration(behind)*time.Millisecond, now)
	answer := binary.AppendUvarint(nil, uint64(o.clock.Now().UnixMilli()))
	return binary.AppendUvarint(answer, uint64(min(o.direct(now).Milliseconds(), maxOffsetMs)))
}
