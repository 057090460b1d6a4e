package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/bridges/bridgetest"
)

// spooled is how many messages wait in the bridge's directory.
func (w *world) spooled() int {
	files, _ := filepath.Glob(filepath.Join(w.state, "spool", "*.json"))
	return len(files)
}

// sorted are the texts of the group; those of each side keep their order, which is checked elsewhere.
func (w *world) sorted() (list []string) {
	for _, m := range w.Messages() {
		list = append(list, m.Content.GetText())
	}
	slices.Sort(list)
	return list
}

// A bridge that is killed between any two steps loses nothing that it has read, and repeats nothing on either side: whether Rialto did not get a call, or its answer was lost.
func TestKilledBetweenSteps(t *testing.T) {
	w := open(t)
	w.Link(lobby, active)
	var all, here, there []string
	for round, how := range []struct {
		fail func(call string)
		call string
	}{{w.Block, "SendBridgedMessage"}, {w.Withhold, "SendBridgedMessage"}, {w.Block, "ReportDelivery"}, {w.Withhold, "ReportDelivery"}, {w.Block, "ConfirmEvents"}, {w.Withhold, "ConfirmEvents"}} {
		how.fail(how.call)
		before := len(w.Messages())
		for n := range 5 {
			theirs := fmt.Sprintf("theirs %d.%d", round, n)
			w.eve.say(lobby, theirs)
			all, here = append(all, theirs), append(here, theirs)
		}
		bridgetest.Eventually(t, "the bridge has read all", func() bool {
			return how.call == "SendBridgedMessage" && w.spooled() == 5 || how.call != "SendBridgedMessage" && len(w.Messages()) == before+5
		})
		var seqs []uint64
		for n := range 5 {
			ours := fmt.Sprintf("ours %d.%d", round, n)
			seqs = append(seqs, w.Say(ours))
			all, there = append(all, ours), append(there, "#lobby <Alice> "+ours)
		}
		bridgetest.Eventually(t, "the first message is there", func() bool { return slices.Contains(w.eve.lines(), fmt.Sprintf("#lobby <Alice> ours %d.0", round)) })
		if how.call == "ReportDelivery" { // the message is written down as delivered
			bridgetest.Eventually(t, "the bridge knows what it has sent", func() bool {
				raw, _ := os.ReadFile(filepath.Join(w.state, "last.json"))
				return string(raw) == fmt.Sprintf("%q", fmt.Sprint(w.Conversation, "-", seqs[0]))
			})
		}
		bridgetest.Kill(w.bridge)
		w.Block("")
		w.Withhold("")
		w.restart()
		if d := w.Delivery(seqs[4]); d.ExternalId == "" {
			t.Errorf("the last message of round %d is %v, want it with an id of the other system", round, d)
		}
		bridgetest.Eventually(t, "nothing waits", func() bool { return w.spooled() == 0 })
	}
	w.awaitChannel(there...)
	var got []string
	for _, m := range w.Messages() {
		if m.Content.Bridge != "" {
			got = append(got, m.Content.GetText())
		} else if len(m.BridgeDeliveries) != 1 || m.BridgeDeliveries[0].ExternalId == "" {
			t.Errorf("%q is %v", m.Content.GetText(), m.BridgeDeliveries)
		}
	}
	if slices.Sort(all); !slices.Equal(got, here) || !slices.Equal(w.sorted(), all) {
		t.Errorf("the group has %q, want %q; from IRC %q, want %q", w.sorted(), all, got, here)
	}
}

// A bridge that is asked to stop sends the message whole that it is sending, and not again. One that is killed sends it again, from its beginning.
func TestStoppedWithinAMessage(t *testing.T) {
	w := open(t)
	w.Link(lobby, active)
	w.interval = "100ms"
	var text string
	var want []string
	for n := range 15 {
		text += fmt.Sprintln("line", n)
		want = append(want, fmt.Sprint("#lobby <Alice> line ", n))
	}
	w.restart()
	w.eve.awaitIn(lobby, "rialto", true)
	seq := w.Say(text)
	bridgetest.Eventually(t, "the message has begun", func() bool { return len(w.eve.lines()) > 0 })
	if err := w.bridge.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := w.bridge.Wait(); err != nil {
		t.Fatal(err)
	}
	w.awaitChannel(want...)
	w.restart()
	w.Delivery(seq)
	w.awaitChannel(want...)

	seq = w.Say(text)
	bridgetest.Eventually(t, "the next one has begun", func() bool { return len(w.eve.lines()) > len(want) })
	w.restart()
	w.Delivery(seq)
	lines := w.eve.lines()
	if again := lines[len(lines)-len(want):]; !slices.Equal(again, want) {
		t.Errorf("after a kill, the message is %q, want %q", again, want)
	}
}

// What is written here while the IRC server is gone arrives afterwards, and so does what was read there while Rialto was gone. A nick that somebody else has is no obstacle.
func TestRestartsOfBothServers(t *testing.T) {
	w := open(t)
	w.Link(lobby, active)
	w.Delivery(w.Say("before"))
	w.awaitChannel("#lobby <Alice> before")
	bridgetest.Kill(w.irc.process)
	w.Say("while it is gone 1")
	last := w.Say("while it is gone 2")
	w.irc.start()
	w.eve = w.irc.connect("eve", lobby)
	w.Delivery(last)
	lines := w.eve.lines() // the bridge may have been in the channel before her
	if want := []string{"#lobby <Alice> while it is gone 1", "#lobby <Alice> while it is gone 2"}; len(lines) > len(want) || !slices.Equal(lines, want[len(want)-len(lines):]) {
		t.Errorf("the channel has %q, want the end of %q", lines, want)
	}
	w.eve.awaitIn(lobby, "rialto", true)
	w.Stop()
	for n := range 3 {
		w.eve.say(lobby, fmt.Sprint("while Rialto is gone ", n))
	}
	bridgetest.Eventually(t, "the bridge has read them", func() bool { return w.spooled() == 3 })
	w.Restart()
	w.await(": before", ": while it is gone 1", ": while it is gone 2", "irc: while Rialto is gone 0", "irc: while Rialto is gone 1", "irc: while Rialto is gone 2")

	bridgetest.Kill(w.bridge)
	w.eve.awaitIn(lobby, "rialto", false)
	w.irc.connect("rialto")
	before := len(w.eve.lines())
	w.restart()
	w.Delivery(w.Say("under another nick"))
	if lines := w.eve.lines()[before:]; !slices.Equal(lines, []string{"#lobby <Alice> under another nick"}) {
		t.Errorf("under another nick, the channel has %q", lines)
	}
}
