package terminal

import (
	"slices"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// A menu is shown with numbers, by which its items are chosen.
func TestMenusAreNumbered(t *testing.T) {
	item := func(title string) *chatv1.OfficialMenuItem { return &chatv1.OfficialMenuItem{Title: title} }
	a := &chatv1.OfficialAccount{Channel: 7, Menu: []*chatv1.OfficialMenuEntry{{Item: item("Shop")}, {Item: item("Help"), Items: []*chatv1.OfficialMenuItem{item("Hours"), item("Refunds\x1b[2J")}}}}
	want := []string{"You do not follow this account: /channel join 7", "  1    Shop", "  2    Help", "  2.1  Hours", "  2.2  " + plain("Refunds\x1b[2J")}
	if got := menuLines(a); !slices.Equal(got, want) {
		t.Errorf("the menu is %q, want %q", got, want)
	}
	for text, want := range map[string]string{"1": "Shop", "2.1": "Hours", "2": "Help"} {
		if _, _, of, err := itemAt(a, text); err != nil || of.Title != want {
			t.Errorf("menu item %s is %v, want %q: %v", text, of, want, err)
		}
	}
	for _, text := range []string{"0", "3", "2.0", "2.3", "1.1", "-1", "2.-1", "x", "", "2."} {
		if _, _, of, err := itemAt(a, text); err == nil {
			t.Errorf("%q chooses %v, want an error", text, of)
		}
	}
}

// The account of a menu is the one that one writes to, or whose channel is open.
func TestTheOfficialAccountOfAConversation(t *testing.T) {
	for _, c := range []struct {
		open          *chatv1.Conversation
		user, channel uint64
		fails         bool
	}{
		{open: &chatv1.Conversation{Id: 1, Kind: chatv1.ConversationKind_CONVERSATION_KIND_DIRECT, Peer: 7}, user: 7},
		{open: &chatv1.Conversation{Id: 2, Kind: chatv1.ConversationKind_CONVERSATION_KIND_GROUP, Channel: true}, channel: 2},
		{open: &chatv1.Conversation{Id: 3, Kind: chatv1.ConversationKind_CONVERSATION_KIND_GROUP}, fails: true},
	} {
		if of, err := officialOf(c.open); of.GetUser() != c.user || of.GetChannel() != c.channel || (err != nil) != c.fails {
			t.Errorf("with %v open, the account is %v %v", c.open, of, err)
		}
	}
}
