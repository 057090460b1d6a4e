package chaos

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Verdict on one invariant.
type Verdict struct {
	// Rule as in the table of docs/operating/chaos.md: INV1 to INV18.
	Rule string `json:"rule"`
	Name string `json:"name"`
	// State is "holds", "violated", "unknown" (which fails a run as well) or "not checked".
	State string `json:"state"`
	// What was looked at, or why it was not.
	What  string   `json:"what"`
	Found []string `json:"found,omitempty"`
	// More that was found than is listed.
	More int `json:"more,omitempty"`
}

// States of a verdict.
const (
	Holds      = "holds"
	Violated   = "violated"
	Unknown    = "unknown"
	NotChecked = "not checked"
)

const mostFound = 30

func (v *Verdict) violate(format string, args ...any) {
	v.State = Violated
	if len(v.Found) == mostFound {
		v.More++
		return
	}
	v.Found = append(v.Found, fmt.Sprintf(format, args...))
}

func verdict(rule, name string) *Verdict { return &Verdict{Rule: rule, Name: name, State: Holds} }

// operation of a client: from when it may have had its effect, and until when.
type operation struct {
	Event      // as it ended; where it did not, as it began
	begin, end time.Duration
	how        Type
}

const never = time.Duration(math.MaxInt64)

// entry of a conversation's log.
type entry struct {
	seq     uint64
	id      string
	from    uint64
	text    string
	control string
	users   []uint64
	timeMs  int64
}

// span of seqs in which a user is a member, both ends inside; to is the end of all where it is open.
type span struct{ from, to uint64 }

// conversation as its whole history says.
type conversation struct {
	id      uint64
	entries []entry // rising
	members map[uint64][]span
	large   bool
}

func (c *conversation) at(seq uint64) *entry {
	i, ok := slices.BinarySearchFunc(c.entries, seq, func(e entry, s uint64) int { return cmp.Compare(e.seq, s) })
	if !ok {
		return nil
	}
	return &c.entries[i]
}

func (c *conversation) member(user, seq uint64) bool {
	for _, s := range c.members[user] {
		if seq >= s.from && seq <= s.to {
			return true
		}
	}
	return false
}

// About a run that the events do not say.
type About struct {
	// Fixed conversations, which nobody joins or leaves; Large ones, which are in no stream; and Direct ones, of two.
	Fixed, Large, Direct map[uint64]bool
	// Owners of devices, by proc; Nodes are the nodes' names.
	Owners map[string]uint64
	Nodes  []string
	// Settle is how long the others may take to notice that a node has gone, Back how long all may take, after the last fault, to be
	// as quick as before. Noise is what a receipt may take without any fault.
	Settle, Back, Noise time.Duration
}

// devices in order.
func (a About) devices() []string {
	list := make([]string, 0, len(a.Owners))
	for proc := range a.Owners {
		list = append(list, proc)
	}
	slices.Sort(list)
	return list
}

// material of the checkers: a history, put in order.
type material struct {
	events []Event
	about  About
	ops    []operation
	sends  map[string][]operation // of each text
	logs   map[uint64]*conversation
}

// Check gives a verdict for each invariant. It is a function of its arguments alone.
func Check(events []Event, about About) []Verdict {
	m := gather(events, about)
	checks := []func(*material) *Verdict{
		lost, invented, doubled, sameOrder, gapFree, realTime, session, converged, unread, recalled, blocked, membership, ids,
		effects, media, registers, available, live, rolling, mixed,
	}
	list := make([]Verdict, 0, len(checks))
	for _, check := range checks {
		list = append(list, *check(m))
	}
	return list
}

func gather(events []Event, about About) *material {
	m := &material{events: events, about: about, sends: map[string][]operation{}, logs: map[uint64]*conversation{}}
	begun := map[uint64]int{}
	for _, e := range events {
		switch {
		case e.Op == 0:
			if e.F == FLog {
				m.log(e)
			}
		case e.Type == Invoke:
			begun[e.Op] = len(m.ops)
			m.ops = append(m.ops, operation{Event: e, begin: e.T, end: never, how: Info})
		default:
			if i, ok := begun[e.Op]; ok {
				o := &m.ops[i]
				o.Event, o.how = e, e.Type
				if e.Type != Info {
					o.end = e.T
				}
				delete(begun, e.Op)
			}
		}
	}
	for _, o := range m.ops {
		if o.F == FSend {
			m.sends[o.Text] = append(m.sends[o.Text], o)
		}
	}
	for id, c := range m.logs {
		slices.SortFunc(c.entries, func(a, b entry) int { return cmp.Compare(a.seq, b.seq) })
		c.large = about.Large[id]
		c.replay()
	}
	return m
}

// log takes over an entry of a whole history. Every node gives all of it; where they do not agree, sameOrder tells.
func (m *material) log(e Event) {
	c := m.logs[e.Conv]
	if c == nil {
		c = &conversation{id: e.Conv, members: map[uint64][]span{}}
		m.logs[e.Conv] = c
	}
	if n := len(c.entries); n == 0 || c.entries[n-1].seq < e.Seq {
		c.entries = append(c.entries, entry{e.Seq, e.ID, e.From, e.Text, e.Control, e.Users, e.TimeMs})
	} else if c.at(e.Seq) == nil {
		c.entries = append(c.entries, entry{e.Seq, e.ID, e.From, e.Text, e.Control, e.Users, e.TimeMs})
		slices.SortFunc(c.entries, func(a, b entry) int { return cmp.Compare(a.seq, b.seq) })
	}
}

// replay finds who was a member when.
func (c *conversation) replay() {
	for _, e := range c.entries {
		switch strings.TrimPrefix(e.control, "ACTION_") {
		case "CREATED", "JOINED":
			for _, u := range e.users {
				if s := c.members[u]; len(s) == 0 || s[len(s)-1].to != math.MaxUint64 {
					c.members[u] = append(s, span{e.seq, math.MaxUint64})
				}
			}
		case "LEFT", "REMOVED":
			for _, u := range e.users {
				if s := c.members[u]; len(s) > 0 && s[len(s)-1].to == math.MaxUint64 {
					s[len(s)-1].to = e.seq
				}
			}
		}
	}
}

// begun gives when the first try of a message began, and stored when the first of them was acknowledged.
func (m *material) begun(text string) (begin, stored time.Duration) {
	begin, stored = never, never
	for _, o := range m.sends[text] {
		begin = min(begin, o.begin)
		if o.how == Ok {
			stored = min(stored, o.end)
		}
	}
	return begin, stored
}

// texts that were sent, in order of their names, so that what is found comes in the same order each time.
func (m *material) texts() []string {
	list := make([]string, 0, len(m.sends))
	for t := range m.sends {
		list = append(list, t)
	}
	slices.Sort(list)
	return list
}

// conversations in order of their ids.
func (m *material) conversations() []*conversation {
	list := make([]*conversation, 0, len(m.logs))
	for _, c := range m.logs {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *conversation) int { return cmp.Compare(a.id, b.id) })
	return list
}
