package bridge_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	bridgev1 "github.com/rialto-im/rialto/sdk/go/gen/bridge/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// The same external id gives the same message, whatever comes with it and at the same time; another id, another bridge and another group have messages of their own.
func TestAnExternalIDIsStoredOnce(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	f.link(f.xmpp, "rialto@rooms.example")
	first := f.receive(f.irc, f.text("1", "eve", "hello"))
	if first.Duplicate || first.Seq == 0 {
		t.Fatalf("the first message is answered with %v", first)
	}
	var wait sync.WaitGroup
	for n := range 8 {
		wait.Go(func() {
			again, err := f.SendBridgedMessage(t.Context(), f.irc, f.text("1", fmt.Sprint("eve", n%2), fmt.Sprint("hello ", n)))
			if err != nil || !again.Duplicate || again.Seq != first.Seq || again.Id != first.Id {
				t.Errorf("a repetition is answered with %v (%v)", again, err)
			}
		})
	}
	wait.Wait()
	if other, same := f.receive(f.irc, f.text("2", "eve", "hello")), f.receive(f.xmpp, f.text("1", "eve", "hello")); other.Duplicate || same.Duplicate || other.Seq != first.Seq+1 || same.Seq != first.Seq+2 {
		t.Errorf("other messages are answered with %v and %v", other, same)
	}
	m := f.at(first.Seq)
	if m.Content.GetText() != "hello" || m.Content.Bridge != "irc" || m.Content.ExternalId != "1" || m.Sender != first.Sender {
		t.Errorf("the message is %v", m)
	}
}

// Edits and recalls find a message by its external id, each is stored once, and they change only what came over the same bridge.
func TestEditsAndRecallsByExternalID(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	f.link(f.xmpp, "rialto@rooms.example")
	seq := f.receive(f.irc, f.text("1", "eve", "helo")).Seq
	edit := f.receive(f.irc, f.edit("2", "1", "hello"))
	if again := f.receive(f.irc, f.edit("2", "1", "hello")); again.Seq != edit.Seq || !again.Duplicate || edit.Duplicate {
		t.Errorf("an edit is answered with %v, and repeated with %v", edit, again)
	}
	if m := f.at(seq); m.Content.GetText() != "hello" || m.EditSeq != edit.Seq || m.Content.ExternalId != "1" || m.Content.Bridge != "irc" {
		t.Errorf("the edited message is %v", m)
	}
	own := f.say(f.alice, "mine")
	f.delivered(f.irc, own, "3")
	for _, r := range []*bridgev1.SendBridgedMessageRequest{f.edit("4", "3", "yours"), f.recall("4", "3")} {
		if _, err := f.SendBridgedMessage(t.Context(), f.irc, r); reasonOf(err) != "not_bridged" {
			t.Errorf("a change of a message from here: %v", err)
		}
	}
	if _, err := f.SendBridgedMessage(t.Context(), f.xmpp, f.recall("4", "1")); reasonOf(err) != "no_message" {
		t.Errorf("a recall by another bridge: %v", err)
	}
	recall := f.receive(f.irc, f.recall("5", "1"))
	if m := f.at(seq); m.RecallSeq != recall.Seq || m.Content != nil {
		t.Errorf("the recalled message is %v", m)
	}
}

// A reply names the message that it answers by an external id: one that came over the bridge, or one from here that was delivered there. If the id is not known, it is a message.
func TestRepliesByExternalID(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	theirs := f.receive(f.irc, f.text("1", "eve", "hello")).Seq
	ours := f.say(f.alice, "hi")
	f.delivered(f.irc, ours, "2")
	gone := f.receive(f.irc, f.text("3", "eve", "oh")).Seq
	must(t, f.chat.RecallForModerators(t.Context(), f.group, gone))
	for n, c := range []struct {
		to   string
		want uint64
	}{{"1", theirs}, {"2", ours}, {"3", 0}, {"other", 0}} {
		r := f.text(fmt.Sprint("reply", n), "eve", "yes")
		r.ReplyTo = c.to
		if m := f.at(f.receive(f.irc, r).Seq); m.Content.GetText() != "yes" || m.Content.GetReplyTo().GetSeq() != c.want {
			t.Errorf("the reply to %s is %v, want one to %d", c.to, m, c.want)
		}
	}
}

// All members see at a message what became of it in the other systems, the last report of each; it is not stored twice. The echo of a delivered message is that message.
func TestReportsOfDeliveries(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	f.link(f.xmpp, "rialto@rooms.example")
	seq := f.say(f.alice, "hi")
	refuse := &bridgev1.ReportDeliveryRequest{Conversation: uint64(f.group), Seq: seq, Reason: "not_voiced", Text: "You may not write in #rialto."}
	for range 2 {
		if _, err := f.ReportDelivery(t.Context(), f.irc, refuse); err != nil {
			t.Fatal(err)
		}
	}
	f.delivered(f.xmpp, seq, "x1")
	got := f.at(seq).BridgeDeliveries
	if len(got) != 2 || got[0].Bridge != "irc" || got[0].Reason != "not_voiced" || got[0].Text != refuse.Text || got[0].ExternalId != "" || got[1].Bridge != "xmpp" || got[1].ExternalId != "x1" || got[1].Seq != f.tail() || got[0].Seq != seq+1 || got[1].Seq != seq+2 {
		t.Errorf("the message says %v", got)
	}
	f.delivered(f.irc, seq, "i1")
	if got := f.at(seq).BridgeDeliveries; len(got) != 2 || got[1].Bridge != "irc" || got[1].ExternalId != "i1" || got[1].Reason != "" {
		t.Errorf("after a second report the message says %v", got)
	}
	if echo := f.receive(f.irc, f.text("i1", "rialto-bot", "<alice> hi")); !echo.Duplicate || echo.Seq != seq {
		t.Errorf("the echo is answered with %v, want message %d", echo, seq)
	}
	other := f.say(f.alice, "again")
	if _, err := f.ReportDelivery(t.Context(), f.irc, &bridgev1.ReportDeliveryRequest{Conversation: uint64(f.group), Seq: other, ExternalId: "i1"}); reasonOf(err) != "external_id_taken" {
		t.Errorf("the id of another message: %v", err)
	}
	must(t, f.chat.RecallForModerators(t.Context(), f.group, other))
	f.delivered(f.irc, other, "i2") // the recall finds it there by that
	if m := f.at(other); m.RecallSeq == 0 || len(m.BridgeDeliveries) != 1 || m.BridgeDeliveries[0].ExternalId != "i2" {
		t.Errorf("the recalled message is %v", m)
	}
}

// What came over a bridge does not go back over it, nor do its own reports; over another bridge it goes.
func TestNothingGoesBackOverItsBridge(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	f.link(f.xmpp, "rialto@rooms.example")
	ours := f.say(f.alice, "hi")
	theirs := f.receive(f.irc, f.text("1", "eve", "hello")).Seq
	edit := f.receive(f.irc, f.edit("2", "1", "hello all")).Seq
	f.delivered(f.irc, ours, "3")
	report := f.tail()
	recall := f.receive(f.irc, f.recall("4", "1")).Seq
	last := f.say(f.bob, "bye")
	if got, want := f.received(f.irc, last), []string{fmt.Sprint("MESSAGE ", ours), fmt.Sprint("MESSAGE ", last)}; !slices.Equal(got, want) {
		t.Errorf("the bridge receives %v, want %v", got, want)
	}
	want := []string{fmt.Sprint("MESSAGE ", ours), fmt.Sprint("MESSAGE ", theirs), fmt.Sprint("EDIT ", edit), fmt.Sprint("BRIDGE_REPORT ", report), fmt.Sprint("RECALL ", recall), fmt.Sprint("MESSAGE ", last)}
	if got := f.received(f.xmpp, last); !slices.Equal(got, want) {
		t.Errorf("another bridge receives %v, want %v", got, want)
	}
}

// Somebody in another system is one user for each address, with the name of there, is shown as such, is no member, and cannot log in.
func TestPeopleOfAnotherSystem(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	send := func(n, address, name string) id.User {
		r := f.text(n, address, "hello")
		r.Sender.Name = name
		return id.User(f.receive(f.irc, r).Sender)
	}
	long := strings.Repeat("é", 100)
	eve, adam, other := send("1", "eve", "Eve"), send("2", "adam", ""), send("3", long, "")
	if send("4", "eve", "Eva") != eve || send("5", "eve", "") != eve || adam == eve {
		t.Errorf("the users are %d and %d", eve, adam)
	}
	for u, name := range map[id.User]string{eve: "Eva", adam: "adam", other: long[:128]} {
		if got, err := f.accounts.GetUser(t.Context(), u); err != nil || got.DisplayName != name || got.Bridge != "irc" {
			t.Errorf("the user is %v (%v), want %s", got, err, name)
		}
		if _, err := f.accounts.CreateSession(t.Context(), &accountv1.CreateSessionRequest{User: uint64(u), Client: &accountv1.Client{Type: "test"}}); reasonOf(err) != "no_user" {
			t.Errorf("a session of user %s: %v", name, err)
		}
		if _, err := f.chat.MemberRole(t.Context(), f.group, u); reasonOf(err) != "no_conversation" {
			t.Errorf("the membership of %s: %v", name, err)
		}
	}
}

// No message is refused for the name of its author: what a name may not have is left out, and a name of which nothing is left, or that has a word of the operator's list, gives way to the address, or to somebody.
func TestNamesThatUsersMayNotHave(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	n := 0
	send := func(address, name string) string {
		t.Helper()
		n++
		r := f.text(fmt.Sprint(n), address, "hello")
		r.Sender.Name = name
		u, err := f.accounts.GetUser(t.Context(), id.User(f.receive(f.irc, r).Sender))
		must(t, err)
		return u.DisplayName
	}
	for _, c := range []struct{ address, name, want string }{
		{"a1", "E\u200dv\u200be", "Eve"}, {"a2", "\u202eevE", "evE"}, {"a3", "\u3164", "a3"}, {"a4", "e" + strings.Repeat("\u0323", 9), "\u1eb9" + strings.Repeat("\u0323", 5)}, {"a5", "Eve\nAdam", "Eve Adam"},
		{"a6", "casino eve", "a6"}, {"casino@x", "casino", "somebody"}, {"\u200dcasino", "", "somebody"}, {"\u3164", "\u3164", "somebody"}, {"a7", strings.Repeat("é", 99), strings.Repeat("é", 64)},
	} {
		for range 2 {
			if got := send(c.address, c.name); got != c.want {
				t.Errorf("%q, called %q, is shown as %q, want %q", c.address, c.name, got, c.want)
			}
		}
	}
	for _, c := range []struct{ name, want string }{{"Eva\u200b", "Eva"}, {"casino", "Eva"}, {"casino", "Eva"}, {"\u3164", "Eva"}, {"Evi", "Evi"}} {
		if got := send("a1", c.name); got != c.want {
			t.Errorf("who calls themselves %q now is shown as %q, want %q", c.name, got, c.want)
		}
	}
}

// People of another system are like members without a role: who is banned does not write, and nobody while only admins do. A bridge reports what became of messages then, too.
func TestPeopleOfAnotherSystemObeyTheGroup(t *testing.T) {
	f := open(t)
	f.link(f.irc, "#rialto")
	eve := f.receive(f.irc, f.text("1", "eve", "hello")).Sender
	refused := func(n, address, want string) {
		t.Helper()
		if _, err := f.SendBridgedMessage(t.Context(), f.irc, f.text(n, address, "hello")); reasonOf(err) != want {
			t.Errorf("a message is answered with %v, want %s", err, want)
		}
	}
	_, err := f.chat.Ban(t.Context(), f.group, f.alice, []uint64{eve})
	must(t, err)
	refused("2", "eve", "muted")
	refused("3", "adam", "")
	seq := f.say(f.alice, "quiet please")
	_, err = f.chat.MuteMembers(t.Context(), f.group, f.alice, &chatv1.MuteMembersRequest{Conversation: uint64(f.group), UntilMs: 1 << 50})
	must(t, err)
	refused("4", "adam", "muted")
	f.delivered(f.irc, seq, "5")
	_, err = f.chat.Dissolve(t.Context(), f.group, f.alice)
	must(t, err)
	refused("6", "adam", "dissolved")
}
