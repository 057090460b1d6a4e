package terminal

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// officialAccounts are the accounts @shop, 7, and @news, 8, with two broadcasts each, such as 71 and 72.
type officialAccounts struct {
	accountv1connect.UnimplementedAccountServiceHandler
	chatv1connect.UnimplementedOfficialAccountServiceHandler
	recalled []uint64
}

func (o *officialAccounts) GetUsers(_ context.Context, q *connect.Request[accountv1.GetUsersRequest]) (*connect.Response[accountv1.GetUsersResponse], error) {
	r := &accountv1.GetUsersResponse{}
	for _, u := range []*accountv1.User{{Id: 7, Handle: "shop"}, {Id: 8, Handle: "news"}} {
		if slices.Contains(q.Msg.Handles, u.Handle) {
			r.Users = append(r.Users, u)
		}
	}
	return connect.NewResponse(r), nil
}

func (o *officialAccounts) ListBroadcasts(_ context.Context, q *connect.Request[chatv1.ListBroadcastsRequest]) (*connect.Response[chatv1.ListBroadcastsResponse], error) {
	r := &chatv1.ListBroadcastsResponse{}
	for i := range uint64(2) {
		r.Broadcasts = append(r.Broadcasts, &chatv1.Broadcast{Id: q.Msg.User*10 + i + 1})
	}
	return connect.NewResponse(r), nil
}

func (o *officialAccounts) ChangeBroadcast(_ context.Context, q *connect.Request[chatv1.ChangeBroadcastRequest]) (*connect.Response[chatv1.Broadcast], error) {
	if q.Msg.Action == chatv1.ChangeBroadcastRequest_ACTION_RECALL {
		o.recalled = append(o.recalled, q.Msg.Broadcast)
	}
	return connect.NewResponse(&chatv1.Broadcast{Id: q.Msg.Broadcast}), nil
}

// The number of a broadcast is one of the account that is named. If another account was listed last, nothing is recalled.
func TestNumbersOfBroadcastsAreOfTheirAccount(t *testing.T) {
	o, mux := &officialAccounts{}, http.NewServeMux()
	mux.Handle(accountv1connect.NewAccountServiceHandler(o))
	mux.Handle(chatv1connect.NewOfficialAccountServiceHandler(o))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	s := typing(t, "")
	var err error
	if s.client, err = rialto.New(rialto.Config{URL: h.URL}); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Adopt(&accountv1.Session{User: 1, AccessToken: "x", ExpiresMs: time.Now().Add(time.Hour).UnixMilli()}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ typed, refused string }{
		{"@shop recall 2", "list the broadcasts of this account first"},
		{"@shop", ""},
		{"@news recall 2", "list the broadcasts of this account first"},
		{"@shop recall 3", "no broadcast has this number"},
		{"@shop recall 2", ""},
		{"@news", ""},
		{"@shop recall 1", "list the broadcasts of this account first"},
		{"@news recall 1", ""},
	} {
		if err := s.broadcasts(t.Context(), c.typed); (err != nil) != (c.refused != "") || err != nil && !strings.HasPrefix(err.Error(), c.refused) {
			t.Errorf("/broadcasts %s: got %v, want %q", c.typed, err, c.refused)
		}
	}
	if want := []uint64{72, 81}; !slices.Equal(o.recalled, want) {
		t.Errorf("the broadcasts %v are recalled, want %v", o.recalled, want)
	}
}
