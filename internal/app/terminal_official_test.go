package app

import (
	"testing"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// TestOfficialAccountsInTerminals: an operator writes the menu and the replies of an official account by lines of rialto chat, a follower gets them, and
// whoever else changes nothing.
func TestOfficialAccountsInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob", "Carol")
	alice, bob, carol := people[0], people[1], people[2]
	users, err := h.accounts.GetUsers(t.Context(), &accountv1.GetUsersRequest{Handles: []string{"alice"}})
	must(t, err)
	handle := "the.shop"
	_, err = h.officials.Put(t.Context(), &accountv1.PutOfficialAccountRequest{User: users[0].Id, Handle: &handle})
	must(t, err)

	alice.types("/official", "/official @alice", "/official @alice paint red")
	alice.sees("  @alice  you  0 followers", "/official @account menu N[.M] OPTIONS\n      set an entry", "It has no menu.", `! an official account has no "paint" to change`)
	alice.types(`/official @alice menu 1 title:Hours reply:"9 to 17"`, `/official @alice menu 2.1 under:Help title:Map url:https://shop.example.com/map`, `/official @alice menu 2.2 title:Ask text:"Where is my order?"`,
		`/official @alice rule 1 contains:"refund,退款" reply:"within a week"`, "/official @alice welcome Hello there", "/official @alice fallback We will answer soon", "/official @alice menu 9 title:x", "/official @alice rule 1 reply:", "/official @alice")
	alice.sees("Done.", "Done.", "Done.", "Done.", "Done.", "Done.", "! the menu has no such item", "! give what is set of a rule",
		"  1    Hours  replies: 9 to 17\n  2    Help\n  2.1  Map  opens https://shop.example.com/map\n  2.2  Ask  has the user say: Where is my order?\n  rule 1: contains \"refund, 退款\": within a week\n  welcome: Hello there\n  without a rule: We will answer soon\n")
	bob.types("/official @alice menu 1 title:Mine")
	bob.sees("! ")
	bob.types("/channel join @the.shop")
	bob.sees("Hello there")
	bob.types("/official @alice")
	bob.sees("  1    Hours  replies: 9 to 17\n  2    Help")
	bob.seesNot("contains")
	bob.types("/open @alice", "/menu 1")
	bob.sees("--- Alice ---", "9 to 17")
	bob.types("My refund?")
	bob.sees("within a week")
	bob.types("Anything else?")
	bob.sees("We will answer soon")

	alice.types("/official @alice label vip @bob", "/official @alice followers vip", "/official @alice followers nobody", "/official @alice operator @carol operator", "/official @alice remove menu 2.1", "/official @alice remove rule 1", "/official @alice remove welcome",
		"/official @alice remove fallback", "/official @alice remove rule 1", "/official @alice remove all", "/official @alice")
	alice.sees("Done.", "  @bob  Bob  vip", "No one found.", "Done.", "Done.", "Done.", "Done.", "Done.", "! there is no such rule", "! write what to remove",
		"  1    Hours  replies: 9 to 17\n  2    Help\n  2.1  Ask  has the user say: Where is my order?\n", "  @carol  Carol  (operator)\n", "  labels: vip\n")
	alice.types("/official @alice label regular @bob", "/official @alice relabel from:vip to:regular", `/official @alice relabel from:regular to:"good customer"`, "/official @alice followers", "/official @alice remove label good customer",
		"/official @alice remove label good customer yes", "/official @alice remove label regular yes", "/official @alice followers vip")
	alice.sees("Done.", "! there is such a label", "Done.", "  @bob  Bob  good customer, vip", "! this takes the label off", "Done.", "! no follower has this label", "  @bob  Bob  vip")
	carol.types("/official", "/broadcast @alice label:vip waves:1,x Open", "/broadcast @alice label:vip waves:50,100 every:1s Open again", "/broadcasts @alice")
	carol.sees("  @alice  Alice  1 follower", "! give the waves", "Done.", "Open again")
	bob.sees("Open again")
}

// TestConsentInTerminals: who lets only friends add them is invited by others, and joins when they accept.
func TestConsentInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob")
	alice, bob := people[0], people[1]
	alice.types("/addable somebody", "/addable friends", "/previews maybe", "/previews off", "/me")
	alice.sees("! say /addable default, everyone, friends or nobody", "Done.", "! say /previews on or /previews off", "Done.", "who may add you to groups: friends", "your links have no previews")
	bob.types("/group Hikers @alice")
	bob.sees("Those whom you may not add were invited", "--- Hikers ---")
	bob.types("/invited")
	bob.sees("@alice  Alice, invited by you")
	alice.sees("Bob invites you to")
	alice.types("/invitations accept 1", "/previews on", "/addable default", "/me")
	alice.sees("--- Hikers ---", "Done.", "Done.", "who may add you to groups: default")
}
