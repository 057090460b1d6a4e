package apptest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"
	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/moderation/v1/moderationv1connect"
)

// moderators returns a client of moderators, whose key is made by the command.
func moderators(t *testing.T, h *apptest.Server, at []string) moderationv1connect.ModerationAdminServiceClient {
	t.Helper()
	var key, errs strings.Builder
	if code := app.AdminMain(t.Context(), append([]string{"key", "create", "--name", "mia", "--role", "moderator"}, at...), &key, &errs); code != 0 {
		t.Fatalf("making a key ends with %d: %s", code, errs.String())
	}
	return moderationv1connect.NewModerationAdminServiceClient(h.HTTP, h.URL, connect.WithInterceptors(connect.UnaryInterceptorFunc(func(call connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			r.Header().Set("Authorization", "Bearer "+strings.TrimSpace(key.String()))
			return call(ctx, r)
		}
	})))
}

// refusal returns the error of a call, as the server has detailed it.
func refusal(t *testing.T, err error) *gatewayv1.Error {
	t.Helper()
	var e *connect.Error
	if errors.As(err, &e) {
		for _, d := range e.Details() {
			if v, err := d.Value(); err == nil {
				if g, ok := v.(*gatewayv1.Error); ok {
					return g
				}
			}
		}
	}
	t.Fatalf("the error has no detail: %v", err)
	return nil
}

// A member reports a message; the moderator bans its sender: the message is recalled, the connection ends, logins are refused on all nodes, until the appeal succeeds.
func TestReportBanAppeal(t *testing.T) {
	var at []string
	h := apptest.Open(t, func(c *config.Config) {
		at = []string{"--data", c.Data}
		if c.Postgres != "" {
			at = append(at, "--postgres", c.Postgres)
		}
	})
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	g := h.Group(t, alice, bob)
	seq := h.Send(t, bob, g, "1", "buy this").Seq
	users := moderationv1connect.NewModerationServiceClient(h.HTTP, h.URL)
	report, err := users.ReportContent(t.Context(), apptest.As(alice, &moderationv1.ReportContentRequest{Subject: &moderationv1.ReportedThing{Kind: moderationv1.ReportedKind_REPORTED_KIND_MESSAGE, Id: g, Seq: seq}, Reason: moderationv1.ReportReason_REPORT_REASON_SPAM}))
	if err != nil {
		t.Fatal(err)
	}
	mia := moderators(t, h, at)
	open, err := mia.ListCases(t.Context(), connect.NewRequest(&moderationv1.ListCasesRequest{}))
	if err != nil || len(open.Msg.Cases) != 1 {
		t.Fatalf("the cases are %v (%v)", open, err)
	}
	socket, _ := bob.Socket(t, "rialto.v1.proto")
	ends := time.Now().Add(time.Hour).UnixMilli()
	d, err := mia.Decide(t.Context(), connect.NewRequest(&moderationv1.DecideRequest{Case: open.Msg.Cases[0].Id, Action: moderationv1.Action_ACTION_BAN, Reason: moderationv1.ReportReason_REPORT_REASON_SPAM, Explanation: "no ads", BanEndsMs: ends}))
	if err != nil || !d.Msg.Applied {
		t.Fatalf("the decision is %v (%v)", d, err)
	}
	for {
		if _, err := socket.Try(); err != nil {
			if code := websocket.CloseStatus(err); code != 4102 {
				t.Errorf("the connection ends with %d (%v), want 4102", code, err)
			}
			break
		}
	}
	page, err := h.Chat().GetMessages(t.Context(), apptest.As(alice, &chatv1.GetMessagesRequest{Conversation: g, Seqs: []uint64{seq}}))
	if err != nil || len(page.Msg.Messages) != 1 || page.Msg.Messages[0].RecallSeq == 0 {
		t.Errorf("the message is %v (%v)", page, err)
	}
	login := connect.NewRequest(&accountv1.LoginRequest{Handle: "bob", Password: "a good password"})
	token := ""
	for range 3 { // each goes to another node
		_, err := h.Accounts().Login(t.Context(), login)
		e := refusal(t, err)
		if e.Reason != "account_banned" || e.Ban.GetEndsMs() != ends || e.Ban.GetExplanation() != "no ads" || e.Ban.GetAppealToken() == "" {
			t.Errorf("a login is answered with %v", e)
		}
		token = e.Ban.GetAppealToken()
		_, err = h.Accounts().Refresh(t.Context(), connect.NewRequest(&accountv1.RefreshRequest{RefreshToken: bob.RefreshToken}))
		if e := refusal(t, err); e.Reason != "account_banned" {
			t.Errorf("a refresh is answered with %v", e)
		}
		_, err = h.Chat().GetMessages(t.Context(), apptest.As(bob, &chatv1.GetMessagesRequest{Conversation: g, Seqs: []uint64{seq}}))
		if e := refusal(t, err); e.Reason != "account_banned" {
			t.Errorf("a call is answered with %v", e)
		}
	}
	if _, err := h.Accounts().Login(t.Context(), connect.NewRequest(&accountv1.LoginRequest{Handle: "bob", Password: "a wrong password"})); refusal(t, err).Reason != "bad_login" {
		t.Errorf("a wrong password is answered with %v", err)
	}
	appeal, err := users.AppealBan(t.Context(), connect.NewRequest(&moderationv1.AppealBanRequest{AppealToken: token, Text: "it was a joke"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mia.DecideAppeal(t.Context(), connect.NewRequest(&moderationv1.DecideAppealRequest{Appeal: appeal.Msg.Appeal, Overturn: true, Answer: "fine"})); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		h.Login(t, "bob")
	}
	mine, err := users.ListMyReports(t.Context(), apptest.As(alice, &moderationv1.ListMyReportsRequest{}))
	if err != nil || len(mine.Msg.Reports) != 1 || mine.Msg.Reports[0].Id != report.Msg.Id || mine.Msg.Reports[0].State != moderationv1.ReportState_REPORT_STATE_ACTED {
		t.Errorf("the reports are %v (%v)", mine, err)
	}
}
