package bench

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// A storm is the load of large groups beside other conversations. Pairs of users chat at a low rate (--others): first while the groups are
// silent, and then beside them. Both are measured in the same run, so that the machine is the same.
//
// Members of a large group beyond --open do not show it, like most members of a large group. They know how far it has come, by pushes and
// hints, and pull nothing. All others check each message, whether it was pushed or pulled.

// othersResult compares the other conversations beside the load with themselves before it.
type othersResult struct {
	Pairs            int     `json:"pairs"`
	QuietAckP99      float64 `json:"quiet_ack_p99_ms"`
	AckP99           float64 `json:"ack_p99_ms"`
	QuietDeliveryP99 float64 `json:"quiet_delivery_p99_ms"`
	DeliveryP99      float64 `json:"delivery_p99_ms"`
	// Ratio of the two delivery times.
	Ratio float64 `json:"delivery_p99_ratio"`
	// Passed: nothing was lost, duplicated or reordered in either.
	Passed bool `json:"passed"`
}

// perPair is how many messages a second a pair of --others writes.
const perPair = 10

// newOthers prepares the load of other conversations, nil without --others.
func (l *load) newOthers(ctx context.Context) (*load, error) {
	c := l.config
	if c.others == 0 {
		return nil, nil
	}
	c.pairs, c.groups, c.others, c.devices, c.rate, c.whole, c.oneWay, c.history = c.others, 0, 0, 1, perPair*c.others, false, false, false
	c.allDevices = false
	o := &load{config: c, deploy: newDeployment(c.url, c.key, l.deploy.printer)}
	return o, o.prepareAll(ctx)
}

// runOthers has the other conversations chat while do runs, and returns what they measured.
func runOthers(ctx context.Context, o *load, do func()) (*result, error) {
	if o == nil {
		do()
		return nil, nil
	}
	var r *result
	var err error
	done := make(chan struct{})
	go func() { // ends with its load, which is bounded by --duration and --drain
		defer close(done)
		r, err = o.measure(ctx)
	}()
	do()
	<-done
	if err != nil {
		return nil, fmt.Errorf("the other conversations: %w", err)
	}
	return r, nil
}

// compareOthers returns nil without --others.
func (l *load) compareOthers(quiet, beside *result) *othersResult {
	if quiet == nil || beside == nil {
		return nil
	}
	o := &othersResult{Pairs: l.config.others, QuietAckP99: quiet.AckP99, AckP99: beside.AckP99, QuietDeliveryP99: quiet.DeliveryP99, DeliveryP99: beside.DeliveryP99,
		Passed: quiet.passed() && beside.passed()}
	if quiet.DeliveryP99 > 0 {
		o.Ratio = beside.DeliveryP99 / quiet.DeliveryP99
	}
	return o
}

func (o *othersResult) print(out io.Writer) {
	fmt.Fprintf(out, "others        %d pairs: delivery p99 %.2f ms, before the load %.2f ms (ratio %.2f); acknowledged p99 %.2f ms, before %.2f ms\n",
		o.Pairs, o.DeliveryP99, o.QuietDeliveryP99, o.Ratio, o.AckP99, o.QuietAckP99)
}

// known is what a member knows of a large group without showing it.
type known struct {
	seq    atomic.Uint64
	pushed atomic.Uint64 // messages that were pushed
	hinted atomic.Uint64 // entries that hints named and pushes did not bring
}

// takePush takes a pushed message, and returns whether it is new.
func (k *known) takePush(seq uint64) bool {
	if seq <= k.seq.Load() {
		return false
	}
	k.seq.Store(seq)
	k.pushed.Add(1)
	return true
}

// hint handles a Hint: one that names groups needs no sync.
func (c *client) hint(b []byte) error {
	var h gatewayv1.Hint
	if err := proto.Unmarshal(b, &h); err != nil {
		return err
	}
	if len(h.Conversations) == 0 {
		return c.catchUp()
	}
	c.hints++
	for _, t := range h.Conversations {
		if err := c.reach(t.Conversation, t.LastSeq); err != nil {
			return err
		}
	}
	return nil
}

// reach handles the news that a large group has come to seq.
func (c *client) reach(conversation, seq uint64) error {
	s := c.conversations[conversation]
	switch {
	case s == nil:
	case s.known == nil:
		if seq > s.last {
			return c.pull(s)
		}
	case seq > s.known.seq.Load():
		s.known.hinted.Add(seq - s.known.seq.Load())
		s.known.seq.Store(seq)
	}
	return nil
}

// knows reports whether all members that do not show their group know of its newest acknowledged message.
func (l *load) knows() bool {
	for _, c := range l.clients {
		for _, s := range c.conversations {
			if s.known != nil && s.known.seq.Load() < s.conversation.top.Load() {
				return false
			}
		}
	}
	return true
}

// countKnown adds to the result what members know who do not show their group.
func (c *client) countKnown(r *result) {
	r.Hints += c.hints
	for _, s := range c.conversations {
		if s.known == nil {
			continue
		}
		r.Hinted += s.known.hinted.Load()
		r.Pushed += s.known.pushed.Load()
		if top := s.conversation.top.Load(); s.known.seq.Load() < top {
			r.Lost += top - s.known.seq.Load()
		}
	}
}
