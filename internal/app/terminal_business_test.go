package app

import (
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// An agent reads the figures of a help desk, and an operator sends and takes back a broadcast, by lines of rialto chat.
func TestDeskStatsAndBroadcastsInTerminals(t *testing.T) {
	h, _ := open(t)
	people := newcomers(t, h, "Alice", "Bob", "Shop")
	alice, bob := people[0], people[1]
	users, err := h.accounts.GetUsers(t.Context(), &accountv1.GetUsersRequest{Handles: []string{"alice", "shop"}})
	must(t, err)
	withKey, handle := withKey(key(t, h)), "the.shop"
	_, err = chatv1connect.NewHelpDeskServiceClient(http.DefaultClient, url(h), withKey).PutHelpDesk(t.Context(), connect.NewRequest(&chatv1.PutHelpDeskRequest{Desk: &chatv1.HelpDesk{Key: "support", Name: "Support", Agents: []uint64{users[0].Id}}}))
	must(t, err)
	_, err = accountv1connect.NewAdminServiceClient(http.DefaultClient, url(h), withKey).PutOfficialAccount(t.Context(), connect.NewRequest(&accountv1.PutOfficialAccountRequest{User: users[1].Id, Handle: &handle}))
	must(t, err)
	_, err = h.officials.SetOperator(t.Context(), id.User(users[1].Id), &chatv1.SetOfficialOperatorRequest{User: users[1].Id, Operator: users[0].Id, Role: chatv1.OfficialRole_OFFICIAL_ROLE_OPERATOR})
	must(t, err)

	alice.types("/presence dnd", "/deskstats nowhere", "/deskstats support many", "/deskstats support")
	alice.sees("Done.", "! there is no help desk", "! give a number of days", "  waiting: 0, active: 0", "  in all: resolved: 0")
	bob.types("/deskstats support", "/ticket support It is broken")
	bob.sees("! ", "Support: It is broken")
	alice.types("/take support", "hello", "/resolve")
	alice.sees("you have this ticket", "hello", "Done.")
	bob.types("/rate 4 quick")
	bob.sees("Done.")
	alice.types("/deskstats support 1")
	alice.sees("  in all: resolved: 1; ", "rated 4.0 of 5, by 1", "  you: resolved: 1")

	bob.types("/broadcasts", "/broadcasts @shop", "/channel join @the.shop")
	bob.sees("You operate no official account.", "! ", "--- ")
	bob.closesChat()
	alice.types("/broadcasts", "/broadcasts @shop", "/broadcasts @shop recall 1", "/broadcasts @shop forget 1", "/broadcast @shop")
	alice.sees("  @shop  Shop  1 follower", "There are no broadcasts.", "! no broadcast has this number", "! use /broadcasts", "! give an account and a text")
	alice.types("/broadcast @shop We are open again")
	alice.sees("Done.")
	bob.sees("[Shop]", "Shop: We are open again")
	alice.types("/broadcasts @shop", "/broadcasts @shop recall 1", "/broadcasts @shop")
	alice.sees("sent to 1, failed: 0  We are open again", "Done.", "taken back: sent to 1")
}
