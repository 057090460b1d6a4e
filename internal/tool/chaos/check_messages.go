package chaos

import (
	"fmt"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/historycheck"
)

// checkLost is INV1: acknowledged messages are in the log, and every device of every member has received them at the end.
func checkLost(m *analysis) *Verdict {
	v := verdict("INV1", "acknowledged messages are never lost")
	acked, unknown, recovered := 0, 0, 0
	in := map[string]bool{}
	for _, c := range m.logs {
		for _, e := range c.entries {
			in[e.text] = true
		}
	}
	for _, t := range m.texts() {
		switch _, stored := m.begun(t); {
		case stored != never:
			acked++
			if !in[t] {
				v.violate("%q was acknowledged at %s but is in no history", t, at(stored))
			}
		default:
			unknown++
			if in[t] {
				recovered++
			}
		}
	}
	devices := len(m.about.Owners)
	shown, zero := m.shownOn(FDeliver), m.shownOn(FZero)
	m.reportMissing(v, "never showed", func(proc string, _ *conversation, p place) bool { return !shown[proc][p] }, func(proc string, c *conversation, p place) string {
		switch {
		case c.large:
			return "the conversation is large, so it is in no stream"
		case zero[proc][p]:
			return "its stream has it"
		}
		return "its stream lacks it"
	})
	v.What = fmt.Sprintf("%d acknowledged messages, %d devices; of %d unacknowledged ones %d are stored", acked, devices, unknown, recovered)
	return v
}

// reportMissing reports the messages that members' devices lack, one line for each range of a conversation.
func (m *analysis) reportMissing(v *Verdict, what string, lacks func(proc string, c *conversation, p place) bool, why func(proc string, c *conversation, p place) string) (entries int) {
	for _, proc := range m.about.devices() {
		user := m.about.Owners[proc]
		for _, c := range m.conversations() {
			var first, last *entry
			count := 0
			for i := range c.entries {
				e := &c.entries[i]
				if e.text == "" || !c.member(user, e.seq) {
					continue
				}
				entries++
				if !lacks(proc, c, place{c.id, e.seq}) {
					continue
				}
				if count++; first == nil {
					first = e
				}
				last = e
			}
			if count > 0 {
				_, stored := m.begun(first.text)
				v.violate("%s %s %d messages between seqs %d and %d of conversation %d, which has %d entries; the first is %q, acknowledged at %s: %s", proc, what, count, first.seq, last.seq, c.id, len(c.entries), first.text, at(stored), why(proc, c, place{c.id, first.seq}))
			}
		}
	}
	return entries
}

// place is the position of an entry: its conversation and seq.
type place struct{ conv, seq uint64 }

// shownOn returns the entries that each device has received in events of a kind.
func (m *analysis) shownOn(f string) map[string]map[place]bool {
	all := map[string]map[place]bool{}
	for proc := range m.about.Owners {
		all[proc] = map[place]bool{}
	}
	for _, e := range m.events {
		if e.F == f && all[e.Proc] != nil {
			all[e.Proc][place{e.Conv, e.Seq}] = true
		}
	}
	return all
}

// checkInvented is INV2: every message that is read was sent by that user to that conversation, and was not refused.
func checkInvented(m *analysis) *Verdict {
	v := verdict("INV2", "nothing is invented")
	seen := 0
	for _, e := range m.events {
		if e.Text == "" || e.Type == Invoke || e.F != FLog && e.F != FZero && e.F != FDeliver && e.F != FRead {
			continue
		}
		seen++
		tries := m.sends[e.Text]
		switch {
		case len(tries) == 0:
			v.violate("%s read %q (%d:%d), which nobody sent", e.Proc, e.Text, e.Conv, e.Seq)
		case tries[0].User != e.From || tries[0].Conv != e.Conv:
			v.violate("%s read %q as of %d in %d; it was sent by %d to %d", e.Proc, e.Text, e.From, e.Conv, tries[0].User, tries[0].Conv)
		case tries[0].begin > e.T:
			v.violate("%s read %q at %s, before it was sent", e.Proc, e.Text, at(e.T))
		}
	}
	for _, c := range m.conversations() {
		for _, e := range c.entries {
			tries := m.sends[e.text]
			if len(tries) > 0 && !slices.ContainsFunc(tries, func(o operation) bool { return o.how != Fail }) {
				v.violate("%q is stored at %d:%d; every attempt to send it was refused: %s", e.text, c.id, e.seq, tries[0].Err)
			}
		}
	}
	v.What = fmt.Sprintf("%d messages read", seen)
	return v
}

// checkDuplicates is INV3: a message is stored once, all retries get the same answer, and no device receives it twice.
func checkDuplicates(m *analysis) *Verdict {
	v := verdict("INV3", "nothing is stored or shown twice")
	where := map[string]place{}
	for _, c := range m.conversations() {
		for _, e := range c.entries {
			if was, ok := where[e.text]; e.text != "" && ok {
				v.violate("%q is stored at %d:%d and at %d:%d", e.text, was.conv, was.seq, c.id, e.seq)
			}
			where[e.text] = place{c.id, e.seq}
		}
	}
	answers := 0
	for _, t := range m.texts() {
		var first *operation
		for i, o := range m.sends[t] {
			if o.how != Ok {
				continue
			}
			answers++
			if first == nil {
				first = &m.sends[t][i]
			} else if first.ID != o.ID || first.Seq != o.Seq {
				v.violate("%q was acknowledged as %s, %d by %s and as %s, %d by %s", t, first.ID, first.Seq, first.Node, o.ID, o.Seq, o.Node)
			}
		}
	}
	type received struct {
		proc string
		at   place
	}
	once := map[received]bool{}
	for _, e := range m.events {
		if e.F == FDeliver {
			s := received{e.Proc, place{e.Conv, e.Seq}}
			if once[s] {
				v.violate("%s received %d:%d (%q) twice", e.Proc, e.Conv, e.Seq, e.Text)
			}
			once[s] = true
		}
	}
	v.What = fmt.Sprintf("%d receipts, %d deliveries", answers, len(once))
	return v
}

// checkSameOrder is INV4: each seq of a conversation is one message, for all readers on all nodes.
func checkSameOrder(m *analysis) *Verdict {
	v := verdict("INV4", "all readers see the same order")
	type holder struct {
		id, text string
		by       string
	}
	holds := map[place]holder{}
	reads := 0
	for _, e := range m.events {
		if e.Conv == 0 || e.Seq == 0 || e.Type == Invoke || e.ID == "" {
			continue
		}
		reads++
		now := holder{e.ID, e.Text, fmt.Sprintf("%s by %s at %s", e.Proc, e.Node, at(e.T))}
		was, ok := holds[place{e.Conv, e.Seq}]
		switch {
		case !ok:
			holds[place{e.Conv, e.Seq}] = now
		case was.id != now.id || was.text != now.text:
			v.violate("%d:%d is %s %q according to %s, and %s %q according to %s", e.Conv, e.Seq, was.id, was.text, was.by, now.id, now.text, now.by)
		}
	}
	v.What = fmt.Sprintf("%d reads of %d entries", reads, len(holds))
	return v
}

// checkGapFree is INV5: histories have no gaps, and neither do the streams of conversations with fixed members. Package historycheck
// checks those streams, and the order of each sender's messages.
func checkGapFree(m *analysis) *Verdict {
	v := verdict("INV5", "no gap")
	entries := 0
	for _, c := range m.conversations() {
		for i, e := range c.entries {
			entries++
			if e.seq != uint64(i)+1 {
				v.violate("in conversation %d, seq %d follows %d", c.id, e.seq, i)
				break
			}
		}
	}
	h := m.streams()
	acked, delivered := h.Count()
	for _, found := range h.Check() {
		if found.Rule != "lost" { // INV1 finds lost messages in all conversations
			v.violate("%s", found)
		}
	}
	v.What = fmt.Sprintf("%d entries of %d histories; %d messages in %d deliveries of fixed conversations", entries, len(m.logs), acked, delivered)
	return v
}

// streams returns a history for package historycheck: of conversations with fixed members, and of senders that wait for each receipt.
func (m *analysis) streams() *historycheck.History {
	h := historycheck.New()
	for proc, user := range m.about.Owners {
		for _, c := range m.logs {
			if m.about.Fixed[c.id] && c.member(user, 1) {
				h.Member(c.id, proc)
			}
		}
	}
	procs, counts, names := map[string]uint64{}, map[string]int{}, map[string]historycheck.Message{}
	for _, o := range m.ops {
		if _, isDevice := m.about.Owners[o.Proc]; o.F != FSend || !m.about.Fixed[o.Conv] || names[o.Text].N != 0 {
			continue
		} else if !isDevice { // concurrent attempts to send one message have no order: treat each message as a sender
			procs[o.Text] = uint64(len(procs) + 1)
			names[o.Text] = historycheck.Message{Conversation: o.Conv, Sender: procs[o.Text], N: 1}
		} else {
			key := fmt.Sprint(o.Proc, o.Conv)
			if procs[key] == 0 {
				procs[key] = uint64(len(procs) + 1)
			}
			counts[key]++
			names[o.Text] = historycheck.Message{Conversation: o.Conv, Sender: procs[key], N: counts[key]}
		}
		h.Sent(names[o.Text])
	}
	for _, o := range m.ops {
		if n := names[o.Text]; n.N != 0 && o.how == Ok && o.F == FSend {
			h.Acked(n, historycheck.Position{ID: o.ID, Seq: o.Seq})
		}
	}
	for _, e := range m.events {
		if n := names[e.Text]; e.F == FDeliver && m.about.Fixed[e.Conv] && e.Text != "" {
			h.Delivered(e.Proc, historycheck.Delivery{Message: n, Position: historycheck.Position{ID: e.ID, Seq: e.Seq}})
		}
	}
	return h
}

// checkRealTime is INV6: a message that was acknowledged before another was sent has the lower seq, and a read returns everything that
// was acknowledged before it began.
func checkRealTime(m *analysis) *Verdict {
	v := verdict("INV6", "real-time order")
	type bound struct{ acked []operation }
	newest := map[uint64]*bound{} // of each conversation, by time of acknowledgement
	sends, reads := 0, 0
	for _, c := range m.conversations() {
		// In order of seqs: no message may have been acknowledged before a message with a lower seq was sent.
		latest, by := time.Duration(-1), ""
		for _, e := range c.entries {
			begin, stored := m.begun(e.text)
			if e.text == "" || begin == never {
				continue
			}
			sends++
			if stored < latest {
				v.violate("in conversation %d, %q follows %q, which was sent at %s, after the former was acknowledged at %s", c.id, e.text, by, at(latest), at(stored))
			}
			if begin > latest {
				latest, by = begin, e.text
			}
		}
		newest[c.id] = &bound{}
	}
	for _, o := range m.acknowledged() {
		if b := newest[o.Conv]; b != nil {
			if n := len(b.acked); n == 0 || b.acked[n-1].Seq < o.Seq {
				b.acked = append(b.acked, o)
			}
		}
	}
	for _, o := range m.ops {
		b := newest[o.Conv]
		if o.F != FRead || o.how != Ok || b == nil || !m.about.Fixed[o.Conv] {
			continue
		}
		reads++
		for i := len(b.acked) - 1; i >= 0; i-- {
			if b.acked[i].end < o.begin {
				if a := b.acked[i]; a.Seq > o.Seq {
					v.violate("%s read conversation %d on %s from %s on and got %d as the last seq; %q at %d had been acknowledged to %s at %s", o.Proc, o.Conv, o.Node, at(o.begin), o.Seq, a.Text, a.Seq, a.Proc, at(a.end))
				}
				break
			}
		}
	}
	v.What = fmt.Sprintf("%d messages, %d reads", sends, reads)
	return v
}
