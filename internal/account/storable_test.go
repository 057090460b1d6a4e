package account_test

import (
	"testing"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	"github.com/rialto-im/rialto/internal/account"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

// Texts that PostgreSQL does not take get an answer, on each database the same.
func TestTextsThatRecordsCannotHold(t *testing.T) {
	r := open(t, account.Config{})
	ctx, p := t.Context(), r.people(2)
	for _, bad := range []string{"name\x00", "name\xff"} {
		client := &accountv1.Client{Name: bad}
		_, err := r.Login(ctx, &accountv1.LoginRequest{Handle: bad, Password: password})
		wants(t, "a login", err, errs.Unauthenticated, "bad_login")
		_, err = r.LoginWithCode(ctx, &accountv1.LoginWithCodeRequest{Handle: bad, Code: "123456"})
		wants(t, "a login with a code", err, errs.Unauthenticated, "bad_code")
		_, err = r.Register(ctx, &accountv1.RegisterRequest{Handle: "nobody", Password: password, Client: client})
		wants(t, "a client's name", err, errs.Invalid, "bad_client")
		_, err = r.CreateSession(ctx, &accountv1.CreateSessionRequest{User: uint64(p[0]), Client: &accountv1.Client{Type: bad}})
		wants(t, "a client's type", err, errs.Invalid, "bad_client")
		_, err = r.CreateSession(ctx, &accountv1.CreateSessionRequest{ExternalId: bad})
		wants(t, "a session of nobody", err, errs.NotFound, "no_user")
		_, err = r.PutUser(ctx, &accountv1.PutUserRequest{ExternalId: bad})
		wants(t, "an external id", err, errs.Invalid, "bad_external_id")
		_, err = r.SearchUsers(ctx, id.Caller{User: p[0]}, bad)
		wants(t, "a search", err, errs.Invalid, "bad_query")
		_, err = r.RequestFriend(ctx, p[0], p[1], bad)
		wants(t, "a request", err, errs.Invalid, "bad_message")
		for _, users := range [][]uint64{nil, {uint64(p[0])}} {
			list, err := r.GetUsers(ctx, &accountv1.GetUsersRequest{Users: users, Handles: []string{bad}})
			if err != nil || len(list) != len(users) {
				t.Errorf("a handle that nobody has: %v, %v", list, err)
			}
		}
	}
}
