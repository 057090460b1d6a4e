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
	// State is "holds", "violated", "unknown" (which also fails a run) or "not checked".
	State string `json:"state"`
	// What was checked, or why nothing was.
	What  string   `json:"what"`
	Found []string `json:"found,omitempty"`
	// More is the number of violations beyond those in Found.
	More int `json:"more,omitempty"`
}

// States of a verdict.
const (
	Holds      = "holds"
	Violated   = "violated"
	Unknown    = "unknown"
	NotChecked = "not checked"
)

const maxFound = 30

func (v *Verdict) violate(format string, args ...any) {
	v.State = Violated
	if len(v.Found) == maxFound {
		v.More++
		return
	}
	v.Found = append(v.Found, fmt.Sprintf(format, args...))
}

func verdict(rule, name string) *Verdict { return &Verdict{Rule: rule, Name: name, State: Holds} }

// operation of a client: it took effect at some time between begin and end.
type operation struct {
	Event      // the event that ended it, or the one that began it if it has not ended
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

// span of seqs in which a user is a member, both inclusive. to is the maximum if the user is still a member.
type span struct{ from, to uint64 }

// conversation according to its complete history.
type conversation struct {
	id      uint64
	entries []entry // ascending by seq
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

// RunInfo is what the checkers need to know about a run besides the events.
type RunInfo struct {
	// Fixed conversations have constant members, Large ones are in no stream, Direct ones have two members.
	Fixed, Large, Direct map[uint64]bool
	// Owners of devices, by proc. Nodes are the names of the nodes.
	Owners map[string]uint64
	Nodes  []string
	// Roles are the kinds of nodes, if they have different roles.
	Roles []string
	// DetectionTime is how long other nodes may take to notice that a node is down. RecoveryTime is how long receipts may stay slow after
	// the last fault. BaselineLatency is the latency of a receipt without any fault.
	DetectionTime, RecoveryTime, BaselineLatency time.Duration
}

// devices returns the devices in order.
func (a RunInfo) devices() []string {
	list := make([]string, 0, len(a.Owners))
	for proc := range a.Owners {
		list = append(list, proc)
	}
	slices.Sort(list)
	return list
}

// analysis is an indexed history, which the checkers share.
type analysis struct {
	events []Event
	about  RunInfo
	ops    []operation
	sends  map[string][]operation // by text
	logs   map[uint64]*conversation
}

// Check returns a verdict for each invariant. It depends only on its arguments.
func Check(events []Event, about RunInfo) []Verdict {
	m := gather(events, about)
	checks := []func(*analysis) *Verdict{
		checkLost, checkInvented, checkDuplicates, checkSameOrder, checkGapFree, checkRealTime, checkSession, checkConverged, checkUnread, checkRecalls, checkBlocks, checkMembership, checkIDs,
		checkEffects, checkMedia, checkRegisters, checkAvailability, checkLiveness, checkRollingRestart, checkRoles, checkMixedBuilds,
	}
	list := make([]Verdict, 0, len(checks))
	for _, check := range checks {
		list = append(list, *check(m))
	}
	return list
}

func gather(events []Event, about RunInfo) *analysis {
	m := &analysis{events: events, about: about, sends: map[string][]operation{}, logs: map[uint64]*conversation{}}
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

// log adds an entry of a complete history. Every node returns all entries; checkSameOrder finds differences between nodes.
func (m *analysis) log(e Event) {
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

// replay computes the members at each seq.
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

// begun returns when the first attempt to send a message began, and when its first acknowledgement arrived.
func (m *analysis) begun(text string) (begin, stored time.Duration) {
	begin, stored = never, never
	for _, o := range m.sends[text] {
		begin = min(begin, o.begin)
		if o.how == Ok {
			stored = min(stored, o.end)
		}
	}
	return begin, stored
}

// texts returns the texts that were sent, sorted so that violations are listed in a stable order.
func (m *analysis) texts() []string {
	list := make([]string, 0, len(m.sends))
	for t := range m.sends {
		list = append(list, t)
	}
	slices.Sort(list)
	return list
}

// conversations returns the conversations in order of their ids.
func (m *analysis) conversations() []*conversation {
	list := make([]*conversation, 0, len(m.logs))
	for _, c := range m.logs {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *conversation) int { return cmp.Compare(a.id, b.id) })
	return list
}
