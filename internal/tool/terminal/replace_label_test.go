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
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// labelServer keeps what is replaced, as label>replacement.
type labelServer struct {
	chatv1connect.UnimplementedOfficialAccountServiceHandler
	replaced []string
}

func (l *labelServer) ReplaceFollowerLabel(_ context.Context, q *connect.Request[chatv1.ReplaceFollowerLabelRequest]) (*connect.Response[chatv1.OfficialAccount], error) {
	l.replaced = append(l.replaced, q.Msg.Label+">"+q.Msg.Replacement)
	return connect.NewResponse(&chatv1.OfficialAccount{}), nil
}

// Labels are renamed, and deleted only after a confirmation, as are those that become one. A label that nobody has is a typing error.
func TestLabelsAreRenamedAndDeleted(t *testing.T) {
	l, mux := &labelServer{}, http.NewServeMux()
	mux.Handle(chatv1connect.NewOfficialAccountServiceHandler(l))
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
	account := &chatv1.OfficialAccount{User: 7, Role: chatv1.OfficialRole_OFFICIAL_ROLE_OPERATOR, Labels: []string{"vip", "very important", "gold", "yes"}}
	for _, c := range []struct {
		run           func(*screen, context.Context, *chatv1.OfficialAccount, string) error
		typed, wanted string
		refused       error
	}{
		{(*screen).renameLabel, `from:vip to:"gold members"`, "vip>gold members", nil},
		{(*screen).renameLabel, `to:silver from:"very important"`, "very important>silver", nil},
		{(*screen).renameLabel, `from:vip to:gold`, "", errMerge},
		{(*screen).renameLabel, `from:vip to:gold yes`, "vip>gold", nil},
		{(*screen).renameLabel, `from:gold to:gold`, "gold>gold", nil},
		{(*screen).renameLabel, `from:vpi to:silver`, "", errNoLabel},
		{(*screen).renameLabel, `from:vip`, "", errRelabel},
		{(*screen).renameLabel, `to:vip`, "", errRelabel},
		{(*screen).renameLabel, `vip gold`, "", errRelabel},
		{(*screen).renameLabel, `from:vip to:gold members`, "", errRelabel},
		{(*screen).removeOfOfficial, `label vip`, "", errDeleteLabel},
		{(*screen).removeOfOfficial, `label yes`, "", errDeleteLabel},
		{(*screen).removeOfOfficial, `label`, "", errDeleteLabel},
		{(*screen).removeOfOfficial, `label yes yes`, "yes>", nil},
		{(*screen).removeOfOfficial, `label very important yes`, "very important>", nil},
		{(*screen).removeOfOfficial, `label "very important" yes`, "very important>", nil},
		{(*screen).removeOfOfficial, `label vpi yes`, "", errNoLabel},
	} {
		l.replaced = nil
		err := c.run(s, t.Context(), account, c.typed)
		if got := strings.Join(l.replaced, " "); got != c.wanted || (err == nil) != (c.refused == nil) || err != nil && err.Error() != c.refused.Error() {
			t.Errorf("%q replaces %q with the error %v, want %q and %v", c.typed, got, err, c.wanted, c.refused)
		}
	}
	l.replaced = nil
	if err := s.replaceLabel(t.Context(), &chatv1.OfficialAccount{User: 7}, "vip", "gold"); err != nil || !slices.Equal(l.replaced, []string{"vip>gold"}) {
		t.Errorf("for somebody who is no operator, %q is replaced with %v: the server refuses, not the client", l.replaced, err)
	}
}
