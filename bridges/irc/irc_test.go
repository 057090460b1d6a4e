package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/bridges/bridgetest"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const lobby = "#lobby"

// world has a Rialto, an ngircd, and a bridge that the test kills. Eve operates the channel.
type world struct {
	*bridgetest.Rialto
	t      *testing.T
	irc    *ngircd
	bridge *exec.Cmd
	state  string
	eve    *person
	// interval between lines of the bridge.
	interval string
}

func open(t *testing.T) *world {
	t.Helper()
	w := &world{Rialto: bridgetest.Open(t, "irc"), t: t, irc: startNgircd(t), state: filepath.Join(t.TempDir(), "irc"), interval: "1ms"}
	w.eve = w.irc.connect("eve", lobby)
	w.restart()
	return w
}

// restart starts the bridge, after it was killed if it runs.
func (w *world) restart() {
	if w.bridge != nil {
		bridgetest.Kill(w.bridge)
	}
	w.bridge = bridgetest.Start(w.t, []string{"BRIDGE=1", "RIALTO_KEY=" + w.Key}, os.Args[0], "--url", w.URL, "--server", w.irc.address, "--ca", w.irc.ca, "--channels", "#lobby,#closed", "--state", w.state, "--interval", w.interval)
}

// await waits for the texts of the group, each with the bridge over which it came.
func (w *world) await(want ...string) {
	w.t.Helper()
	bridgetest.Eventually(w.t, fmt.Sprintf("the group has %q", want), func() bool { return len(w.Texts()) >= len(want) })
	if got := w.Texts(); !slices.Equal(got, want) {
		w.t.Fatalf("the group has %q, want %q", got, want)
	}
}

// awaitChannel waits for the lines that Eve sees.
func (w *world) awaitChannel(want ...string) {
	w.t.Helper()
	bridgetest.Eventually(w.t, fmt.Sprintf("the channel has %q", want), func() bool { return len(w.eve.lines()) >= len(want) })
	if got := w.eve.lines(); !slices.Equal(got, want) {
		w.t.Fatalf("the channel has %q, want %q", got, want)
	}
}

// What is written on one side is on the other, once, with who wrote it, and goes no further.
func TestBothDirections(t *testing.T) {
	w := open(t)
	w.Link("#Lobby", active)
	w.eve.say(lobby, "\x02hello\x02 all")
	w.eve.say(lobby, "\x01ACTION waves\x01")
	w.eve.say(lobby, "\x01VERSION\x01")
	w.await("irc: hello all", "irc: * waves")
	list := w.Messages()
	if list[0].Sender != list[1].Sender || list[0].Sender == w.Alice || list[0].Content.ExternalId == list[1].Content.ExternalId {
		t.Errorf("eve's messages are %v", list)
	}
	seq := w.Say("hi\n\n\x02there")
	if d := w.Delivery(seq); d.ExternalId == "" || d.Bridge != "irc" {
		t.Errorf("alice's message is %v", d)
	}
	long := strings.TrimSpace(strings.Repeat("many words ", 60))
	w.Delivery(w.Say(long))
	w.eve.say(lobby, "thanks")
	w.await("irc: hello all", "irc: * waves", ": hi\n\n\x02there", ": "+long, "irc: thanks")
	lines := w.eve.lines()
	if len(lines) != 4 || lines[0] != "#lobby <Alice> hi" || !strings.HasSuffix(lines[1], " <Alice> there") {
		t.Errorf("the channel has %q", lines)
	}
	if got := strings.TrimPrefix(lines[2], "#lobby <Alice> ") + " " + strings.TrimPrefix(lines[3], "#lobby <Alice> "); got != long {
		t.Errorf("a long text is %q, want %q", got, long)
	}
}

// Edits and recalls stay here, and the bridge says so. What is no text is refused, and so is what has too many lines.
func TestWhatIsNotCarried(t *testing.T) {
	w := open(t)
	w.Link(lobby, active)
	shown := bridgetest.Must(w.Links.ListBridgeLinks(t.Context(), connect.NewRequest(&bridgev1.ListBridgeLinksRequest{Conversation: w.Conversation})))(t).Msg.Bridges[0]
	if shown.Edits || shown.Recalls || shown.Reactions || shown.Files {
		t.Errorf("the bridge says that it carries %v, want neither edits, recalls, reactions nor files", shown)
	}
	one, two := w.Say("one"), w.Say("two")
	w.Delivery(two)
	ref := &chatv1.Ref{Seq: one}
	w.Send(&chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: ref, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "ONE"}}}}})
	w.Send(&chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: two}}}})
	if d := w.Delivery(w.Send(&chatv1.Content{Kind: &chatv1.Content_Location{Location: &chatv1.Location{Latitude: 1, Longitude: 1}}})); d.Reason != "not_carried" {
		t.Errorf("a location is %v", d)
	}
	if d := w.Delivery(w.Say(strings.Repeat("line\n", 21))); d.Reason != "too_long" || d.Text == "" {
		t.Errorf("a text of 21 lines is %v", d)
	}
	w.Delivery(w.Say("end"))
	w.awaitChannel("#lobby <Alice> one", "#lobby <Alice> two", "#lobby <Alice> end")
}

// What the channel refuses is shown at the message, and as the permission of its author.
func TestRefusedMessages(t *testing.T) {
	w := open(t)
	w.Link(lobby, active)
	w.eve.send("MODE", lobby, "+m")
	if d := w.Delivery(w.Say("may I?")); d.ExternalId != "" || d.Reason != "cannot_send" || d.Text == "" {
		t.Errorf("in a moderated channel, alice's message is %v, want it refused with cannot_send", d)
	}
	if p := w.Shown().Permission; p == nil || p.Allowed || p.Reason != "cannot_send" {
		t.Errorf("alice's permission is %v", p)
	}
	w.eve.send("MODE", lobby, "-m")
	if d := w.Delivery(w.Say("and now?")); d.ExternalId == "" {
		t.Errorf("without moderation, alice's message is %v", d)
	}
	if p := w.Shown().Permission; !p.GetAllowed() {
		t.Errorf("alice's permission is %v", p)
	}
	w.awaitChannel("#lobby <Alice> and now?")
}

// A link says what the channel says: not permitted, closed, kicked, banned, and accepted again. A channel whose link was ended is left.
func TestLinksFollowTheChannel(t *testing.T) {
	w := open(t)
	try := func(channel, reason string) {
		t.Helper()
		if l := w.Link(channel, refused); l.Reason != reason {
			t.Errorf("a link with %s is %v, want the reason %s", channel, l, reason)
		}
		w.Unlink()
	}
	w.eve.send("JOIN", "#closed")
	w.eve.send("MODE", "#closed", "+i")
	try("#other", "not_permitted")
	try("#lobby,#closed", "not_permitted")
	try("#closed", "invite_only")
	w.Link(lobby, active)
	w.eve.awaitIn(lobby, "rialto", true)
	w.eve.send("KICK", lobby, "rialto", "no bridges")
	if l := w.AwaitLink(refused); l.Reason != "kicked" || !strings.Contains(l.Text, "no bridges") || !strings.Contains(l.Text, "eve") {
		t.Errorf("the bridge was kicked, and the link is %v", l)
	}
	w.eve.awaitIn(lobby, "rialto", false)
	w.Unlink()
	w.eve.send("MODE", lobby, "+b", "rialto!*@*")
	try(lobby, "banned")
	w.eve.send("MODE", lobby, "-b", "rialto!*@*")
	w.Link(lobby, active)
	w.Delivery(w.Say("back"))
	w.Unlink()
	w.eve.awaitIn(lobby, "rialto", false)
}
