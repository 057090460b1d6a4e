package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/bridges/bridge"
	"github.com/rialto-im/rialto/bridges/bridgetest"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// TestMain is the bridge itself in a process that a test started, so that the test can kill it.
func TestMain(m *testing.M) {
	if os.Getenv("BRIDGE") != "" {
		bridge.Main("xmpp", run)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	active  = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_ACTIVE
	refused = bridgev1.BridgeLinkState_BRIDGE_LINK_STATE_REFUSED
)

// world is a Rialto, a prosody, a bridge between them, and people in XMPP.
type world struct {
	*bridgetest.Rialto
	t            *testing.T
	prosody      *prosody
	eve, mallory *person
	state        string
	bridge       *exec.Cmd
}

func open(t *testing.T) *world {
	t.Helper()
	w := &world{Rialto: bridgetest.Open(t, "xmpp"), t: t, prosody: startProsody(t), state: t.TempDir()}
	w.connectPeople()
	w.restart()
	return w
}

func (w *world) connectPeople() {
	people := connectPeople(w.t, w.prosody.address, "eve", "mallory")
	w.eve, w.mallory = people["eve"], people["mallory"]
}

// restart kills the bridge and starts it again.
func (w *world) restart() {
	w.t.Helper()
	if w.bridge != nil {
		bridgetest.Kill(w.bridge)
	}
	w.bridge = bridgetest.Start(w.t, []string{"BRIDGE=1", "RIALTO_KEY=" + w.Key, "XMPP_SECRET=" + testSecret}, os.Args[0],
		"--url", w.URL, "--server", w.prosody.address, "--domain", bridgeDomain, "--rooms", lobby+",Nowhere@"+roomDomain+",a@away.localhost,"+plain, "--state", w.state)
}

// await waits until the group has texts, each with the bridge over which it came.
func (w *world) await(want ...string) {
	w.t.Helper()
	var got []string
	defer func() {
		if w.t.Failed() {
			w.t.Logf("the group has %q", got)
		}
	}()
	bridgetest.Eventually(w.t, fmt.Sprintf("the group has %q", want), func() bool {
		got = w.Texts()
		return slices.Equal(got, want)
	})
}

// awaitRoom waits until Eve has seen messages in a room, each with the nick of its author.
func (w *world) awaitRoom(room string, want ...string) {
	w.t.Helper()
	defer func() {
		if w.t.Failed() {
			w.t.Logf("eve has seen %q", w.eve.seen(room))
		}
	}()
	bridgetest.Eventually(w.t, fmt.Sprintf("eve has seen %q", want), func() bool { return slices.Equal(w.eve.seen(room), want) })
}

func (w *world) edit(seq uint64, text string) {
	w.t.Helper()
	w.Send(&chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}}})
}

func (w *world) recall(seq uint64) {
	w.t.Helper()
	w.Send(&chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: seq}}}})
}

// Each side receives once what the other side wrote, and does not send it back. Each user of Rialto who writes has a name of their own in the room.
func TestBothDirections(t *testing.T) {
	w := open(t)
	w.eve.enter(lobby, "Eve")
	w.mallory.enter(lobby, "Alice") // whose name is that of a user of Rialto
	w.eve.say(lobby, "before", "before the link")
	for room, reason := range map[string]string{"Secret@" + roomDomain: "not_permitted", "nowhere@" + roomDomain: "no_room", "a@away.localhost": "unreachable"} {
		if l := w.Link(room, refused); l.Reason != reason || l.Text == "" {
			t.Errorf("%s is %v, want %s", room, l, reason)
		}
		w.Unlink()
	}
	w.Link(" Lobby@Rooms.localhost ", active)
	one := w.eve.say(lobby, "one", "hello <all> & all")
	w.await("xmpp: hello <all> & all")
	w.mallory.say(lobby, "two", "> hello\nhi", newElement(nsReply, "reply", "id", one), newElement(nsFallback, "fallback", "for", nsReply).with(newElement(nsFallback, "body", "start", "0", "end", "8")))
	w.await("xmpp: hello <all> & all", "xmpp: hi")
	list := w.Messages()
	if got := list[1].Content.ReplyTo.GetSeq(); got != list[0].Seq {
		t.Errorf("the answer is one to message %d, want %d", got, list[0].Seq)
	}
	if list[0].Sender == list[1].Sender || list[0].Content.ExternalId != one {
		t.Errorf("the senders are %d and %d, and the id is %s, want %s", list[0].Sender, list[1].Sender, list[0].Content.ExternalId, one)
	}
	seq := w.Send(&chatv1.Content{Kind: &chatv1.Content_Text{Text: "welcome\n all"}, ReplyTo: &chatv1.Ref{Seq: list[0].Seq}})
	d := w.Delivery(seq)
	w.awaitRoom(lobby, "Eve: before the link", "Eve: hello <all> & all", "Alice: > hello\nhi", "Alice (2): welcome\n all")
	stanza := w.eve.saw(func(e element) bool {
		_, nick := splitJID(e.attr("from"))
		return nick == "Alice (2)" && e.XMLName.Local == "message"
	})
	if reply, _ := stanza.child(nsReply, "reply"); reply.attr("id") != one || d.ExternalId == "" || d.ExternalId != roomID(&room{address: lobby}, *stanza) {
		t.Errorf("alice's message is %v, and its report %v", *stanza, d)
	}
	w.eve.say(lobby, "three", "thanks", newElement(nsReply, "reply", "id", d.ExternalId))
	bridgetest.Eventually(t, "eve's answer is here", func() bool { return len(w.Messages()) == 4 })
	if got := w.Messages()[3].Content.ReplyTo.GetSeq(); got != seq {
		t.Errorf("eve's answer is one to message %d, want %d", got, seq)
	}
	w.await("xmpp: hello <all> & all", "xmpp: hi", ": welcome\n all", "xmpp: thanks")
}

// Edits and recalls cross in both directions, and only those of a message's author.
func TestEditsAndRecalls(t *testing.T) {
	w := open(t)
	w.eve.enter(lobby, "Eve")
	w.mallory.enter(lobby, "Mallory")
	w.Link(lobby, active)
	w.eve.say(lobby, "one", "helo")
	two := w.eve.say(lobby, "two", "secret")
	w.await("xmpp: helo", "xmpp: secret")
	w.restart() // it reads in the archive what corrections may name
	w.mallory.say(lobby, "forged", "forged", newElement(nsCorrection, "replace", "id", "one"))
	w.mallory.say(lobby, "forged2", "taken back", newElement(nsRetraction, "retract", "id", two))
	w.eve.say(lobby, "one'", "hello", newElement(nsCorrection, "replace", "id", "one"))
	w.await("xmpp: hello", "xmpp: secret", "xmpp: forged")
	w.eve.say(lobby, "two'", "taken back", newElement(nsRetraction, "retract", "id", two))
	w.await("xmpp: hello", "xmpp: forged")
	one, other := w.Say("god day"), w.Say("my secret")
	id, otherID := w.Delivery(one).ExternalId, w.Delivery(other).ExternalId
	w.edit(one, "good day")
	w.recall(other)
	var replaced, retracted bool
	bridgetest.Eventually(t, "the room has the edit and the recall", func() bool {
		original := w.eve.saw(func(e element) bool { return roomID(&room{address: lobby}, e) == id })
		replaced = w.eve.saw(func(e element) bool {
			c, _ := e.child(nsCorrection, "replace")
			return c.attr("id") == original.attr("id") && e.attr("from") == original.attr("from") && textOf(e) == "good day"
		}) != nil
		retracted = w.eve.saw(func(e element) bool {
			c, _ := e.child(nsRetraction, "retract")
			return c.attr("id") == otherID && e.attr("from") == original.attr("from")
		}) != nil
		return replaced && retracted
	})
	if got := w.Texts(); !slices.Equal(got, []string{"xmpp: hello", "xmpp: forged", ": good day"}) {
		t.Errorf("the group has %q", got)
	}
}

// What the room refuses is shown at the message, and as the permission of its author; so is that the room has removed the bridge.
func TestRefusals(t *testing.T) {
	w := open(t)
	w.eve.enter(lobby, "Eve")
	w.Link(lobby, active)
	w.Delivery(w.Say("one"))
	large := &chatv1.SendRequest{Conversation: w.Conversation, ClientMsgId: "large", Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat("字", 90_000)}}}
	if d := w.Delivery(must(w.Chat.Send(t.Context(), connect.NewRequest(large))).Msg.Seq); d.Reason != "too_long" {
		t.Errorf("a large message is %v", d)
	}
	w.eve.configure(lobby, "muc#roomconfig_moderatedroom", "1")
	w.eve.ask(lobby, newElement(nsAdmin, "query").with(newElement(nsAdmin, "item", "nick", "Alice", "role", "visitor")))
	if d := w.Delivery(w.Say("may I?")); d.ExternalId != "" || d.Reason != "not_voiced" || d.Text == "" {
		t.Errorf("without voice, alice's message is %v", d)
	}
	if p := w.Shown().Permission; p == nil || p.Allowed || p.Reason != "not_voiced" || p.Text == "" {
		t.Errorf("alice's permission is %v", p)
	}
	w.eve.ask(lobby, newElement(nsAdmin, "query").with(newElement(nsAdmin, "item", "nick", "Alice", "role", "participant")))
	if d := w.Delivery(w.Say("and now?")); d.ExternalId == "" {
		t.Errorf("with voice, alice's message is %v", d)
	}
	if p := w.Shown().Permission; !p.GetAllowed() {
		t.Errorf("alice's permission is %v", p)
	}
	w.eve.ask(lobby, newElement(nsAdmin, "query").with(newElement(nsAdmin, "item", "nick", "Alice", "role", "none").with(newElement(nsAdmin, "reason").withText("off topic"))))
	if d := w.Delivery(w.Say("still here?")); d.Reason != "kicked" || d.Text != "off topic" {
		t.Errorf("alice was removed, and her message is %v", d)
	}
	w.eve.ask(lobby, newElement(nsAdmin, "query").with(newElement(nsAdmin, "item", "nick", "Rialto", "role", "none").with(newElement(nsAdmin, "reason").withText("no bridges"))))
	if l := w.AwaitLink(refused); l.Reason != "kicked" || l.Text != "no bridges" {
		t.Errorf("the bridge was removed, and the link is %v", l)
	}
	must(w.Links.LinkBridge(t.Context(), connect.NewRequest(&bridgev1.LinkBridgeRequest{Conversation: w.Conversation, Bridge: "xmpp", Address: lobby})))
	w.AwaitLink(active)
	w.eve.ask(lobby, newElement(nsAdmin, "query").with(newElement(nsAdmin, "item", "jid", "bridge@"+bridgeDomain, "affiliation", "outcast")))
	if l := w.AwaitLink(refused); l.Reason != "banned" {
		t.Errorf("the bridge was banned, and the link is %v", l)
	}
	w.Unlink()
	if l := w.Link(lobby, refused); l.Reason != "banned" {
		t.Errorf("the bridge is banned, and the link is %v", l)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A bridge that is killed at any point loses nothing and repeats nothing, on both sides. It reads what was written while it was gone.
func TestKilledInTheMiddle(t *testing.T) {
	w := open(t)
	w.eve.enter(lobby, "Eve")
	w.Link(lobby, active)
	var all, ours []string
	for round, call := range []string{"SendBridgedMessage", "ReportDelivery", "ConfirmEvents"} {
		w.Withhold(call)
		if call == "ReportDelivery" {
			w.Block(call) // only the room's archive knows that the message has arrived
		}
		var theirs []string
		for n := range 10 {
			theirs = append(theirs, fmt.Sprintf("theirs %d.%d", round, n))
			w.eve.say(lobby, theirs[n], theirs[n])
		}
		all = append(all, theirs...)
		var last uint64
		for n := range 5 {
			text := fmt.Sprintf("ours %d.%d", round, n)
			last = w.Say(text)
			ours, all = append(ours, "Alice: "+text), append(all, text)
		}
		first := fmt.Sprintf("Alice: ours %d.0", round)
		bridgetest.Eventually(t, "the room has the first message", func() bool { return slices.Contains(w.eve.seen(lobby), first) })
		bridgetest.Kill(w.bridge)
		while := fmt.Sprintf("while it is gone %d", round)
		w.eve.say(lobby, while, while)
		all = append(all, while)
		w.Withhold("")
		w.Block("")
		w.restart()
		if d := w.Delivery(last); d.ExternalId == "" {
			t.Errorf("the last message of round %d is %v, want it with an id of the other system", round, d)
		}
		bridgetest.Eventually(t, "all is here", func() bool { return len(w.Messages()) >= len(all) })
	}
	w.eve.say(lobby, "end", "end")
	bridgetest.Eventually(t, "the end is here", func() bool { return slices.Contains(w.Texts(), "xmpp: end") })
	w.compare(append(all, "end"), ours)
}

// compare checks what both sides have: here in any order between the sides, there in order.
func (w *world) compare(here, there []string) {
	w.t.Helper()
	var got, gotThere []string
	for _, m := range w.Messages() {
		got = append(got, m.Content.GetText())
	}
	slices.Sort(got)
	slices.Sort(here)
	if !slices.Equal(got, here) {
		w.t.Errorf("the group has %q, want %q", got, here)
	}
	for _, text := range w.eve.seen(lobby) {
		if text[:4] != "Eve:" {
			gotThere = append(gotThere, text)
		}
	}
	if !slices.Equal(gotThere, there) {
		w.t.Errorf("the room has %q, want %q", gotThere, there)
	}
}

// After restarts of both servers, both directions work, and nothing was lost or repeated.
func TestRestarts(t *testing.T) {
	w := open(t)
	w.eve.enter(lobby, "Eve")
	w.Link(lobby, active)
	w.eve.say(lobby, "one", "one")
	w.Delivery(w.Say("two"))
	w.prosody.restart()
	four := w.Say("three")
	w.connectPeople()
	w.eve.enter(lobby, "Eve")
	w.eve.say(lobby, "four", "four")
	if d := w.Delivery(four); d.ExternalId == "" {
		t.Errorf("what was written while prosody was away is %v", d)
	}
	bridgetest.Eventually(t, "eve's message is here", func() bool { return slices.Contains(w.Texts(), "xmpp: four") })
	w.Stop()
	for n := range 5 {
		text := fmt.Sprint("while Rialto is away ", n)
		w.eve.say(lobby, text, text)
	}
	w.Rialto.Restart()
	want := []string{"xmpp: one", ": two", ": three", "xmpp: four", "xmpp: while Rialto is away 0", "xmpp: while Rialto is away 1", "xmpp: while Rialto is away 2", "xmpp: while Rialto is away 3", "xmpp: while Rialto is away 4"}
	bridgetest.Eventually(t, "all is here", func() bool { return len(w.Texts()) >= len(want) })
	got := w.Texts()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the group has %q, want %q", got, want)
	}
	if d := w.Delivery(w.Say("five")); d.ExternalId == "" {
		t.Errorf("after both restarts, a message is %v", d)
	}
}

// A room without an archive gives who enters it what was written last: nothing is lost that it gives, and nothing repeated.
func TestRoomWithoutAnArchive(t *testing.T) {
	w := open(t)
	w.eve.enter(plain, "Eve")
	w.Link(plain, active)
	w.eve.say(plain, "one", "one")
	w.await("xmpp: one")
	w.Withhold("ReportDelivery")
	seq := w.Say("two")
	w.awaitRoom(plain, "Eve: one", "Alice: two")
	bridgetest.Kill(w.bridge)
	w.eve.say(plain, "three", "three")
	w.Withhold("")
	w.restart()
	if d := w.Delivery(seq); d.ExternalId == "" {
		t.Errorf("alice's message is %v", d)
	}
	w.await("xmpp: one", ": two", "xmpp: three")
	w.eve.say(plain, "four", "four")
	w.await("xmpp: one", ": two", "xmpp: three", "xmpp: four")
	w.awaitRoom(plain, "Eve: one", "Alice: two", "Eve: three", "Eve: four")
}

// A component's connection has neither encryption nor a password that is worth something: it does not leave the machine without TLS.
func TestPlainConnections(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	n := slices.IndexFunc(own, func(a net.Addr) bool {
		ip, is := a.(*net.IPNet)
		return is && !ip.IP.IsLoopback() && ip.IP.To4() != nil
	})
	if n < 0 {
		t.Log("this machine has no address beside those of the loopback")
		return
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_, err = openStream(t.Context(), config{server: net.JoinHostPort(own[n].(*net.IPNet).IP.String(), port), domain: bridgeDomain, secret: testSecret})
	if !errors.Is(err, errNotEncrypted) {
		t.Errorf("without TLS, a server on another machine is %v, want %v", err, errNotEncrypted)
	}
}
