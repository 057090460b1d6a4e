package simulator

import (
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// kind of an event.
type kind uint8

const (
	call    kind = iota // do
	tick                // a node sends a heartbeat
	write               // a heartbeat reaches the tables
	read                // their answer reaches the node
	apply               // changes reach the tables
	applied             // their answer reaches the node
	expire              // a node's grants may have ended
	act                 // a node writes to the store under a grant
	probe               // a node probes others
	probed              // the time of a probe is over
	accept              // a node accepts a connection
	attempt             // clients connect
	opened              // clients are connected
)

// event is something that happens at a time. a is the number of a node or a cohort, and epoch that of its process or its connection. b is a part.
type event struct {
	at    time.Duration
	order uint64 // of events at the same time
	kind  kind
	a, b  int32
	epoch uint32
	beat  *cluster.SimulatedHeartbeat
	do    func()
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.order < o.order }

// queue is a heap of events, with four children each.
type queue struct {
	heap  []event
	order uint64
}

func (q *queue) push(e event) {
	q.order++
	e.order = q.order
	i := len(q.heap)
	q.heap = append(q.heap, e)
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = e
}

func (q *queue) pop() (first event, ok bool) {
	if len(q.heap) == 0 {
		return event{}, false
	}
	first = q.heap[0]
	last := len(q.heap) - 1
	e := q.heap[last]
	q.heap[last] = event{}
	q.heap = q.heap[:last]
	if last == 0 {
		return first, true
	}
	i := 0
	for {
		least := 4*i + 1
		if least >= last {
			break
		}
		for c := least + 1; c < min(4*i+5, last); c++ {
			if q.heap[c].before(&q.heap[least]) {
				least = c
			}
		}
		if !q.heap[least].before(&e) {
			break
		}
		q.heap[i] = q.heap[least]
		i = least
	}
	q.heap[i] = e
	return first, true
}

// recentEvents is how many of the last notable events a violation shows.
const recentEvents = 40

// trace is a hash of all events and of what was noted, and the last notes.
type trace struct {
	hash  uint64
	notes [recentEvents]note
	count int
}

// note is a notable event. Its text is made when it is shown.
type note struct {
	at     time.Duration
	format string
	args   [3]any
}

func newTrace() trace { return trace{hash: 14695981039346656037} }

// mix adds a number to the hash.
func (t *trace) mix(x uint64) {
	t.hash ^= x
	t.hash *= 1099511628211
	t.hash ^= t.hash >> 29
}

func (t *trace) event(e *event) {
	t.mix(uint64(e.at))
	t.mix(uint64(e.kind)<<56 ^ uint64(uint32(e.a))<<24 ^ uint64(uint32(e.b)))
}

// note remembers a notable event, and adds its number to the hash. args are numbers and names.
func (s *simulation) note(number uint64, format string, args ...any) {
	s.trace.mix(number)
	n := note{at: s.now, format: format}
	copy(n.args[:], args)
	s.trace.notes[s.trace.count%recentEvents] = n
	s.trace.count++
}

// last returns the texts of the last notes, the oldest first.
func (t *trace) last() (list []string) {
	for i := max(t.count-recentEvents, 0); i < t.count; i++ {
		n := t.notes[i%recentEvents]
		var args []any
		for _, a := range n.args {
			if a != nil {
				args = append(args, a)
			}
		}
		list = append(list, fmt.Sprintf("%12.6f  ", n.at.Seconds())+fmt.Sprintf(n.format, args...))
	}
	return list
}
