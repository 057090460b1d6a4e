package app

import (
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// canarySecret is in each text and each secret below, and must be in no line of the log.
const canarySecret = "canary4tweets"

// talk makes calls with the canarySecret wherever a text or a secret may be, and returns how many failed.
func talk(t *testing.T, h *Node, alice *rialto.Client, bob, conversation, group uint64) (calls, failed int) {
	did := func(err error) {
		calls++
		if err != nil {
			failed++
			if strings.Contains(err.Error(), canarySecret) {
				t.Errorf("an answer repeats what it was sent: %v", err)
			}
		}
	}
	ctx := t.Context()
	text := &chatv1.Content{Kind: &chatv1.Content_Text{Text: canarySecret}}
	word := canarySecret
	did(client(t, h).Login(ctx, "alice", canarySecret+" wrong"))
	did(client(t, h).Login(ctx, "alice", canarySecret+" over the sea"))
	did(client(t, h).Register(ctx, "alice", canarySecret+" over the sea", canarySecret))
	_, err := alice.Account().ChangePassword(ctx, connect.NewRequest(&accountv1.ChangePasswordRequest{OldPassword: canarySecret + " wrong", NewPassword: canarySecret + " other"}))
	did(err)
	_, err = alice.Account().UpdateProfile(ctx, connect.NewRequest(&accountv1.UpdateProfileRequest{DisplayName: &word, Bio: &word}))
	did(err)
	_, err = alice.Account().SearchUsers(ctx, connect.NewRequest(&accountv1.SearchUsersRequest{Query: canarySecret}))
	did(err)
	_, err = alice.Graph().RequestFriend(ctx, connect.NewRequest(&accountv1.RequestFriendRequest{User: bob, Message: canarySecret}))
	did(err)
	_, err = alice.Graph().RemarkFriend(ctx, connect.NewRequest(&accountv1.RemarkFriendRequest{User: bob, Remark: canarySecret}))
	did(err)
	_, err = alice.Chat().Send(ctx, connect.NewRequest(&chatv1.SendRequest{Conversation: conversation, ClientMsgId: canarySecret, Content: text}))
	did(err)
	_, err = alice.Chat().Send(ctx, connect.NewRequest(&chatv1.SendRequest{Conversation: 1, ClientMsgId: canarySecret, Content: text}))
	did(err)
	_, err = alice.Chat().Configure(ctx, connect.NewRequest(&chatv1.ConfigureRequest{Conversation: conversation, Draft: &word}))
	did(err)
	_, err = alice.Chat().UpdateGroup(ctx, connect.NewRequest(&chatv1.UpdateGroupRequest{Conversation: group, Title: &word, Announcement: &word}))
	did(err)
	_, err = alice.Chat().CreateGroup(ctx, connect.NewRequest(&chatv1.CreateGroupRequest{Title: canarySecret, Key: canarySecret}))
	did(err)
	_, err = alice.Chat().Join(ctx, connect.NewRequest(&chatv1.JoinRequest{Token: canarySecret, Message: canarySecret}))
	did(err)
	_, err = alice.Media().CreateUpload(ctx, connect.NewRequest(&chatv1.CreateUploadRequest{Name: canarySecret, MimeType: "text/plain", Size: 5}))
	did(err)
	for _, path := range []string{"/v1/socket?ticket=" + canarySecret, "/v1/socket?token=" + canarySecret, "/v1/media/" + canarySecret, "/v1/media/5?sig=" + canarySecret, "/rialto.chat.v1.ChatService/" + canarySecret, "/" + canarySecret} {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url(h)+path, strings.NewReader(canarySecret))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+canarySecret)
		r.Header.Set("Cookie", "rialto_access="+canarySecret)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	return calls, failed
}

// TestLogsHaveNoSecrets: logs contain neither secrets nor texts: not of successful calls, not of refused ones, and not if the stores fail.
func TestLogsHaveNoSecrets(t *testing.T) {
	h, log := open(t)
	var secrets []string
	var people [2]*rialto.Client
	for i, handle := range []string{"alice", "bob"} {
		store := rialto.NewMemoryStore()
		c, err := rialto.New(rialto.Config{URL: url(h), Store: store})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Register(t.Context(), handle, canarySecret+" over the sea", handle); err != nil {
			t.Fatal(err)
		}
		state, err := store.Load()
		if err != nil {
			t.Fatal(err)
		}
		people[i], secrets = c, append(secrets, state.Access, state.Refresh)
		running(t, c)
	}
	alice, bob := people[0], people[1]
	direct, err := alice.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: bob.User()}))
	if err != nil {
		t.Fatal(err)
	}
	group, err := alice.Chat().CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: canarySecret, Members: []uint64{bob.User()}}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alice.SendText(t.Context(), direct.Msg.Id, canarySecret); err != nil {
		t.Fatal(err)
	}
	if calls, failed := talk(t, h, alice, bob.User(), direct.Msg.Id, group.Msg.Id); failed > calls/2 {
		t.Errorf("%d of %d calls failed; the test covers too little", failed, calls)
	}
	if err := h.db.Close(); err != nil {
		t.Fatal(err)
	}
	if calls, failed := talk(t, h, alice, bob.User(), direct.Msg.Id, group.Msg.Id); failed < calls-2 {
		t.Errorf("%d of %d calls failed on broken stores", failed, calls)
	}
	_ = h.Close() // its records are closed already
	if !strings.Contains(log.String(), "a call failed") {
		t.Error("the broken store is not in the log")
	}
	for line := range strings.Lines(log.String()) {
		for _, secret := range append(secrets, canarySecret) {
			if strings.Contains(line, secret) {
				t.Errorf("the log has a secret: %s", line)
			}
		}
	}
}
