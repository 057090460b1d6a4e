package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
)

// refusingChat accepts what is prepared, and refuses each message.
type refusingChat struct{}

func (refusingChat) CheckScheduled(context.Context, *message.Draft) error { return nil }

func (refusingChat) Send(context.Context, *message.Draft) error {
	return errs.New(errs.Denied, "not_member", "")
}

func (refusingChat) Next(context.Context) (uint64, error) { return 7, nil }

// An operator lists and shows message transactions, and sends those again that failed.
func TestOperatorsSeeAndRetryTransactions(t *testing.T) {
	data := t.TempDir()
	admin := func(wantCode int, args ...string) string {
		t.Helper()
		var out, errOut strings.Builder
		if code := AdminMain(t.Context(), append(append([]string{"transactions"}, args...), "--data", data), &out, &errOut); code != wantCode {
			t.Fatalf("%v: exit code %d, %s%s", args, code, out.String(), errOut.String())
		}
		return out.String() + errOut.String()
	}
	var out strings.Builder
	if code := AdminMain(t.Context(), []string{"key", "create", "--name", "shop", "--data", data}, &out, &out); code != 0 {
		t.Fatal(out.String())
	}
	db, jobs := openJobsAt(t, data)
	s, err := messagetransaction.New(t.Context(), messagetransaction.Deps{DB: db, Chat: refusingChat{}, Jobs: jobs, IDs: refusingChat{}, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, messagetransaction.Config{})
	if err != nil {
		t.Fatal(err)
	}
	shop := id.Caller{Server: true, Key: "shop"}
	content := &chatv1.Content{Kind: &chatv1.Content_Text{Text: "\x1b[2Jpaid"}}
	_, err = s.PrepareMessages(t.Context(), shop, &transactionv1.PrepareMessagesRequest{Reference: "order 1", Messages: []*transactionv1.PreparedMessage{{Sender: 1, Conversation: 2, Content: content}}})
	if err == nil {
		_, err = s.CommitMessages(t.Context(), shop, &transactionv1.CommitMessagesRequest{Id: 7})
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		code int
		args []string
		want string
	}{
		{2, []string{"show"}, "--id is required"},
		{2, []string{"retry"}, "give either --id or --all"},
		{2, []string{"list", "--state", "lost"}, "unknown state"},
		{2, []string{"list", "--limit", "0"}, "--limit is 1 to 1,000"},
		{1, []string{"show", "--id", "12345"}, "no such transaction"},
		{0, []string{"list"}, "7\tshop\torder 1\tfailed\t"},
		{0, []string{"list"}, "not_member"},
		{0, []string{"show", "--id", "7"}, "from 1 to 2, seq 0, not_member"},
		{0, []string{"retry", "--id", "7"}, "sent again: 1"},
		{0, []string{"list", "--state", "committed"}, "7\tshop\torder 1\tcommitted\t"},
		{0, []string{"retry", "--all"}, "sent again: 0"},
	} {
		if text := admin(step.code, step.args...); !strings.Contains(text, step.want) || strings.Contains(text, "\x1b") {
			t.Errorf("%v: %q; want %q", step.args, text, step.want)
		}
	}
	db, jobs = openJobsAt(t, data)
	defer db.Close()
	list, err := jobs.List(t.Context(), job.Available, messagetransaction.Queue, 10)
	if err != nil || len(list) != 3 { // of the check, the commit and the retry
		t.Errorf("%d jobs wait, want 3 (%v)", len(list), err)
	}
}
