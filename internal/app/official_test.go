package app

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// A user follows an official account, is welcomed and answered, taps its menu, and gets its broadcast, with its edit and its recall. Where only
// friends write to each other, following is enough, and ends with it. A restart repeats nothing.
func TestOfficialAccountsAnswerAndBroadcast(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	start := func() *Node {
		t.Helper()
		h, err := Open(t.Context(), configure(t, data, "chat.who_may_write=friends"), slog.New(slog.DiscardHandler))
		must(t, err)
		return h
	}
	h := start()
	defer func() { must(t, h.Close()) }()
	shop, ann, other := client(t, h), client(t, h), client(t, h)
	for c, handle := range map[*rialto.Client]string{shop: "shop", ann: "ann", other: "other"} {
		must(t, c.Register(t.Context(), handle, "a good password", handle))
	}
	account := shop.User()
	text := func(s string) *chatv1.Content { return &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}} }
	server := chatv1connect.NewOfficialAccountServiceClient(http.DefaultClient, url(h), withKey(key(t, h)))
	handle := "the.shop"
	admin := accountv1connect.NewAdminServiceClient(http.DefaultClient, url(h), withKey(key(t, h)))
	_, err := admin.PutOfficialAccount(t.Context(), connect.NewRequest(&accountv1.PutOfficialAccountRequest{User: account, Handle: &handle}))
	must(t, err)
	as := func(r interface{ Header() http.Header }) {
		r.Header().Set("Rialto-User", strconv.FormatUint(account, 10))
	}
	update := connect.NewRequest(&chatv1.UpdateOfficialAccountRequest{User: account,
		Menu:    &chatv1.OfficialMenu{Entries: []*chatv1.OfficialMenuEntry{{Item: &chatv1.OfficialMenuItem{Title: "Hours", Action: &chatv1.OfficialMenuItem_Reply{Reply: text("9 to 5")}}}}},
		Replies: &chatv1.OfficialReplies{Welcome: text("welcome"), Rules: []*chatv1.KeywordRule{{Match: chatv1.KeywordRule_MATCH_CONTAINS, Keywords: []string{"退款"}, Reply: text("refunds")}}}})
	as(update)
	_, err = server.UpdateOfficialAccount(t.Context(), update)
	must(t, err)

	users, err := ann.Account().GetUsers(t.Context(), connect.NewRequest(&accountv1.GetUsersRequest{Handles: []string{"shop"}}))
	must(t, err)
	if !users.Msg.Users[0].Official {
		t.Error("the user of the official account is not marked as official")
	}
	official := ann.Official()
	seen, err := official.GetOfficialAccount(t.Context(), connect.NewRequest(&chatv1.GetOfficialAccountRequest{Handle: handle}))
	must(t, err)
	conversation := uint64(0)
	said := func() (list []string) {
		r, err := ann.Chat().History(t.Context(), connect.NewRequest(&chatv1.HistoryRequest{Conversation: conversation}))
		must(t, err)
		for _, m := range r.Msg.Messages {
			if m.Sender == account && m.Content.GetText() != "" {
				list = append(list, m.Content.GetText())
			}
		}
		return list
	}
	wait := func(want ...string) {
		t.Helper()
		eventually.True(t, "the account said "+want[len(want)-1], func() bool { return slices.Equal(said(), want) })
	}
	open, err := ann.Chat().OpenDirect(t.Context(), connect.NewRequest(&chatv1.OpenDirectRequest{User: account}))
	must(t, err)
	conversation = open.Msg.Id
	write := func(s string) error {
		_, err := ann.Chat().Send(t.Context(), connect.NewRequest(&chatv1.SendRequest{Conversation: conversation, ClientMsgId: s, Content: text(s)}))
		return err
	}
	if err := write("before"); rialto.Reason(err) != "blocked" {
		t.Errorf("a message of a user who does not follow is answered with %v, want blocked", err)
	}
	_, err = ann.Chat().Join(t.Context(), connect.NewRequest(&chatv1.JoinRequest{Conversation: seen.Msg.Channel}))
	must(t, err)
	wait("welcome")
	must(t, write("我要退款"))
	wait("welcome", "refunds")
	_, err = official.TapOfficialMenu(t.Context(), connect.NewRequest(&chatv1.TapOfficialMenuRequest{User: account, Key: "k"}))
	must(t, err)
	wait("welcome", "refunds", "9 to 5")

	must(t, h.Close())
	h = start()
	server = chatv1connect.NewOfficialAccountServiceClient(http.DefaultClient, url(h), withKey(key(t, h)))
	ann = client(t, h)
	must(t, ann.Login(t.Context(), "ann", "a good password"))
	create := connect.NewRequest(&chatv1.CreateBroadcastRequest{User: account, Key: "sale", Content: text("sale")})
	as(create)
	b, err := server.CreateBroadcast(t.Context(), create)
	must(t, err)
	wait("welcome", "refunds", "9 to 5", "sale")
	change := func(action chatv1.ChangeBroadcastRequest_Action, content *chatv1.Content) {
		t.Helper()
		r := connect.NewRequest(&chatv1.ChangeBroadcastRequest{Broadcast: b.Msg.Id, Action: action, Content: content})
		as(r)
		_, err := server.ChangeBroadcast(t.Context(), r)
		must(t, err)
	}
	change(chatv1.ChangeBroadcastRequest_ACTION_EDIT, text("big sale"))
	wait("welcome", "refunds", "9 to 5", "big sale")
	change(chatv1.ChangeBroadcastRequest_ACTION_RECALL, nil)
	wait("welcome", "refunds", "9 to 5")

	_, err = ann.Chat().Leave(t.Context(), connect.NewRequest(&chatv1.LeaveRequest{Conversation: seen.Msg.Channel}))
	must(t, err)
	n := 0
	eventually.True(t, "who no longer follows cannot write", func() bool { n++; return rialto.Reason(write("after"+strconv.Itoa(n))) == "blocked" })
}
