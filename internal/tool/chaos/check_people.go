package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// acknowledged returns the acknowledged sends in order of their acknowledgement.
func (m *analysis) acknowledged() []operation {
	var list []operation
	for _, o := range m.ops {
		if o.F == FSend && o.how == Ok {
			list = append(list, o)
		}
	}
	slices.SortStableFunc(list, func(a, b operation) int { return cmp.Compare(a.end, b.end) })
	return list
}

// checkSession is INV7: a user's next read on any node returns the user's own acknowledged messages, and a read cursor never goes back.
func checkSession(m *analysis) *Verdict {
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
					v.violate("%s read conversation %d on %s at %s and got %d as the last seq, after its own %q at %d was acknowledged at %s", o.Proc, o.Conv, o.Node, at(o.begin), o.Seq, s.Text, s.Seq, at(s.end))
					break
				}
			}
		case o.F == FMark || o.F == FCursor:
			for _, c := range cursors[k] {
				if c.end < o.begin && c.N > o.N {
					v.violate("the read cursor of %s in conversation %d was %d on %s at %s, and %d on %s at %s", o.Proc, o.Conv, c.N, c.Node, at(c.end), o.N, o.Node, at(o.begin))
					break
				}
			}
			cursors[k] = append(cursors[k], o)
			reads++
		}
	}
	v.What = fmt.Sprintf("%d reads of histories and cursors", reads)
	return v
}

// stays reports whether a user who sees seq as the last one is still a member after seq.
func (m *analysis) stays(user, conv, seq uint64) bool {
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

// checkConverged is INV8: a device that syncs from zero gets what the histories contain. INV1 checks the same for its live stream.
func checkConverged(m *analysis) *Verdict {
	v := verdict("INV8", "devices converge")
	zero := m.shownOn(FZero)
	entries := m.reportMissing(v, "synced from zero, lacks", func(proc string, c *conversation, p place) bool { return !c.large && !zero[proc][p] }, func(string, *conversation, place) string {
		return "its stream lacks it"
	})
	for _, e := range m.events {
		if e.F == FReset {
			v.violate("%s was reset, or gave up, at %s %s", e.Proc, at(e.T), e.Err)
		}
	}
	v.What = fmt.Sprintf("%d devices, %d entries synced from zero; INV1 checks the live streams", len(m.about.Owners), entries)
	return v
}

// checkUnread is INV9: at the end, each node's unread count is the number of messages of others after the read cursor.
func checkUnread(m *analysis) *Verdict {
	v := verdict("INV9", "unread counts")
	counts := 0
	for _, e := range m.events {
		c := m.logs[e.Conv]
		if e.F != FUnread || c == nil {
			continue
		}
		counts++
		want := uint64(0)
		for _, x := range c.entries {
			if x.seq > e.Seq && x.text != "" && x.from != e.User && c.member(e.User, x.seq) {
				want++
			}
		}
		if want != e.N {
			v.violate("unread count on %s of user %d: got %d in conversation %d after seq %d, want %d", e.Node, e.User, e.N, e.Conv, e.Seq, want)
		}
	}
	v.What = fmt.Sprintf("%d counts", counts)
	if counts == 0 {
		v.State = Unknown
	}
	return v
}

// checkRecalls is INV10: no read that began after an edit or a recall was acknowledged returns the text from before, and at the end every node has the
// texts that were acknowledged, and that nobody tried to change.
func checkRecalls(m *analysis) *Verdict {
	v := verdict("INV10", "recalls and edits are honoured")
	changes, tried, stays := map[string]operation{}, map[string]bool{}, map[string]bool{}
	for _, o := range m.ops {
		switch o.F {
		case FWord:
			stays[o.Text] = o.how == Ok
		case FEdit, FRecall:
			tried[o.Text] = true
			if o.how != Ok {
				continue
			}
			changes[o.Text] = o
			if o.Becomes != "" {
				stays[o.Becomes] = true
			}
		}
	}
	reads, has := 0, map[string]map[string]bool{} // by node
	for _, e := range m.events {
		o, changed := changes[e.Text]
		switch {
		case e.F == FShown:
			reads++
			if began := time.Duration(e.N); changed && o.end < began {
				v.violate("%s on %s showed %q at %s, after its %s was acknowledged by %s at %s", e.Proc, e.Node, e.Text, at(began), o.F, o.Node, at(o.end))
			}
		case e.F == FStays:
			if has[e.Node] == nil {
				has[e.Node] = map[string]bool{}
			}
			has[e.Node][e.Text] = true
			if changed {
				v.violate("the history on %s has %q at the end; its %s was acknowledged by %s at %s", e.Node, e.Text, o.F, o.Node, at(o.end))
			}
		}
	}
	alive := 0
	for _, word := range slices.Sorted(maps.Keys(stays)) {
		if !stays[word] || tried[word] {
			continue
		}
		alive++
		for _, n := range slices.Sorted(maps.Keys(has)) {
			if !has[n][word] {
				v.violate("the history on %s lacks %q, which was acknowledged, and which nobody changed", n, word)
			}
		}
	}
	v.What = fmt.Sprintf("%d edits and recalls, %d reads of texts that were being changed, %d texts on %d nodes at the end", len(changes), reads, alive, len(has))
	if len(changes) == 0 || len(has) == 0 {
		v.State = Unknown
	}
	return v
}

// checkBlocks is INV11: no message is stored that was sent after a block was acknowledged and before it was removed.
func checkBlocks(m *analysis) *Verdict {
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
	v.What = fmt.Sprintf("%d one-to-one messages, %d pairs of users with blocks", sends, len(changes))
	if sends == 0 {
		v.State = Unknown
	}
	return v
}

// blocks returns the block that was in force from begin to end, if there is one: it was acknowledged before begin, and no unblock began
// until end. A retried block counts as well.
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

// checkMembership is INV12: no user receives or reads entries stored before joining or after leaving, or writes then.
func checkMembership(m *analysis) *Verdict {
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
			v.violate("%s (user %d) received %d:%d (%q, %s) at %s; its membership is %v", e.Proc, e.User, e.Conv, e.Seq, e.Text, e.F, at(e.T), c.members[e.User])
		}
	}
	for _, c := range m.conversations() {
		for _, e := range c.entries {
			if e.text != "" && !c.member(e.from, e.seq) {
				v.violate("%q of user %d is stored at %d:%d; its membership is %v", e.text, e.from, c.id, e.seq, c.members[e.from])
			}
		}
	}
	v.What = fmt.Sprintf("%d observations", seen)
	return v
}

// checkIDs is INV13: no id is used twice. Times in entries are not checked, because the runs make clocks jump.
func checkIDs(m *analysis) *Verdict {
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

// checkRegisters is INV16 for profiles, which are registers. Porcupine searches for an order that explains all reads and writes.
func checkRegisters(m *analysis) *Verdict {
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
		// An operation that has not ended may take effect at any time.
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
			v.violate("the profile of user %d: no linearization explains its %d reads and writes", user, len(ops))
		case porcupine.Unknown:
			if v.State == Holds {
				v.State = Unknown
			}
		}
	}
	v.What = fmt.Sprintf("%d reads and writes of %d profiles; rialto verify finds the traces of concurrent lease holders", count, len(of))
	return v
}
