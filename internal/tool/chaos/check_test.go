package chaos_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/tool/chaos"
)

const (
	alice, bob, carol = 1, 2, 3

	direct, open, revised = 100, 200, 300 // conversations
)

// scenario is a history made by hand.
type scenario struct {
	events []chaos.Event
	about  chaos.RunInfo
	now    time.Duration
	op     uint64
}

func (p *scenario) note(e chaos.Event) {
	p.now += time.Millisecond
	e.T = p.now
	if e.Type == "" {
		e.Type = chaos.Ok
	}
	p.events = append(p.events, e)
}

func (p *scenario) begin(e chaos.Event) chaos.Event {
	p.op++
	e.Op, e.Type = p.op, chaos.Invoke
	p.note(e)
	return e
}

func (p *scenario) end(e chaos.Event, how chaos.Type) {
	e.Type = how
	p.note(e)
}

// send adds a message that is stored at a seq.
func (p *scenario) send(from, conv, seq uint64, text string) {
	p.sendEvent(chaos.Event{F: chaos.FSend, Proc: proc(from), User: from, Conv: conv, Text: text}, seq)
}

func (p *scenario) sendEvent(e chaos.Event, seq uint64) {
	e = p.begin(e)
	e.Seq, e.ID, e.Node = seq, id(e.Conv, seq), "n1"
	p.end(e, chaos.Ok)
}

func proc(user uint64) string { return fmt.Sprintf("p%d.1", user) }

func id(conv, seq uint64) string { return fmt.Sprintf("ID-%d-%d", conv, seq) }

// deliver adds the delivery of an entry to a device.
func (p *scenario) deliver(user, conv, seq, from uint64, text string) {
	p.note(chaos.Event{F: chaos.FDeliver, Proc: proc(user), User: user, Conv: conv, Seq: seq, ID: id(conv, seq), From: from, Text: text})
}

// entry adds an entry to a history, and to the streams from zero of some readers.
func (p *scenario) entry(conv, seq, from uint64, text, control string, users []uint64, readers ...uint64) {
	e := chaos.Event{F: chaos.FLog, Proc: "p1", User: alice, Conv: conv, Seq: seq, ID: id(conv, seq), From: from, Text: text, Control: control, Users: users, Node: "n1"}
	p.note(e)
	for _, u := range readers {
		e.F, e.Proc, e.User = chaos.FZero, proc(u), u
		p.note(e)
	}
}

// good is a run without violations that exercises every checker: a one-to-one conversation in which one user blocks the other for a
// while, and a group of three that one user leaves and joins.
func good() *scenario {
	p := &scenario{about: chaos.RunInfo{Fixed: map[uint64]bool{direct: true}, Direct: map[uint64]bool{direct: true}, Large: map[uint64]bool{},
		Owners: map[string]uint64{proc(alice): alice, proc(bob): bob, proc(carol): carol}, Nodes: []string{"n1", "n2", "n3"}, Roles: []string{"gateway"}, DetectionTime: 10 * time.Millisecond}}
	p.stage(chaos.Loaded)
	p.send(alice, direct, 2, "a1")
	p.deliver(alice, direct, 2, alice, "a1")
	p.deliver(bob, direct, 2, alice, "a1")
	p.stage(chaos.Faults)
	p.build("n1", "older", "")
	p.build("n2", "older", "")
	p.kill()
	p.sendEvent(chaos.Event{F: chaos.FSend, Proc: "other/1", User: bob, Conv: direct, Text: "b1"}, 3)
	p.deliver(bob, direct, 3, bob, "b1")
	p.deliver(alice, direct, 3, bob, "b1")
	p.sendEvent(chaos.Event{F: chaos.FSend, Proc: "other/2", User: bob, Conv: direct, Text: "b1"}, 3) // a retry
	p.read(alice, direct, 3, bob, "b1")
	// The block, and the messages that are refused during it.
	p.done(chaos.FBlock, bob, alice)
	p.end(p.begin(chaos.Event{F: chaos.FSend, Proc: "other/4", User: alice, Conv: direct, Text: "a2"}), chaos.Fail)
	p.done(chaos.FUnblock, bob, alice)
	// The group, whose members write during a rolling restart.
	rolling := p.rolling()
	p.build("n1", "newer", "")
	restart := p.begin(chaos.Event{F: chaos.FRestart, Proc: "nemesis", Node: "n1", Text: "gateway"})
	p.ask("chat", 0, chaos.Ok)
	p.send(alice, open, 2, "g1")
	p.deliver(alice, open, 2, alice, "g1")
	p.deliver(bob, open, 2, alice, "g1")
	p.end(restart, chaos.Ok)
	p.send(alice, open, 4, "g2")
	p.deliver(alice, open, 4, alice, "g2")
	p.deliver(carol, open, 4, alice, "g2")
	p.deliver(bob, open, 4, alice, "g2")
	p.build("n2", "newer", "")
	p.build("n1", "older", "these releases cannot serve together: … Upgrade this node to the release of the others")
	p.end(rolling, chaos.Ok)
	p.now += 20 * time.Second
	p.cursor(chaos.FMark, 4)
	p.cursor(chaos.FCursor, 4)
	p.register(chaos.FWrite, "x")
	p.register(chaos.FProfile, "x")
	p.revise(chaos.FWord, "canary1", "")
	p.revise(chaos.FEdit, "canary1", "canary2")
	p.revise(chaos.FWord, "canary3", "")
	p.shown("canary3", 0)
	p.revise(chaos.FRecall, "canary3", "")
	p.publish(alice, 500, "p1")
	p.publish(alice, 500, "p1") // a retry
	p.publish(alice, 501, "p2")
	p.page(bob, 0, 501, 500)
	p.post(chaos.FDelete, alice, 501)
	p.page(bob, 0, 500)
	p.publish(alice, 502, "p3")
	p.page(bob, 501, 502) // the next page has what is below 501
	p.post(chaos.FLike, bob, 500)
	p.post(chaos.FLike, carol, 500)
	p.post(chaos.FUnlike, carol, 500)
	p.stage(chaos.Healed)
	p.stage(chaos.Ended)
	p.stage(chaos.Quiesced)
	p.entry(direct, 1, 0, "", "ACTION_CREATED", []uint64{alice, bob})
	p.entry(direct, 2, alice, "a1", "", nil, alice, bob)
	p.entry(direct, 3, bob, "b1", "", nil, alice, bob)
	p.entry(open, 1, 0, "", "ACTION_CREATED", []uint64{alice, bob})
	p.entry(open, 2, alice, "g1", "", nil, alice, bob)
	p.entry(open, 3, 0, "", "ACTION_JOINED", []uint64{carol}, carol)
	p.entry(open, 4, alice, "g2", "", nil, alice, bob, carol)
	p.entry(open, 5, 0, "", "ACTION_LEFT", []uint64{carol}, carol)
	p.note(chaos.Event{F: chaos.FStays, Conv: revised, Text: "canary2", Node: "n1"})
	p.likers("n1", 1, bob)
	p.note(chaos.Event{F: chaos.FUnread, User: bob, Conv: open, Seq: 2, N: 1, Node: "n2"})
	p.note(chaos.Event{F: chaos.FSeen, Other: carol, N: 1, Text: "online", Node: "n3"})
	return p
}

func (p *scenario) publish(author, post uint64, text string) {
	e := p.begin(chaos.Event{F: chaos.FPublish, Proc: "p1", User: author, Text: text, Node: "n1"})
	e.Other = post
	p.end(e, chaos.Ok)
}

// post deletes, likes or unlikes a post.
func (p *scenario) post(f string, by, post uint64) {
	p.end(p.begin(chaos.Event{F: f, Proc: proc(by), User: by, Other: post, Node: "n1"}), chaos.Ok)
}

// page reads a page of a home timeline, which is followed by one that begins below next.
func (p *scenario) page(reader, next uint64, posts ...uint64) {
	e := p.begin(chaos.Event{F: chaos.FPage, Proc: proc(reader), User: reader, Node: "n2"})
	e.N, e.Users = next, posts
	p.end(e, chaos.Ok)
}

// likers adds who likes post 500 at the end, and how many likes it has.
func (p *scenario) likers(node string, n uint64, users ...uint64) {
	p.note(chaos.Event{F: chaos.FLikers, Other: 500, N: n, Users: users, Node: node})
}

// revise sends, edits or recalls a message of the conversation whose messages are changed.
func (p *scenario) revise(f, word, becomes string) {
	p.end(p.begin(chaos.Event{F: f, Proc: "p1", User: alice, Conv: revised, Text: word, Becomes: becomes, Node: "n1"}), chaos.Ok)
}

// shown adds that a read that began some time ago showed a message.
func (p *scenario) shown(word string, ago time.Duration) {
	p.note(chaos.Event{F: chaos.FShown, Proc: "p2 search", User: bob, Conv: revised, Text: word, N: uint64(p.now - ago), Node: "n2"})
}

func (p *scenario) stage(name string) { p.note(chaos.Event{F: chaos.FStage, Text: name}) }

func (p *scenario) done(f string, user, other uint64) {
	p.end(p.begin(chaos.Event{F: f, Proc: proc(user), User: user, Other: other}), chaos.Ok)
}

func (p *scenario) read(user, conv, seq, from uint64, text string) {
	e := p.begin(chaos.Event{F: chaos.FRead, Proc: proc(user), User: user, Conv: conv, Node: "n2"})
	e.Seq, e.ID, e.From, e.Text = seq, id(conv, seq), from, text
	p.end(e, chaos.Ok)
}

func (p *scenario) cursor(f string, n uint64) {
	e := p.begin(chaos.Event{F: f, Proc: proc(bob), User: bob, Conv: open})
	e.N = n
	p.end(e, chaos.Ok)
}

func (p *scenario) register(f, text string) {
	e := chaos.Event{F: f, Proc: proc(bob), User: bob, Other: alice}
	if f == chaos.FWrite {
		e.Text = text
	}
	e = p.begin(e)
	e.Text = text
	p.end(e, chaos.Ok)
}

// kill adds a period in which a node was down and another one served all calls except those in fail.
func (p *scenario) kill(fail ...int) { p.down("kill n1", fail...) }

// down adds a fault during which a node served all calls except those in fail.
func (p *scenario) down(what string, fail ...int) {
	f := p.begin(chaos.Event{F: chaos.FFault, Proc: "nemesis", Text: what + " for 1m0s"})
	p.now += 20 * time.Millisecond
	for i := range 20 {
		how := chaos.Ok
		for _, bad := range fail {
			if bad == i {
				how = chaos.Info
			}
		}
		p.end(p.begin(chaos.Event{F: chaos.FProbe, Proc: "probe.n2", Node: "n2"}), how)
	}
	p.now += time.Minute
	p.end(f, chaos.Ok)
}

// build adds that a node starts a build, or that the cluster refuses it.
func (p *scenario) build(node, build, refused string) {
	e := chaos.Event{F: chaos.FBuild, Node: node, Text: build, Err: refused}
	if refused != "" {
		e.Type = chaos.Fail
	}
	p.note(e)
}

// rolling begins a rolling restart at a time without other faults.
func (p *scenario) rolling() chaos.Event {
	p.now += 20 * time.Second
	return p.begin(chaos.Event{F: chaos.FFault, Proc: "nemesis", Text: "rolling for 9s"})
}

// ask adds a call of an app to a role, which is answered after some time.
func (p *scenario) ask(role string, after time.Duration, how chaos.Type) {
	e := p.begin(chaos.Event{F: chaos.FAsk, Proc: "asks " + role, Text: role})
	p.now += after
	p.end(e, how)
}

// restart adds that a node with some roles restarts in a rolling restart, and calls do meanwhile.
func (p *scenario) restart(roles string, do func()) {
	f := p.rolling()
	e := p.begin(chaos.Event{F: chaos.FRestart, Proc: "nemesis", Node: "n2", Text: roles})
	do()
	p.end(e, chaos.Ok)
	p.end(f, chaos.Ok)
}

func verdicts(p *scenario) map[string]chaos.Verdict {
	all := map[string]chaos.Verdict{}
	for _, v := range chaos.Check(p.events, p.about) {
		all[v.Rule] = v
	}
	return all
}

func TestValidHistoryIsAccepted(t *testing.T) {
	if v := verdicts(good())["MIXED"]; !strings.Contains(v.What, "2 messages") || !strings.Contains(v.What, "refused 1 times") {
		t.Errorf("rule MIXED: got %s, want a number of messages", v.What)
	}
	if got, want := verdicts(good())["ROLES"].What, "gateway, 1 restarts: 2 receipts within 1ms, 5 deliveries within 3ms, 1 answers within 1ms"; got != want {
		t.Errorf("rule ROLES: got %q, want %q", got, want)
	}
	for rule, v := range verdicts(good()) {
		want := chaos.Holds
		switch rule {
		case "INV15":
			want = chaos.NotChecked
		}
		if v.State != want {
			t.Errorf("rule %s: got %s, want no violation: %v", rule, v.State, v.Found)
		}
	}
}

// Each history violates the rule that it is listed with.
func TestEachViolationIsFound(t *testing.T) {
	for _, c := range []struct {
		rule, name string
		violate    func(p *scenario)
	}{
		{"INV1", "an acknowledged message is in no history", func(p *scenario) { p.send(alice, direct, 4, "lost") }},
		{"INV1", "a member's device lacks a stored message", func(p *scenario) {
			p.send(alice, open, 6, "g3")
			p.entry(open, 6, alice, "g3", "", nil, alice, bob)
			p.deliver(alice, open, 6, alice, "g3")
		}},
		{"INV2", "a message is read that nobody sent", func(p *scenario) { p.deliver(bob, direct, 4, alice, "dreamt") }},
		{"INV2", "a message is read with the wrong sender", func(p *scenario) { p.deliver(bob, direct, 2, bob, "a1") }},
		{"INV2", "a refused message is stored", func(p *scenario) { p.entry(direct, 4, alice, "a2", "", nil) }},
		{"INV2", "a message is read before it was sent", func(p *scenario) {
			p.deliver(bob, direct, 4, alice, "early")
			p.send(alice, direct, 4, "early")
		}},
		{"INV3", "a message is stored twice", func(p *scenario) { p.entry(direct, 4, alice, "a1", "", nil) }},
		{"INV3", "a retry is answered with another seq", func(p *scenario) {
			p.sendEvent(chaos.Event{F: chaos.FSend, Proc: "other/3", User: bob, Conv: direct, Text: "b1"}, 4)
		}},
		{"INV3", "a message is delivered twice", func(p *scenario) { p.deliver(bob, open, 4, alice, "g2") }},
		{"INV4", "two nodes return different messages at one seq", func(p *scenario) {
			p.note(chaos.Event{F: chaos.FLog, Proc: "p1", User: alice, Conv: direct, Seq: 3, ID: "another", From: alice, Text: "a1", Node: "n3"})
		}},
		{"INV5", "a gap in a history", func(p *scenario) { p.entry(open, 7, 0, "", "ACTION_RENAMED", nil) }},
		{"INV5", "a gap in a stream", func(p *scenario) {
			for seq, text := range map[uint64]string{4: "a4", 5: "a5"} {
				p.sendEvent(chaos.Event{F: chaos.FSend, Proc: "other/" + text, User: alice, Conv: direct, Text: text}, seq)
				p.entry(direct, seq, alice, text, "", nil)
			}
			p.deliver(bob, direct, 5, alice, "a5")
		}},
		{"INV6", "a message is stored before one that was acknowledged earlier", func(p *scenario) {
			p.sendEvent(chaos.Event{F: chaos.FSend, Proc: "x/1", User: alice, Conv: open, Text: "first"}, 7)
			p.sendEvent(chaos.Event{F: chaos.FSend, Proc: "x/2", User: alice, Conv: open, Text: "second"}, 6)
			p.entry(open, 6, alice, "second", "", nil)
			p.entry(open, 7, alice, "first", "", nil)
		}},
		{"INV6", "a read lacks an acknowledged message of another user", func(p *scenario) { p.read(alice, direct, 2, alice, "a1") }},
		{"INV7", "a read lacks the user's own message", func(p *scenario) { p.read(bob, direct, 2, alice, "a1") }},
		{"INV7", "a read cursor that goes back", func(p *scenario) { p.cursor(chaos.FCursor, 3) }},
		{"INV8", "a message is missing in the stream from zero", func(p *scenario) {
			p.send(alice, open, 6, "g3")
			p.entry(open, 6, alice, "g3", "", nil, alice)
			p.deliver(alice, open, 6, alice, "g3")
			p.deliver(bob, open, 6, alice, "g3")
		}},
		{"INV8", "a device is reset", func(p *scenario) { p.note(chaos.Event{F: chaos.FReset, Proc: proc(bob), User: bob}) }},
		{"INV9", "a wrong count", func(p *scenario) {
			p.note(chaos.Event{F: chaos.FUnread, User: bob, Conv: open, Seq: 2, N: 2, Node: "n3"})
		}},
		{"INV10", "a recalled message is shown", func(p *scenario) { p.shown("canary3", 0) }},
		{"INV10", "the text before an edit is shown", func(p *scenario) { p.shown("canary1", 0) }},
		{"INV10", "a recalled message is back at the end", func(p *scenario) {
			p.note(chaos.Event{F: chaos.FStays, Conv: revised, Text: "canary3", Node: "n3"})
		}},
		{"INV10", "an edit is lost", func(p *scenario) {
			p.revise(chaos.FWord, "canary4", "")
			p.revise(chaos.FEdit, "canary4", "canary5")
		}},
		{"INV11", "a message passes a block", func(p *scenario) {
			p.done(chaos.FBlock, bob, alice)
			p.send(alice, direct, 4, "through")
			p.entry(direct, 4, alice, "through", "", nil)
		}},
		{"INV12", "an entry is delivered to a user who had not joined", func(p *scenario) { p.deliver(carol, open, 2, alice, "g1") }},
		{"INV12", "an entry is delivered to a user who had left", func(p *scenario) {
			p.send(alice, open, 6, "g3")
			p.entry(open, 6, alice, "g3", "", nil, alice, bob, carol)
		}},
		{"INV12", "a user who had left writes", func(p *scenario) {
			p.send(carol, open, 6, "still here")
			p.entry(open, 6, carol, "still here", "", nil, alice, bob)
		}},
		{"INV13", "an id is used twice", func(p *scenario) {
			p.note(chaos.Event{F: chaos.FLog, Proc: "p1", User: alice, Conv: open, Seq: 6, ID: id(direct, 2), From: alice, Node: "n1"})
		}},
		{"INV14", "a retry publishes another post", func(p *scenario) { p.publish(alice, 503, "p1") }},
		{"INV14", "a page has a post twice", func(p *scenario) { p.page(bob, 0, 502, 502, 500) }},
		{"INV14", "a page is not in order", func(p *scenario) { p.page(bob, 0, 500, 502) }},
		{"INV14", "a page has a deleted post", func(p *scenario) { p.page(bob, 0, 502, 501, 500) }},
		{"INV14", "a page lacks a post", func(p *scenario) { p.page(bob, 0, 502) }},
		{"INV14", "a count differs from the list", func(p *scenario) { p.likers("n3", 2, bob) }},
		{"INV14", "a like is lost", func(p *scenario) { p.likers("n3", 0) }},
		{"INV14", "a like that was taken back stays", func(p *scenario) { p.likers("n3", 2, bob, carol) }},
		{"INV14", "somebody likes who never did", func(p *scenario) { p.likers("n3", 2, bob, alice) }},
		{"INV16", "an old profile is read after a new one", func(p *scenario) {
			p.register(chaos.FWrite, "y")
			p.register(chaos.FProfile, "x")
		}},
		{"INV17", "calls to other nodes fail while a node is down", func(p *scenario) { p.kill(3, 4) }},
		{"INV17", "calls fail while a Cassandra node is paused", func(p *scenario) { p.down("cassandra-pause 3", 3, 4) }},
		{"INV17", "calls fail while a NATS server is partitioned from the others", func(p *scenario) { p.down("nats-isolate 1", 3, 4) }},
		{"INV17", "a message is delivered late while a node is down", func(p *scenario) {
			f := p.begin(chaos.Event{F: chaos.FFault, Proc: "nemesis", Text: "pause n2 for 1m0s"})
			p.now += time.Second
			p.send(alice, open, 6, "late")
			p.now += time.Second
			p.deliver(bob, open, 6, alice, "late")
			p.now += time.Minute
			p.end(f, chaos.Ok)
		}},
		{"INV18", "presence stays wrong", func(p *scenario) {
			p.note(chaos.Event{F: chaos.FSeen, Other: carol, N: 1, Text: "offline", Node: "n3"})
		}},
		{"INV18", "a message waits for ever", func(p *scenario) {
			p.begin(chaos.Event{F: chaos.FSend, Proc: proc(alice), User: alice, Conv: direct, Text: "waits"})
		}},
		{"INV18", "a permitted message is refused", func(p *scenario) {
			p.end(p.begin(chaos.Event{F: chaos.FSend, Proc: proc(alice), User: alice, Conv: direct, Text: "why"}), chaos.Fail)
		}},
		{"ROLLING", "a message is acknowledged late during a rolling restart", func(p *scenario) {
			f := p.rolling()
			e := p.begin(chaos.Event{F: chaos.FSend, Proc: proc(alice), User: alice, Conv: open, Text: "slow"})
			p.now += 5 * time.Second
			p.end(e, chaos.Ok)
			p.end(f, chaos.Ok)
		}},
		{"ROLLING", "a message is delivered late right after a rolling restart", func(p *scenario) {
			p.end(p.rolling(), chaos.Ok)
			p.now += 9 * time.Second
			p.send(alice, open, 6, "late")
			p.now += 5 * time.Second
			p.deliver(bob, open, 6, alice, "late")
		}},
		{"ROLLING", "a message is refused during a rolling restart", func(p *scenario) {
			f := p.rolling()
			p.end(p.begin(chaos.Event{F: chaos.FSend, Proc: proc(alice), User: alice, Conv: open, Text: "refused"}), chaos.Fail)
			p.end(f, chaos.Ok)
		}},
		{"ROLES", "a call is answered late while a node restarts", func(p *scenario) {
			p.restart("feed", func() { p.ask("feed", 5*time.Second, chaos.Ok) })
		}},
		{"ROLES", "a call is refused while a node restarts", func(p *scenario) {
			p.restart("feed", func() { p.ask("feed", 0, chaos.Fail) })
		}},
		{"ROLES", "a message is delivered late after the restart of a worker", func(p *scenario) {
			p.restart("worker", func() { p.send(alice, open, 6, "late") })
			p.now += 5 * time.Second
			p.deliver(bob, open, 6, alice, "late")
		}},
		{"ROLES", "apps do nothing while a node restarts", func(p *scenario) {
			p.now += time.Minute
			p.restart("feed", func() {})
		}},
		{"ROLES", "no node with some roles was restarted", func(p *scenario) { p.about.Roles = append(p.about.Roles, "worker") }},
		{"MIXED", "an older build is refused without a reason", func(p *scenario) { p.build("n2", "older", "panic: nil map") }},
		{"INV18", "not everything is delivered at the end", func(p *scenario) {
			for i := range p.events {
				if p.events[i].Text == chaos.Quiesced {
					p.events[i].Text = "something else"
				}
			}
		}},
	} {
		p := good()
		c.violate(p)
		v := verdicts(p)[c.rule]
		if v.State != chaos.Violated || len(v.Found) == 0 {
			t.Errorf("rule %s, %s: got %s, %v, want violated", c.rule, c.name, v.State, v.Found)
		}
	}
}

// Outcomes that are allowed either way are not violations.
func TestAmbiguousOutcomesAreAccepted(t *testing.T) {
	for name, also := range map[string]func(p *scenario){
		"a message with an unknown outcome is stored": func(p *scenario) {
			e := p.begin(chaos.Event{F: chaos.FSend, Proc: "other/9", User: alice, Conv: direct, Text: "perhaps"})
			p.end(e, chaos.Info)
			p.entry(direct, 4, alice, "perhaps", "", nil, alice, bob)
			p.deliver(alice, direct, 4, alice, "perhaps")
			p.deliver(bob, direct, 4, alice, "perhaps")
		},
		"a message is sent concurrently with a block": func(p *scenario) {
			block := p.begin(chaos.Event{F: chaos.FBlock, Proc: "p2", User: bob, Other: alice})
			p.send(alice, direct, 4, "beside")
			p.end(block, chaos.Ok)
			p.entry(direct, 4, alice, "beside", "", nil, alice, bob)
			p.deliver(alice, direct, 4, alice, "beside")
			p.deliver(bob, direct, 4, alice, "beside")
		},
		"the time of a profile write is unknown": func(p *scenario) {
			w := p.begin(chaos.Event{F: chaos.FWrite, Proc: "p1", User: alice, Other: alice, Text: "z"})
			p.end(w, chaos.Info)
			p.register(chaos.FProfile, "x")
			p.register(chaos.FProfile, "z")
		},
	} {
		p := good()
		also(p)
		for rule, v := range verdicts(p) {
			if v.State == chaos.Violated {
				t.Errorf("%s: rule %s: got violated, want accepted: %s", name, rule, strings.Join(v.Found, "; "))
			}
		}
	}
}
