package app

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// Users who are authenticated by a token or a ticket are active, and others are not: whose session a server creates, a bot with an API key, and who is erased before the next write. An operator sees how many there are.
func TestOperatorsSeeActiveUsers(t *testing.T) {
	n, _ := open(t)
	ctx := t.Context()
	var bot id.User
	sessions := make([]*accountv1.Session, 5)
	for i := range sessions {
		name := fmt.Sprint("user", i)
		u, err := n.accounts.PutUser(ctx, &accountv1.PutUserRequest{ExternalId: name, Handle: name})
		must(t, err)
		sessions[i], err = n.accounts.CreateSession(ctx, &accountv1.CreateSessionRequest{ExternalId: name, Client: &accountv1.Client{Type: "test"}})
		must(t, err)
		bot = id.User(u.Id)
	}
	for range 2 { // once in each of two calls, which is one day
		_, err := n.accounts.Verify(ctx, sessions[0].AccessToken)
		must(t, err)
	}
	ticket, err := n.accounts.CreateTicket(ctx, callerOf(sessions[1]))
	must(t, err)
	_, err = n.accounts.VerifyTicket(ctx, ticket.Ticket)
	must(t, err)
	_, err = n.accounts.Verify(ctx, sessions[2].AccessToken+"x")
	if err == nil {
		t.Error("a forged token is accepted")
	}
	_, err = n.accounts.Verify(ctx, sessions[3].AccessToken)
	must(t, err)
	must(t, n.accounts.BeginErasure(ctx, callerOf(sessions[3]).User))
	data := n.config.Data
	admin := func(wantCode int, args ...string) string {
		t.Helper()
		var out, errOut strings.Builder
		if code := AdminMain(ctx, append(args, "--data", data), &out, &errOut); code != wantCode {
			t.Fatalf("%v: exit code %d, %s%s", args, code, out.String(), errOut.String())
		}
		return strings.TrimSpace(out.String() + errOut.String())
	}
	key := admin(0, "key", "create", "--name", "bot", "--bot", strconv.FormatUint(uint64(bot), 10))
	if c, err := n.accounts.Verify(ctx, strings.Fields(key)[len(strings.Fields(key))-1]); err != nil || c.User != bot {
		t.Fatalf("the bot is %v, %v", c, err)
	}
	must(t, n.Close())
	for _, step := range []struct {
		code int
		days string
		want string
	}{{2, "0", "the number must be from 1 to 61"}, {2, "62", "the number must be from 1 to 61"}, {0, "61", "30 days later"}} {
		if text := admin(step.code, "activity", "show", "--days", step.days); !strings.Contains(text, step.want) {
			t.Errorf("--days %s: %s; want %q", step.days, text, step.want)
		}
	}
	active := 0
	for _, line := range strings.Split(admin(0, "activity", "show", "--days", "2"), "\n")[1:] { // midnight may have passed
		var day string
		var users int
		if _, err := fmt.Sscan(line, &day, &users); err != nil {
			t.Fatalf("the line %q has no day and number of users: %v", line, err)
		}
		active += users
	}
	if active != 2 {
		t.Errorf("%d users are active, want 2", active)
	}
}
