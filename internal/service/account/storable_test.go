package account_test

import (
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/account"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// Texts that PostgreSQL cannot store get the same answer with each database.
func TestTextsThatPostgreSQLCannotStore(t *testing.T) {
	r := open(t, account.Config{})
	ctx, p := t.Context(), r.newUsers(2)
	for _, bad := range []string{"name\x00", "name\xff"} {
		client := &accountv1.Client{Name: bad}
		_, err := r.Login(ctx, &accountv1.LoginRequest{Handle: bad, Password: password})
		wantError(t, "a login", err, errs.Unauthenticated, "bad_login")
		_, err = r.LoginWithCode(ctx, &accountv1.LoginWithCodeRequest{Handle: bad, Code: "123456"})
		wantError(t, "a login with a code", err, errs.Unauthenticated, "bad_code")
		_, err = r.Register(ctx, &accountv1.RegisterRequest{Handle: "nobody", Password: password, Client: client})
		wantError(t, "a client's name", err, errs.Invalid, "bad_client")
		_, err = r.CreateSession(ctx, &accountv1.CreateSessionRequest{User: uint64(p[0]), Client: &accountv1.Client{Type: bad}})
		wantError(t, "a client's type", err, errs.Invalid, "bad_client")
		_, err = r.CreateSession(ctx, &accountv1.CreateSessionRequest{ExternalId: bad})
		wantError(t, "a session of nobody", err, errs.NotFound, "no_user")
		_, err = r.PutUser(ctx, &accountv1.PutUserRequest{ExternalId: bad})
		wantError(t, "an external id", err, errs.Invalid, "bad_external_id")
		_, err = r.SearchUsers(ctx, id.Caller{User: p[0]}, bad)
		wantError(t, "a search", err, errs.Invalid, "bad_query")
		_, err = r.RequestFriend(ctx, p[0], p[1], bad)
		wantError(t, "a request", err, errs.Invalid, "bad_message")
		for _, users := range [][]uint64{nil, {uint64(p[0])}} {
			list, err := r.GetUsers(ctx, &accountv1.GetUsersRequest{Users: users, Handles: []string{bad}})
			if err != nil || len(list) != len(users) {
				t.Errorf("an unknown handle returned %v (%v)", list, err)
			}
		}
	}
}

// Names must not affect the display of the text around them.
func TestControlCharactersAreRejected(t *testing.T) {
	r := open(t, account.Config{})
	ctx, p := t.Context(), r.newUsers(2)
	stacked := "a" + strings.Repeat("\u0323", 7)
	for _, bad := range []string{"\x1b[2J", "a\u202eb", "a\u2066b", stacked} {
		_, err := r.RequestFriend(ctx, p[0], p[1], bad)
		wantError(t, "a request", err, errs.Invalid, "bad_message")
	}
	for _, bad := range []string{"\x1b[2J", "a\u202eb", "a\nb", stacked} {
		for _, client := range []*accountv1.Client{{Name: bad}, {Type: bad}} {
			_, err := r.CreateSession(ctx, &accountv1.CreateSessionRequest{User: uint64(p[0]), Client: client})
			wantError(t, "a client", err, errs.Invalid, "bad_client")
		}
	}
	if _, err := r.RequestFriend(ctx, p[0], p[1], "Hello,\nI am Ann"); err != nil {
		t.Error(err)
	}
}
