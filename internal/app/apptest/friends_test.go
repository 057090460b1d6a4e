package apptest_test

import (
	"testing"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/config"
)

// Where only friends may write to each other, a friendship counts from its answer to its end.
func TestFriendsOnly(t *testing.T) {
	h := apptest.Open(t, func(c *config.Config) { c.Chat.WhoMayWrite = "friends" })
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c := h.Direct(t, alice, bob)
	n := uint64(0)
	may := func(want bool) {
		t.Helper()
		n++
		_, err := h.Chat().Send(t.Context(), apptest.As(alice, &chatv1.SendRequest{Conversation: c, ClientSeq: n, Content: apptest.Text("x")}))
		if (err == nil) != want {
			t.Errorf("may write: %v, want %v", err, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	may(false)
	for range 2 {
		_, err := h.Graph().RequestFriend(t.Context(), apptest.As(alice, &accountv1.RequestFriendRequest{User: bob.User}))
		must(err)
		may(false)
		_, err = h.Graph().AnswerFriend(t.Context(), apptest.As(bob, &accountv1.AnswerFriendRequest{User: alice.User, Accept: true}))
		must(err)
		may(true)
		_, err = h.Graph().DeleteFriend(t.Context(), apptest.As(bob, &accountv1.DeleteFriendRequest{User: alice.User}))
		must(err)
		may(false)
	}
}
