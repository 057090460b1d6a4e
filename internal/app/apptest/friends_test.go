package apptest_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// If only friends may write to each other, the permission begins with the acceptance and ends with the friendship.
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
			t.Errorf("send: got %v, want permission %v", err, want)
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
