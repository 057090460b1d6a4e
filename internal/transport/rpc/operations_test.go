package rpc_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/backup"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/operation"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const operationCalls = "/rialto.operation.v1.OperationService/"

func ofOperations() map[string]row {
	request := func(m proto.Message) func(subject) proto.Message { return func(subject) proto.Message { return m } }
	const absent = 1 << 40
	return map[string]row{
		operationCalls + "GetOperator":      own(request(&operationv1.GetOperatorRequest{})),
		operationCalls + "ListNodes":        own(request(&operationv1.ListNodesRequest{})),
		operationCalls + "ListQueues":       own(request(&operationv1.ListQueuesRequest{})),
		operationCalls + "ListJobs":         own(request(&operationv1.ListJobsRequest{State: operationv1.JobState_JOB_STATE_DISCARDED})),
		operationCalls + "GetJob":           all("no_job", request(&operationv1.GetJobRequest{Id: absent})),
		operationCalls + "RetryJob":         all("no_job", request(&operationv1.RetryJobRequest{Id: absent})),
		operationCalls + "DiscardJob":       all("no_job", request(&operationv1.DiscardJobRequest{Id: absent})),
		operationCalls + "DropJob":          all("no_job", request(&operationv1.DropJobRequest{Id: absent})),
		operationCalls + "StartBackup":      all("backup_shared", request(&operationv1.StartBackupRequest{})),
		operationCalls + "GetBackup":        own(request(&operationv1.GetBackupRequest{})),
		operationCalls + "CancelBackup":     all("no_backup", request(&operationv1.CancelBackupRequest{})),
		operationCalls + "ListAuditEntries": own(request(&operationv1.ListAuditEntriesRequest{})),
		operationCalls + "ListComparisons":  own(request(&operationv1.ListComparisonsRequest{})),
		operationCalls + "ListDifferences":  all("no_comparison", request(&operationv1.ListDifferencesRequest{Comparison: "files"})),
		operationCalls + "RepairDifference": all("no_difference", request(&operationv1.RepairDifferenceRequest{Comparison: "files", Subject: "upload 1"})),
		operationCalls + "GetVideoPipeline": all("no_video", request(&operationv1.GetVideoPipelineRequest{Video: absent})),
	}
}

// newOperations makes the service of the console for a harness.
func (h *harness) newOperations(jobs *job.Service, videos operation.Videos, logger *slog.Logger) *operation.Service {
	h.t.Helper()
	audit, err := auditlog.New(h.t.Context(), h.db, h.clock)
	if err != nil {
		h.t.Fatal(err)
	}
	stores, err := reconciliation.New(h.t.Context(), reconciliation.Deps{DB: h.db, Jobs: jobs, Audit: audit, Clock: h.clock, Logger: slog.New(slog.DiscardHandler)}, reconciliation.Config{})
	if err != nil {
		h.t.Fatal(err)
	}
	return operation.New(operation.Deps{Jobs: jobs, Videos: videos, Reconciliation: stores, Queues: []string{job.DefaultQueue}, Audit: audit, DB: h.db, Backups: backup.NewService(backup.Source{}, backup.Config{}, h.clock, logger), Metrics: prometheus.NewRegistry(), Self: func() *operationv1.NodeReport { return &operationv1.NodeReport{} },
		Bus: membus.New(), Node: "node-1", Nodes: func() []string { return []string{"node-1"} }, Clock: h.clock, Logger: logger})
}

// operatorKey makes a key with a role in the console.
func (h *harness) operatorKey(name string, role id.OperatorRole) string {
	h.t.Helper()
	key, err := h.accounts.CreateKey(h.t.Context(), account.NewKey{Name: name, Role: role}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return key
}

// keyFor returns a key for the calls of servers or of operators, "" for others, and the reason with which they refuse users.
func (h *harness) keyFor(who string) (key, refusal string) {
	switch who {
	case "servers":
		return h.key, "no_key"
	case "operators":
		return h.operatorKey("olga", id.Operator), "no_role"
	case "bridges":
		return h.bridgeKey("matrix"), "no_bridge_key"
	}
	return "", ""
}

// A key with a role makes the calls of its role, and no others. Keys of servers and bots make none of them.
func TestKeysOfOperators(t *testing.T) {
	h := newHarness(t)
	auditor, operator, alice := h.operatorKey("adam", id.Auditor), h.operatorKey("olga", id.Operator), h.person("alice")
	bot, err := h.accounts.CreateKey(t.Context(), account.NewKey{Name: "bot", Bot: alice.user()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := map[string]bool{linkCalls + "ListBridges": true, feedAdmins + "GetFeedPlan": true, feedAdmins + "SetFeedPlan": true,
		rankingAdmin + "ListRankingExamples": true, rankingAdmin + "ListRankingModels": true, rankingAdmin + "PutRankingModel": true, rankingAdmin + "ActivateRankingModel": true,
		rankingAdmin + "GetRankingWeights": true, rankingAdmin + "SetRankingWeights": true, rankingAdmin + "ExplainRanking": true}
	changes := map[string]bool{feedAdmins + "SetFeedPlan": true, operationCalls + "RetryJob": true, operationCalls + "DiscardJob": true, operationCalls + "DropJob": true, putWords: true, operationCalls + "StartBackup": true, operationCalls + "CancelBackup": true, operationCalls + "RepairDifference": true,
		rankingAdmin + "PutRankingModel": true, rankingAdmin + "ActivateRankingModel": true, rankingAdmin + "SetRankingWeights": true}
	rows := matrix()
	for name, who := range h.Calls() {
		request := rows[name].request(subject{})
		for key, role := range map[string]id.OperatorRole{auditor: id.Auditor, operator: id.Operator} {
			want := rows[name].owner
			switch {
			case who == "anyone":
				continue
			case who != "operators" && !plan[name]:
				want = "console_key"
			case (changes[name] || strings.HasPrefix(name, interchangeCalls)) && role == id.Auditor:
				want = "no_operator"
			case name == rankingAdmin+"ExplainRanking":
				want = "no_user" // the subject has none
			case (strings.HasPrefix(name, moderationCalls) || strings.HasPrefix(name, bridgeAdmin) || name == linkCalls+"ListBridges") && role == id.Auditor:
				want = "no_moderator"
			}
			if got := h.call(name, request, bearer(key), "Rialto-User: 1"); got.reason() != want || want == "console_key" && got.status != http.StatusForbidden {
				t.Errorf("%s with the role %d is answered with %d %s, want %q", name, role, got.status, got.body, want)
			}
		}
		for _, key := range []string{h.key, bot} {
			if got := h.call(name, request, bearer(key)); who == "operators" && (got.status != http.StatusForbidden || got.reason() != "no_role") {
				t.Errorf("%s with the key of a server or a bot is answered with %d %s", name, got.status, got.body)
			}
		}
	}
	if n, err := h.accounts.RevokeKey(t.Context(), "olga", nil); err != nil || n != 1 {
		t.Errorf("%d keys were revoked (%v)", n, err)
	}
	if got := h.call(operationCalls+"GetOperator", &operationv1.GetOperatorRequest{}, bearer(operator)); got.reason() != "bad_token" {
		t.Errorf("a revoked key is answered with %d %s", got.status, got.body)
	}
}

// The records name an operator by the key, whatever the request says.
func TestOperatorsAreNamedByTheirKeys(t *testing.T) {
	h := newHarness(t)
	operator := h.operatorKey("olga", id.Operator)
	h.call(feedAdmins+"SetFeedPlan", &feedv1.SetFeedPlanRequest{Plan: &feedv1.FeedPlan{LikesOff: true}, By: "somebody else", Reason: "load"}, bearer(operator))
	got := h.call(feedAdmins+"GetFeedPlan", &feedv1.GetFeedPlanRequest{}, bearer(operator))
	var plan feedv1.GetFeedPlanResponse
	if err := protojson.Unmarshal([]byte(got.body), &plan); err != nil {
		t.Fatal(err)
	}
	if len(plan.Changes) != 1 || plan.Changes[0].By != "olga" || !plan.Plan.LikesOff {
		t.Errorf("the plan is %v", &plan)
	}
}
