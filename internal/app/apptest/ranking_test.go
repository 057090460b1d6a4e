package apptest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/platform/clickmodel"
	"github.com/rialto-im/rialto/internal/service/ranking"
	"github.com/rialto-im/rialto/internal/tool/rank"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
	rankingv1 "github.com/rialto-im/rialto/sdk/go/gen/ranking/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/ranking/v1/rankingv1connect"
)

// An operator has a server rank by a model and by the weights again, at the command line. All nodes do, and the audit log has both.
func TestOperatorsRankByModels(t *testing.T) {
	var database []string
	h := apptest.Open(t, func(c *config.Config) {
		if database = []string{"--data", c.Data}; c.Postgres != "" {
			database = []string{"--postgres", c.Postgres}
		}
	})
	newKey := func(name string, flags ...string) string {
		var out, errs strings.Builder
		if code := app.AdminMain(t.Context(), slices.Concat([]string{"key", "create", "--name", name}, flags, database), &out, &errs); code != 0 {
			t.Fatalf("exit code %d, want 0: %s", code, errs.String())
		}
		return strings.TrimSpace(out.String())
	}
	operator, server := newKey("olga", "--role", "operator"), newKey("shop")
	run := func(want int, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := rank.Main(t.Context(), slices.Concat(args, []string{"--url", h.URL, "--key", operator}), &out, &errs); code != want {
			t.Fatalf("rialto rank %q ends with %d: %s", args, code, errs.String())
		}
		return out.String() + errs.String()
	}
	ann, bob := h.Register(t, "anna"), h.Register(t, "bobo")
	_, err := h.Graph().Follow(t.Context(), apptest.As(ann, &accountv1.FollowRequest{User: bob.User}))
	must(t, err)
	post, err := h.Feed().Publish(t.Context(), apptest.As(bob, &feedv1.PublishRequest{ClientPostId: "1", Content: &feedv1.PostContent{Text: "hello"}}))
	must(t, err)

	dir := t.TempDir()
	model, examples := filepath.Join(dir, "model.json"), filepath.Join(dir, "examples.jsonl")
	if text := run(0, "examples", "--out", examples); !strings.Contains(text, "0 examples") {
		t.Errorf("before anything was shown: %s", text)
	}
	if text := run(1, "train", "--out", model); !strings.Contains(text, "a model needs 1000") {
		t.Errorf("training without data: %s", text)
	}
	names := ranking.ModelFeatures()
	file, err := clickmodel.Encode(&clickmodel.Model{Features: names, Click: clickmodel.Head{Bias: -1, Scale: 1, Weights: make([]float64, len(names))}, Evaluation: clickmodel.Evaluation{Examples: 100}})
	must(t, err)
	must(t, os.WriteFile(model, file, 0o600))
	run(0, "upload", "--model", model, "--reason", "a test")
	if text := run(0, "models"); !strings.Contains(text, "no model is in use") || !strings.Contains(text, "olga") {
		t.Errorf("the models are %s", text)
	}
	client := rankingv1connect.NewRankingAdminServiceClient(h.HTTP, h.URL)
	used := func() uint64 {
		r, err := client.ExplainRanking(t.Context(), apptest.As(&apptest.Person{Session: &accountv1.Session{AccessToken: server}}, &rankingv1.ExplainRankingRequest{User: ann.User, Post: post.Msg.Id}))
		must(t, err)
		return r.Msg.Score.GetModel()
	}
	if text := run(0, "activate", "--model", "1", "--reason", "better"); strings.Contains(text, "no model is in use") {
		t.Errorf("after the activation: %s", text)
	}
	eventually.True(t, "the model ranks", func() bool { return used() == 1 })
	run(1, "activate", "--model", "7")
	run(0, "activate", "--model", "0", "--reason", "worse")
	eventually.True(t, "the weights rank", func() bool { return used() == 0 })
	audit, err := operationv1connect.NewOperationServiceClient(h.HTTP, h.URL).ListAuditEntries(t.Context(), apptest.As(&apptest.Person{Session: &accountv1.Session{AccessToken: operator}}, &operationv1.ListAuditEntriesRequest{}))
	must(t, err)
	var changes []string
	for _, e := range audit.Msg.Entries {
		if e.Subject == "ranked_feed.model" {
			changes = append(changes, fmt.Sprintf("%s: %s to %s, %s", e.Who, e.Before, e.After, e.Reason))
		}
	}
	if want := []string{"olga: 1 to default, worse", "olga: default to 1, better"}; !slices.Equal(changes, want) {
		t.Errorf("the audit log has %q, want %q", changes, want)
	}
}
