package rpc_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/service/moderation"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/proto"
)

const (
	moderations     = "/rialto.moderation.v1.ModerationService/"
	moderationCalls = "/rialto.moderation.v1.ModerationAdminService/"
	putWords        = moderationCalls + "PutWordList" // of operators only
)

func ofModeration() map[string]row {
	request := func(m proto.Message) func(subject) proto.Message { return func(subject) proto.Message { return m } }
	const absent = 1 << 40
	spam := moderationv1.ReportReason_REPORT_REASON_SPAM
	return map[string]row{
		moderations + "ReportContent": {request: func(o subject) proto.Message {
			return &moderationv1.ReportContentRequest{Subject: &moderationv1.ReportedThing{Kind: moderationv1.ReportedKind_REPORTED_KIND_MESSAGE, Id: o.conversation, Seq: o.seq}, Reason: spam}
		}, owner: "own_content", outsider: none},
		moderations + "ListMyReports":       own(request(&moderationv1.ListMyReportsRequest{})),
		moderations + "ListMyDecisions":     own(request(&moderationv1.ListMyDecisionsRequest{})),
		moderations + "AcknowledgeDecision": all("no_decision", request(&moderationv1.AcknowledgeDecisionRequest{})),
		moderations + "AppealDecision":      all("no_decision", request(&moderationv1.AppealDecisionRequest{Decision: absent, Text: "x"})),
		moderations + "AppealBan":           all("bad_appeal_token", request(&moderationv1.AppealBanRequest{AppealToken: "x", Text: "x"})),
		moderationCalls + "ListCases":       own(request(&moderationv1.ListCasesRequest{})),
		moderationCalls + "GetCase":         all("no_case", request(&moderationv1.GetCaseRequest{Case: absent})),
		moderationCalls + "Decide":          all("no_case", request(&moderationv1.DecideRequest{Case: absent, Action: moderationv1.Action_ACTION_DISMISS})),
		moderationCalls + "BanTarget":       all("no_target", request(&moderationv1.BanTargetRequest{Target: &moderationv1.Target{Of: &moderationv1.Target_User{User: absent}}, Reason: spam})),
		moderationCalls + "ListBans":        own(request(&moderationv1.ListBansRequest{})),
		moderationCalls + "LiftBan":         all("no_ban", request(&moderationv1.LiftBanRequest{Ban: absent})),
		moderationCalls + "ListAppeals":     own(request(&moderationv1.ListAppealsRequest{})),
		moderationCalls + "ListWordLists":   own(request(&moderationv1.ListWordListsRequest{})),
		moderationCalls + "GetWordList":     all("no_word_list", request(&moderationv1.GetWordListRequest{Name: "none"})),
		moderationCalls + "PutWordList":     all("changed_meanwhile", request(&moderationv1.PutWordListRequest{Name: "none", Version: 9, Words: []*moderationv1.ListedWord{{Text: "x", Action: moderationv1.WordAction_WORD_ACTION_REFUSE}}})),
		moderationCalls + "DecideAppeal":    all("no_appeal", request(&moderationv1.DecideAppealRequest{Appeal: absent})),
	}
}

// newModeration makes the service of moderation for a harness.
func (h *harness) newModeration(deps moderation.Deps) *moderation.Service {
	h.t.Helper()
	audit, err := auditlog.New(h.t.Context(), h.db, h.clock)
	if err != nil {
		h.t.Fatal(err)
	}
	deps.DB, deps.Chat, deps.Posts, deps.Comments, deps.Accounts, deps.Audit, deps.Clock = h.db, h.chat, h.feed, h.comments, h.accounts, audit, h.clock
	s, err := moderation.New(h.t.Context(), deps, moderation.Config{})
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// A user who is banned is refused as a session, in the name of a server, and at a login, with the end of the ban.
func TestBannedUsersAreRefused(t *testing.T) {
	h := newHarness(t)
	moderator, bob := h.operatorKey("mia", id.Moderator), h.person("bob")
	list := &accountv1.ListSessionsRequest{}
	ends := h.clock.Now().UnixMilli() + 3_600_000
	ban := &moderationv1.BanTargetRequest{Target: &moderationv1.Target{Of: &moderationv1.Target_User{User: bob.User}}, EndsMs: ends, Reason: moderationv1.ReportReason_REPORT_REASON_SPAM, Explanation: "stop it"}
	if got := h.call(moderationCalls+"BanTarget", ban, bearer(moderator)); got.status != http.StatusOK {
		t.Fatalf("the ban is answered with %d %s", got.status, got.body)
	}
	inName := "Rialto-User: " + bob.user().String()
	for name, headers := range map[string][]string{"a session": {bearer(bob.AccessToken)}, "a server": {bearer(h.key), inName}} {
		got := h.call(accounts+"ListSessions", list, headers...)
		if got.status != http.StatusForbidden || got.reason() != "account_banned" || !strings.Contains(got.body, "stop it") {
			t.Errorf("%s is answered with %d %s", name, got.status, got.body)
		}
	}
	got := h.call(accounts+"Refresh", &accountv1.RefreshRequest{RefreshToken: bob.RefreshToken})
	if got.reason() != "account_banned" || !strings.Contains(got.body, "appealToken") {
		t.Errorf("the refresh is answered with %s", got.body)
	}
	h.clock.ms.Store(ends)
	if got := h.call(accounts+"ListSessions", list, bearer(h.key), inName); got.status != http.StatusOK {
		t.Errorf("after the ban a server is answered with %d %s", got.status, got.body)
	}
	if got := h.call(accounts+"ListSessions", list, bearer(bob.AccessToken)); got.reason() != "bad_token" {
		t.Errorf("a session that has ended is answered with %s", got.body)
	}
}

// Only moderators and operators read what was reported.
func TestModeratorsDoNothingElse(t *testing.T) {
	h := newHarness(t)
	moderator, auditor := h.operatorKey("mia", id.Moderator), h.operatorKey("adam", id.Auditor)
	rows := matrix()
	for name, who := range h.Calls() {
		if who != "operators" {
			continue
		}
		want := rows[name].owner
		if !strings.HasPrefix(name, moderationCalls) && !strings.HasPrefix(name, bridgeAdmin) && name != operationCalls+"GetOperator" || name == putWords {
			want = "no_operator"
		}
		if got := h.call(name, rows[name].request(subject{}), bearer(moderator)); got.reason() != want {
			t.Errorf("%s for a moderator is answered with %s, want %q", name, got.body, want)
		}
		if strings.HasPrefix(name, moderationCalls) && name != putWords || strings.HasPrefix(name, bridgeAdmin) {
			if got := h.call(name, rows[name].request(subject{}), bearer(auditor)); got.reason() != "no_moderator" {
				t.Errorf("%s for an auditor is answered with %s", name, got.body)
			}
		}
	}
	got := h.call(operationCalls+"GetOperator", rows[operationCalls+"GetOperator"].request(subject{}), bearer(moderator))
	if !strings.Contains(got.body, "OPERATOR_ROLE_MODERATOR") {
		t.Errorf("a moderator is %s", got.body)
	}
}
