package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
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
type refusingChat struct{ next *atomic.Uint64 }

func newRefusingChat() refusingChat {
	c := refusingChat{new(atomic.Uint64)}
	c.next.Store(7) // the first id
	return c
}

func (refusingChat) CheckScheduled(context.Context, *message.Draft) error { return nil }

func (refusingChat) Send(context.Context, *message.Draft) error {
	return errs.New(errs.Denied, "not_member", "")
}

func (c refusingChat) Next(context.Context) (uint64, error) { return c.next.Add(1) - 1, nil }

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
		t.Fatalf("exit code %d, want 0: %s", code, out.String())
	}
	db, jobs := openJobsAt(t, data)
	chat := newRefusingChat()
	s, err := messagetransaction.New(t.Context(), messagetransaction.Deps{DB: db, Chat: chat, Jobs: jobs, IDs: chat, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, messagetransaction.Config{})
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
		{2, []string{"list", "--limit", "0"}, "the number must be from 1 to 1000"},
		{1, []string{"show", "--id", "12345"}, "there is no transaction 12345;"},
		{0, []string{"list"}, "7\tshop\torder 1\tfailed\t"},
		{0, []string{"list"}, "not_member"},
		{0, []string{"show", "--id", "7"}, "from 1 to 2, refused: not_member: {"},
		{0, []string{"show", "--id", "7"}, ", transaction_send, available\nattempts   0, the last - by no node\nfailures   0 of "},
		{1, []string{"retry", "--id", "12345"}, "there is no transaction 12345;"},
		{0, []string{"retry", "--id", "7"}, "7 of shop, order 1, is committed again; a node sends:\n  a message from 1 to 2, which was refused: not_member\nsent again: 1"},
		{0, []string{"show", "--id", "7"}, "from 1 to 2, not sent yet: {"},
		{0, []string{"list", "--state", "committed"}, "7\tshop\torder 1\tcommitted\t"},
		{0, []string{"retry", "--all"}, "sent again: 0"},
	} {
		if text := admin(step.code, step.args...); !strings.Contains(text, step.want) || strings.Contains(text, "\x1b") {
			t.Errorf("%v: %q; want %q", step.args, text, step.want)
		}
	}
	entries := auditEntries(t, data)
	if got := changesIn(t, entries[1:], ""); len(got) != 1 || got[0] != "transaction.retry|transaction 7 of shop|failed|committed|" {
		t.Errorf("the audit log has %q", got)
	}
	db, jobs = openJobsAt(t, data)
	defer db.Close()
	list, err := jobs.List(t.Context(), job.Available, messagetransaction.Queue, 10)
	if err != nil || len(list) != 3 { // of the check, the commit and the retry
		t.Errorf("%d jobs wait, want 3 (%v)", len(list), err)
	}
}

// All that failed are sent again, also more than the command reads at once.
func TestAllTransactionsAreRetried(t *testing.T) {
	data := t.TempDir()
	var out strings.Builder
	if code := AdminMain(t.Context(), []string{"key", "create", "--name", "shop", "--data", data}, &out, &out); code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, out.String())
	}
	db, jobs := openJobsAt(t, data)
	chat := newRefusingChat()
	s, err := messagetransaction.New(t.Context(), messagetransaction.Deps{DB: db, Chat: chat, Jobs: jobs, IDs: chat, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, messagetransaction.Config{})
	if err != nil {
		t.Fatal(err)
	}
	shop, count := id.Caller{Server: true, Key: "shop"}, 2*retryBatch+1
	for i := range count {
		content := &chatv1.Content{Kind: &chatv1.Content_Text{Text: "paid"}}
		v, err := s.PrepareMessages(t.Context(), shop, &transactionv1.PrepareMessagesRequest{Reference: fmt.Sprint("order ", i), Messages: []*transactionv1.PreparedMessage{{Sender: 1, Conversation: 2, Content: content}}})
		if err == nil {
			_, err = s.CommitMessages(t.Context(), shop, &transactionv1.CommitMessagesRequest{Id: v.Id})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if code := AdminMain(t.Context(), []string{"transactions", "retry", "--all", "--data", data}, &out, &out); code != 0 || !strings.HasSuffix(out.String(), fmt.Sprintf("sent again: %d\n", count)) {
		t.Errorf("exit code %d: %s; want %d sent again", code, out.String(), count)
	}
	db, _ = openJobsAt(t, data)
	defer db.Close()
	var failed int
	if err := db.Read().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM message_transactions WHERE state = 4`).Scan(&failed); err != nil || failed != 0 {
		t.Errorf("%d are failed afterwards (%v), want none", failed, err)
	}
}
