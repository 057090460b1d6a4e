package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// acknowledged sends, in order of their acknowledgement.
func (m *material) acknowledged() []operation {
	var list []operation
	for _, o := range m.ops {
		if o.F == FSend && o.how == Ok {
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b operation) int { return cmp.Compare(a.end, b.end) })
	return list
}

// session is INV7: one's own acknowledged message is in one's own next reading, at any node, and a read cursor never goes back.
func session(m *material) *Verdict {
	v := verdict("INV7", "sessions")
	type key struct{ user, conv uint64 }
	own, cursors := map[key][]operation{}, map[key][]operation{}
	reads := 0
	for _, o := range m.acknowledged() {
		own[key{o.User, o.Conv}] = append(own[key{o.User, o.Conv}], o)
	}
	for _, o := range m.ops {
		k := key{o.User, o.Conv}
		switch {
		case o.how != Ok:
		case o.F == FRead:
			reads++
			for _, s := range own[k] {
				if s.end < o.begin && s.Seq > o.Seq && m.stays(o.User, o.Conv, o.Seq) {
					v.violate("%s read %d by %s at %s and saw %d as its last, after its own %q at %d was acknowledged at %s", o.Proc, o.Conv, o.Node, at(o.begin), o.Seq, s.Text, s.Seq, at(s.end))
					break
				}
			}
		case o.F == FMark || o.F == FCursor:
			for _, c := range cursors[k] {
				if c.end < o.begin && c.N > o.N {
					v.violate("%s had its read cursor in %d at %d by %s at %s, and at %d by %s at %s", o.Proc, o.Conv, c.N, c.Node, at(c.end), o.N, o.Node, at(o.begin))
					break
				}
			}
			cursors[k] = append(cursors[k], o)
			reads++
		}
	}
	v.What = fmt.Sprintf("%d readings of histories and cursors", reads)
	return v
}

// stays tells whether a user who sees seq as a conversation's last is not one who had left with it.
func (m *material) stays(user, conv, seq uint64) bool {
	c := m.logs[conv]
	if c == nil {
		return false
	}
	for _, s := range c.members[user] {
		if s.to == seq {
			return false
		}
	}
	return true
}

// converged is INV8: what a device gets from zero is what the histories say, as is, by INV1, what it came to by its stream.
func converged(m *material) *Verdict {
	v := verdict("INV8", "devices converge")
	zero := m.shown(FZero)
	entries := m.lacking(v, "synced from zero, lacks", func(proc string, c *conversation, p place) bool { return !c.large && !zero[proc][p] }, func(string, *conversation, place) string {
		return "its stream lacks it"
	})
	for _, e := range m.events {
		if e.F == FReset {
			v.violate("%s was told to begin anew, or gave up, at %s %s", e.Proc, at(e.T), e.Err)
		}
	}
	v.What = fmt.Sprintf("%d devices, %d entries from zero; by the stream, see INV1", len(m.about.Owners), entries)
	return v
}

// unread is INV9: at rest, by every node, what is unread is what others have sent after the read cursor.
func unread(m *material) *Verdict {
	v := verdict("INV9", "unread counts")
	said := 0
	for _, e := range m.events {
		c := m.logs[e.Conv]
		if e.F != FUnread || c == nil {
			continue
		}
		said++
		want := uint64(0)
		for _, x := range c.entries {
			if x.seq > e.Seq && x.text != "" && x.from != e.User && c.member(e.User, x.seq) {
				want++
			}
		}
		if want != e.N {
			v.violate("%s says that %d has %d unread in %d after %d; there are %d", e.Node, e.User, e.N, e.Conv, e.Seq, want)
		}
	}
	v.What = fmt.Sprintf("%d counts", said)
	if said == 0 {
		v.State = Unknown
	}
	return v
}

func recalled(*material) *Verdict {
	return &Verdict{Rule: "INV10", Name: "recalls and edits are honoured", State: NotChecked, What: "there are no recalls or edits yet"}
}

// blocked is INV11: nothing that was sent after a block was acknowledged, and before it was lifted, arrives.
func blocked(m *material) *Verdict {
	v := verdict("INV11", "blocks are honoured")
	type pair struct{ by, of uint64 }
	changes := map[pair][]operation{}
	for _, o := range m.ops {
		if o.F == FBlock || o.F == FUnblock {
			changes[pair{o.User, o.Other}] = append(changes[pair{o.User, o.Other}], o)
		}
	}
	sends := 0
	for _, c := range m.conversations() {
		two := c.entries[0].users
		if !m.about.Direct[c.id] || len(two) != 2 {
			continue
		}
		for _, e := range c.entries {
			if e.text == "" {
				continue
			}
			other := two[0]
			if other == e.from {
				other = two[1]
			}
			begin, stored := m.begun(e.text)
			sends++
			if o := blocks(changes[pair{other, e.from}], begin, stored); o != nil {
				v.violate("%q of %d is stored at %d:%d; it was sent at %s, and %d had blocked its sender at %s", e.text, e.from, c.id, e.seq, at(begin), other, at(o.end))
			}
		}
	}
	v.What = fmt.Sprintf("%d messages between two, %d pairs who blocked", sends, len(changes))
	if sends == 0 {
		v.State = Unknown
	}
	return v
}

// blocks gives the block that held all the while from begin to end, where there is one: acknowledged before, and no lifting of it
// begun until then. A block that was tried again later says the same.
func blocks(changes []operation, begin, end time.Duration) *operation {
	var holds *operation
	for i, o := range changes {
		if o.F == FBlock && o.how == Ok && o.end < begin && (holds == nil || o.begin > holds.begin) {
			holds = &changes[i]
		}
	}
	if holds == nil {
		return nil
	}
	for _, o := range changes {
		if o.F == FUnblock && o.how != Fail && o.end > holds.begin && o.begin < end {
			return nil
		}
	}
	return holds
}

// membership is INV12: nobody is given, or reads, what was stored before they came or after they left, and nobody who is out writes.
func membership(m *material) *Verdict {
	v := verdict("INV12", "membership")
	seen := 0
	users := map[string]uint64{}
	for proc, user := range m.about.Owners {
		users[proc] = user
	}
	for _, e := range m.events {
		c := m.logs[e.Conv]
		if c == nil || e.Seq == 0 || e.Type == Invoke || e.F != FDeliver && e.F != FZero && e.F != FRead {
			continue
		}
		seen++
		if !c.member(e.User, e.Seq) {
			v.violate("%s (%d) saw %d:%d (%q, %s) at %s; a member it was in %v", e.Proc, e.User, e.Conv, e.Seq, e.Text, e.F, at(e.T), c.members[e.User])
		}
	}
	for _, c := range m.conversations() {
		for _, e := range c.entries {
			if e.text != "" && !c.member(e.from, e.seq) {
				v.violate("%q of %d is stored at %d:%d; a member it was in %v", e.text, e.from, c.id, e.seq, c.members[e.from])
			}
		}
	}
	v.What = fmt.Sprintf("%d sights", seen)
	return v
}

// ids is INV13: no id is given twice, and the times in entries are not far from those at which they were stored. Where clocks jump,
// times do, and only ids are judged.
func ids(m *material) *Verdict {
	v := verdict("INV13", "ids")
	seen := map[string]place{}
	for _, c := range m.conversations() {
		for _, e := range c.entries {
			if was, ok := seen[e.id]; ok {
				v.violate("%s is the id of %d:%d and of %d:%d", e.id, was.conv, was.seq, c.id, e.seq)
			}
			seen[e.id] = place{c.id, e.seq}
		}
	}
	v.What = fmt.Sprintf("%d ids of entries", len(seen))
	return v
}

func effects(*material) *Verdict {
	return &Verdict{Rule: "INV14", Name: "effects of feeds and videos", State: NotChecked, What: "there are no feeds or videos yet"}
}

// registers is INV16, of what is a register: profiles. Porcupine looks for an order that explains all reads and writes.
func registers(m *material) *Verdict {
	v := verdict("INV16", "registers are linearizable")
	type access struct {
		write bool
		text  string
	}
	of := map[uint64][]porcupine.Operation{}
	count := 0
	for _, o := range m.ops {
		if o.F != FWrite && o.F != FProfile || o.how == Fail || o.F == FProfile && o.how != Ok {
			continue
		}
		count++
		// One that is not known to have ended may have its effect at any time.
		of[o.Other] = append(of[o.Other], porcupine.Operation{ClientId: len(of[o.Other]), Input: access{o.F == FWrite, o.Text}, Output: o.Text, Call: int64(o.begin), Return: int64(o.end)})
	}
	model := porcupine.Model{
		Init: func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			if in := input.(access); in.write {
				return true, in.text
			}
			return state == output, state
		},
	}
	for user, ops := range of {
		switch porcupine.CheckOperationsTimeout(model, ops, time.Minute) {
		case porcupine.Illegal:
			v.violate("the profile of %d: no order explains its %d reads and writes", user, len(ops))
		case porcupine.Unknown:
			if v.State == Holds {
				v.State = Unknown
			}
		}
	}
	v.What = fmt.Sprintf("%d reads and writes of %d profiles; leases are checked by rialto verify, which finds what two writers would leave", count, len(of))
	return v
}
