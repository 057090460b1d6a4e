package chaos_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/chaos"
)

const (
	alice, bob, carol = 1, 2, 3

	direct, open = 100, 200 // conversations
)

// tape is a history made by hand.
type tape struct {
	events []chaos.Event
	about  chaos.About
	now    time.Duration
	op     uint64
}

func (p *tape) note(e chaos.Event) {
	p.now += time.Millisecond
	e.T = p.now
	if e.Type == "" {
		e.Type = chaos.Ok
	}
	p.events = append(p.events, e)
}

func (p *tape) begin(e chaos.Event) chaos.Event {
	p.op++
	e.Op, e.Type = p.op, chaos.Invoke
	p.note(e)
	return e
}

func (p *tape) end(e chaos.Event, how chaos.Type) {
	e.Type = how
	p.note(e)
}

// send is a message that is stored at a seq.
func (p *tape) send(from, conv, seq uint64, text string) {
	p.sent(chaos.Event{F: chaos.FSend, Proc: proc(from), User: from, Conv: conv, Text: text}, seq)
}

func (p *tape) sent(e chaos.Event, seq uint64) {
	e = p.begin(e)
	e.Seq, e.ID, e.Node = seq, id(e.Conv, seq), "n1"
	p.end(e, chaos.Ok)
}

func proc(user uint64) string { return fmt.Sprintf("p%d.1", user) }

func id(conv, seq uint64) string { return fmt.Sprintf("ID-%d-%d", conv, seq) }

// give has a device be given an entry.
func (p *tape) give(user, conv, seq, from uint64, text string) {
	p.note(chaos.Event{F: chaos.FDeliver, Proc: proc(user), User: user, Conv: conv, Seq: seq, ID: id(conv, seq), From: from, Text: text})
}

// entry is in a history, and in the stream from zero of some.
func (p *tape) entry(conv, seq, from uint64, text, control string, users []uint64, readers ...uint64) {
	e := chaos.Event{F: chaos.FLog, Proc: "p1", User: alice, Conv: conv, Seq: seq, ID: id(conv, seq), From: from, Text: text, Control: control, Users: users, Node: "n1"}
	p.note(e)
	for _, u := range readers {
		e.F, e.Proc, e.User = chaos.FZero, proc(u), u
		p.note(e)
	}
}

// good is a run in which all is well, with all that the checkers look at: two in a conversation, one of whom blocks the other for a
// while, and three in a group that one leaves and joins.
func good() *tape {
	p := &tape{about: chaos.About{Fixed: map[uint64]bool{direct: true}, Direct: map[uint64]bool{direct: true}, Large: map[uint64]bool{},
		Owners: map[string]uint64{proc(alice): alice, proc(bob): bob, proc(carol): carol}, Nodes: []string{"n1", "n2", "n3"}, Settle: 10 * time.Millisecond}}
	p.stage(chaos.Loaded)
	p.send(alice, direct, 2, "a1")
	p.give(alice, direct, 2, alice, "a1")
	p.give(bob, direct, 2, alice, "a1")
	p.stage(chaos.Faults)
	p.build("n1", "older", "")
	p.build("n2", "older", "")
	p.kill()
	p.sent(chaos.Event{F: chaos.FSend, Proc: "other/1", User: bob, Conv: direct, Text: "b1"}, 3)
	p.give(bob, direct, 3, bob, "b1")
	p.give(alice, direct, 3, bob, "b1")
	p.sent(chaos.Event{F: chaos.FSend, Proc: "other/2", User: bob, Conv: direct, Text: "b1"}, 3) // a retry
	p.read(alice, direct, 3, bob, "b1")
	// The block, and what is refused meanwhile.
	p.done(chaos.FBlock, bob, alice)
	p.end(p.begin(chaos.Event{F: chaos.FSend, Proc: "other/4", User: alice, Conv: direct, Text: "a2"}), chaos.Fail)
	p.done(chaos.FUnblock, bob, alice)
	// The group, in which they write while nodes are restarted.
	rolling := p.rolling()
	p.build("n1", "newer", "")
	p.send(alice, open, 2, "g1")
	p.give(alice, open, 2, alice, "g1")
	p.give(bob, open, 2, alice, "g1")
	p.send(alice, open, 4, "g2")
	p.give(alice, open, 4, alice, "g2")
	p.give(carol, open, 4, alice, "g2")
	p.give(bob, open, 4, alice, "g2")
	p.build("n2", "newer", "")
	p.build("n1", "older", "these releases cannot serve together: … Upgrade this node to the release of the others")
	p.end(rolling, chaos.Ok)
	p.now += 20 * time.Second
	p.cursor(chaos.FMark, 4)
	p.cursor(chaos.FCursor, 4)
	p.register(chaos.FWrite, "x")
	p.register(chaos.FProfile, "x")
	p.stage(chaos.Healed)
	p.stage(chaos.Ended)
	p.stage(chaos.AtRest)
	p.entry(direct, 1, 0, "", "ACTION_CREATED", []uint64{alice, bob})
	p.entry(direct, 2, alice, "a1", "", nil, alice, bob)
	p.entry(direct, 3, bob, "b1", "", nil, alice, bob)
	p.entry(open, 1, 0, "", "ACTION_CREATED", []uint64{alice, bob})
	p.entry(open, 2, alice, "g1", "", nil, alice, bob)
	p.entry(open, 3, 0, "", "ACTION_JOINED", []uint64{carol}, carol)
	p.entry(open, 4, alice, "g2", "", nil, alice, bob, carol)
	p.entry(open, 5, 0, "", "ACTION_LEFT", []uint64{carol}, carol)
	p.note(chaos.Event{F: chaos.FUnread, User: bob, Conv: open, Seq: 2, N: 1, Node: "n2"})
	p.note(chaos.Event{F: chaos.FSeen, Other: carol, N: 1, Text: "online", Node: "n3"})
	return p
}

func (p *tape) stage(name string) { p.note(chaos.Event{F: chaos.FStage, Text: name}) }

func (p *tape) done(f string, user, other uint64) {
	p.end(p.begin(chaos.Event{F: f, Proc: proc(user), User: user, Other: other}), chaos.Ok)
}

func (p *tape) read(user, conv, seq, from uint64, text string) {
	e := p.begin(chaos.Event{F: chaos.FRead, Proc: proc(user), User: user, Conv: conv, Node: "n2"})
	e.Seq, e.ID, e.From, e.Text = seq, id(conv, seq), from, text
	p.end(e, chaos.Ok)
}

func (p *tape) cursor(f string, n uint64) {
	e := p.begin(chaos.Event{F: f, Proc: proc(bob), User: bob, Conv: open})
	e.N = n
	p.end(e, chaos.Ok)
}

func (p *tape) register(f, text string) {
	e := chaos.Event{F: f, Proc: proc(bob), User: bob, Other: alice}
	if f == chaos.FWrite {
		e.Text = text
	}
	e = p.begin(e)
	e.Text = text
	p.end(e, chaos.Ok)
}

// kill is a node that was down for a while, in which another served all but those that fail.
func (p *tape) kill(fail ...int) { p.down("kill n1", fail...) }

// down is a fault that lasted for a while, in which a node served all but those that fail.
func (p *tape) down(what string, fail ...int) {
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

// build is that a node begins to run one, or is refused it.
func (p *tape) build(node, build, refused string) {
	e := chaos.Event{F: chaos.FBuild, Node: node, Text: build, Err: refused}
	if refused != "" {
		e.Type = chaos.Fail
	}
	p.note(e)
}

// rolling is a rolling restart that begins when nothing else has been broken for a while.
func (p *tape) rolling() chaos.Event {
	p.now += 20 * time.Second
	return p.begin(chaos.Event{F: chaos.FFault, Proc: "nemesis", Text: "rolling for 9s"})
}

func verdicts(p *tape) map[string]chaos.Verdict {
	all := map[string]chaos.Verdict{}
	for _, v := range chaos.Check(p.events, p.about) {
		all[v.Rule] = v
	}
	return all
}

func TestAGoodRunHolds(t *testing.T) {
	if v := verdicts(good())["MIXED"]; !strings.Contains(v.What, "2 messages") || !strings.Contains(v.What, "refused 1 times") {
		t.Errorf("of two builds: %s", v.What)
	}
	for rule, v := range verdicts(good()) {
		want := chaos.Holds
		switch rule {
		case "INV10", "INV14", "INV15":
			want = chaos.NotChecked
		}
		if v.State != want {
			t.Errorf("%s is %s: %v", rule, v.State, v.Found)
		}
	}
}

// Each bad run breaks the rule that it is named for.
func TestBadRuns(t *testing.T) {
	for _, c := range []struct {
		rule, name string
		spoil      func(p *tape)
	}{
		{"INV1", "acknowledged, and in no history", func(p *tape) { p.send(alice, direct, 4, "lost") }},
		{"INV1", "stored, and a member's device lacks it", func(p *tape) {
			p.send(alice, open, 6, "g3")
			p.entry(open, 6, alice, "g3", "", nil, alice, bob)
			p.give(alice, open, 6, alice, "g3")
		}},
		{"INV2", "read, and never sent", func(p *tape) { p.give(bob, direct, 4, alice, "dreamt") }},
		{"INV2", "read as another's", func(p *tape) { p.give(bob, direct, 2, bob, "a1") }},
		{"INV2", "stored, and refused", func(p *tape) { p.entry(direct, 4, alice, "a2", "", nil) }},
		{"INV2", "read before it was sent", func(p *tape) {
			p.give(bob, direct, 4, alice, "early")
			p.send(alice, direct, 4, "early")
		}},
		{"INV3", "stored twice", func(p *tape) { p.entry(direct, 4, alice, "a1", "", nil) }},
		{"INV3", "a retry is answered with another place", func(p *tape) {
			p.sent(chaos.Event{F: chaos.FSend, Proc: "other/3", User: bob, Conv: direct, Text: "b1"}, 4)
		}},
		{"INV3", "shown twice", func(p *tape) { p.give(bob, open, 4, alice, "g2") }},
		{"INV4", "two nodes with two messages in one place", func(p *tape) {
			p.note(chaos.Event{F: chaos.FLog, Proc: "p1", User: alice, Conv: direct, Seq: 3, ID: "another", From: alice, Text: "a1", Node: "n3"})
		}},
		{"INV5", "a hole in a history", func(p *tape) { p.entry(open, 7, 0, "", "ACTION_RENAMED", nil) }},
		{"INV5", "a hole in a stream", func(p *tape) {
			for seq, text := range map[uint64]string{4: "a4", 5: "a5"} {
				p.sent(chaos.Event{F: chaos.FSend, Proc: "other/" + text, User: alice, Conv: direct, Text: text}, seq)
				p.entry(direct, seq, alice, text, "", nil)
			}
			p.give(bob, direct, 5, alice, "a5")
		}},
		{"INV6", "stored before one that was acknowledged earlier", func(p *tape) {
			p.sent(chaos.Event{F: chaos.FSend, Proc: "x/1", User: alice, Conv: open, Text: "first"}, 7)
			p.sent(chaos.Event{F: chaos.FSend, Proc: "x/2", User: alice, Conv: open, Text: "second"}, 6)
			p.entry(open, 6, alice, "second", "", nil)
			p.entry(open, 7, alice, "first", "", nil)
		}},
		{"INV6", "a reading without what another had acknowledged", func(p *tape) { p.read(alice, direct, 2, alice, "a1") }},
		{"INV7", "a reading without one's own", func(p *tape) { p.read(bob, direct, 2, alice, "a1") }},
		{"INV7", "a read cursor that goes back", func(p *tape) { p.cursor(chaos.FCursor, 3) }},
		{"INV8", "missing in the stream from zero", func(p *tape) {
			p.send(alice, open, 6, "g3")
			p.entry(open, 6, alice, "g3", "", nil, alice)
			p.give(alice, open, 6, alice, "g3")
			p.give(bob, open, 6, alice, "g3")
		}},
		{"INV8", "a device that is told to begin anew", func(p *tape) { p.note(chaos.Event{F: chaos.FReset, Proc: proc(bob), User: bob}) }},
		{"INV9", "a wrong count", func(p *tape) { p.note(chaos.Event{F: chaos.FUnread, User: bob, Conv: open, Seq: 2, N: 2, Node: "n3"}) }},
		{"INV11", "a message through a block", func(p *tape) {
			p.done(chaos.FBlock, bob, alice)
			p.send(alice, direct, 4, "through")
			p.entry(direct, 4, alice, "through", "", nil)
		}},
		{"INV12", "given to one who had not come yet", func(p *tape) { p.give(carol, open, 2, alice, "g1") }},
		{"INV12", "given to one who had left", func(p *tape) {
			p.send(alice, open, 6, "g3")
			p.entry(open, 6, alice, "g3", "", nil, alice, bob, carol)
		}},
		{"INV12", "written by one who had left", func(p *tape) {
			p.send(carol, open, 6, "still here")
			p.entry(open, 6, carol, "still here", "", nil, alice, bob)
		}},
		{"INV13", "an id given twice", func(p *tape) {
			p.note(chaos.Event{F: chaos.FLog, Proc: "p1", User: alice, Conv: open, Seq: 6, ID: id(direct, 2), From: alice, Node: "n1"})
		}},
		{"INV16", "an old profile, read after a new one", func(p *tape) {
			p.register(chaos.FWrite, "y")
			p.register(chaos.FProfile, "x")
		}},
		{"INV17", "others fail while a node is down", func(p *tape) { p.kill(3, 4) }},
		{"INV17", "calls fail while one of Cassandra's nodes is held", func(p *tape) { p.down("cassandra-pause 3", 3, 4) }},
		{"INV17", "calls fail while one server of NATS is cut off from the others", func(p *tape) { p.down("nats-cut 1", 3, 4) }},
		{"INV17", "shown late while a node is down", func(p *tape) {
			f := p.begin(chaos.Event{F: chaos.FFault, Proc: "nemesis", Text: "pause n2 for 1m0s"})
			p.now += time.Second
			p.send(alice, open, 6, "late")
			p.now += time.Second
			p.give(bob, open, 6, alice, "late")
			p.now += time.Minute
			p.end(f, chaos.Ok)
		}},
		{"INV18", "presence that stays wrong", func(p *tape) {
			p.note(chaos.Event{F: chaos.FSeen, Other: carol, N: 1, Text: "offline", Node: "n3"})
		}},
		{"INV18", "a message that waits for ever", func(p *tape) {
			p.begin(chaos.Event{F: chaos.FSend, Proc: proc(alice), User: alice, Conv: direct, Text: "waits"})
		}},
		{"INV18", "a refusal where there is no reason for one", func(p *tape) {
			p.end(p.begin(chaos.Event{F: chaos.FSend, Proc: proc(alice), User: alice, Conv: direct, Text: "why"}), chaos.Fail)
		}},
		{"ROLLING", "acknowledged late while nodes restart", func(p *tape) {
			f := p.rolling()
			e := p.begin(chaos.Event{F: chaos.FSend, Proc: proc(alice), User: alice, Conv: open, Text: "slow"})
			p.now += 5 * time.Second
			p.end(e, chaos.Ok)
			p.end(f, chaos.Ok)
		}},
		{"ROLLING", "shown late, a moment after nodes restarted", func(p *tape) {
			p.end(p.rolling(), chaos.Ok)
			p.now += 9 * time.Second
			p.send(alice, open, 6, "late")
			p.now += 5 * time.Second
			p.give(bob, open, 6, alice, "late")
		}},
		{"ROLLING", "refused for good while nodes restart", func(p *tape) {
			f := p.rolling()
			p.end(p.begin(chaos.Event{F: chaos.FSend, Proc: proc(alice), User: alice, Conv: open, Text: "refused"}), chaos.Fail)
			p.end(f, chaos.Ok)
		}},
		{"MIXED", "an older build is refused without a reason", func(p *tape) { p.build("n2", "older", "panic: nil map") }},
		{"INV18", "no rest", func(p *tape) {
			for i := range p.events {
				if p.events[i].Text == chaos.AtRest {
					p.events[i].Text = "something else"
				}
			}
		}},
	} {
		p := good()
		c.spoil(p)
		v := verdicts(p)[c.rule]
		if v.State != chaos.Violated || len(v.Found) == 0 {
			t.Errorf("%s, %s: it is %s, %v", c.rule, c.name, v.State, v.Found)
		}
	}
}

// What may be either way is no violation.
func TestWhatMayBe(t *testing.T) {
	for name, also := range map[string]func(p *tape){
		"a message of unknown outcome, stored": func(p *tape) {
			e := p.begin(chaos.Event{F: chaos.FSend, Proc: "other/9", User: alice, Conv: direct, Text: "perhaps"})
			p.end(e, chaos.Info)
			p.entry(direct, 4, alice, "perhaps", "", nil, alice, bob)
			p.give(alice, direct, 4, alice, "perhaps")
			p.give(bob, direct, 4, alice, "perhaps")
		},
		"a message sent while a block is on its way": func(p *tape) {
			block := p.begin(chaos.Event{F: chaos.FBlock, Proc: "p2", User: bob, Other: alice})
			p.send(alice, direct, 4, "beside")
			p.end(block, chaos.Ok)
			p.entry(direct, 4, alice, "beside", "", nil, alice, bob)
			p.give(alice, direct, 4, alice, "beside")
			p.give(bob, direct, 4, alice, "beside")
		},
		"a profile written at a time that nobody knows": func(p *tape) {
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
				t.Errorf("%s: %s: %s", name, rule, strings.Join(v.Found, "; "))
			}
		}
	}
}
