package messagetransaction_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

const secret = "a secret of the shop"

var shop, other = id.Caller{Server: true, Key: "shop"}, id.Caller{Server: true, Key: "other"}

// bench is a service above a chat that stores each client message id once, as the log does, real jobs, and the webhook of the shop.
type bench struct {
	t *testing.T
	*messagetransaction.Service
	deps   messagetransaction.Deps
	config messagetransaction.Config
	jobs   *job.Service
	nowMs  atomic.Int64
	nextID atomic.Uint64
	hook   *httptest.Server

	mu       sync.Mutex // guards the fields below
	fail     map[string]error
	stored   []string // texts, in order
	seqs     map[string]uint64
	expired  bool   // what is stored has expired
	decision string // of the webhook; "" is a failure
	asked    []*transactionv1.TransactionCheck
}

func (b *bench) Now() time.Time                       { return time.UnixMilli(b.nowMs.Load()) }
func (b *bench) Next(context.Context) (uint64, error) { return b.nextID.Add(1), nil }

func (b *bench) CheckScheduled(_ context.Context, d *message.Draft) error {
	if d.Conversation != 7 && d.Conversation != 8 {
		return errs.New(errs.NotFound, "no_conversation", "")
	}
	return nil
}

func (b *bench) Send(_ context.Context, d *message.Draft) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, _ := message.TextOf(d.Content)
	key := fmt.Sprint(d.Conversation, d.Sender, d.Device, d.ClientMsgID)
	if b.seqs[key] == 0 {
		if err := b.fail[string(text)]; err != nil {
			return err
		}
		b.stored = append(b.stored, string(text))
		b.seqs[key] = uint64(len(b.stored))
	}
	d.Seq = b.seqs[key]
	if b.expired {
		return errs.New(errs.Conflict, "expired", "")
	}
	return nil
}

func (b *bench) refuse(text string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail[text] = err
}

func (b *bench) answer(decision string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.decision = decision
}

// mostChecks returns how often the webhook was asked about the transaction of which it was asked most, and how often it may be.
func (b *bench) mostChecks() (n, most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := map[uint64]int{}
	for _, c := range b.asked {
		of[c.Id]++
		n = max(n, of[c.Id])
	}
	return n, b.config.Checks + 1 // a node that dies asks once more
}

// ends passes time until a transaction has a state. The test ends at once if it has ended in another one.
func (b *bench) ends(n uint64, state string) {
	b.t.Helper()
	b.passUntil(fmt.Sprintf("the transaction is %s", state), time.Minute, func() bool {
		got := b.state(n)
		if got != state && (got == "SENT" || got == "ROLLED_BACK" || got == "FAILED") {
			b.t.Fatalf("the transaction is %s, want %s", got, state)
		}
		return got == state
	})
}

// wantDue ends the test at once if no job is due within a time, rather than after a wait for what never comes.
func (b *bench) wantDue(within time.Duration) {
	b.t.Helper()
	list, err := b.jobs.List(b.t.Context(), job.Available, messagetransaction.Queue, 100)
	must(b.t, err)
	for _, i := range list {
		if i.Due.Sub(b.Now()) <= within {
			return
		}
	}
	b.t.Fatalf("of %d jobs none is due within %v", len(list), within)
}

func (b *bench) checks() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.asked)
}

// serveHook is the webhook of the shop.
func (b *bench) serveHook(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	c := &transactionv1.TransactionCheck{}
	if err != nil || r.Header.Get("Rialto-Signature") != "v1="+webhook.Sign(secret, r.Header.Get("Rialto-Timestamp"), body) || protojson.Unmarshal(body, c) != nil {
		b.t.Errorf("the webhook got %s, signed %q (%v)", body, r.Header.Get("Rialto-Signature"), err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, c)
	if b.decision == "" {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, `{"decision": %q}`, b.decision)
}

func open(t *testing.T) *bench {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	b := &bench{t: t, fail: map[string]error{}, seqs: map[string]uint64{}, config: messagetransaction.Config{AllowPrivate: true, Checks: 3}}
	b.nowMs.Store(1_800_000_000_000)
	b.hook = httptest.NewServer(http.HandlerFunc(b.serveHook))
	t.Cleanup(b.hook.Close)
	b.jobs, err = job.New(t.Context(), job.Deps{DB: db, Clock: b, Logger: slog.New(slog.DiscardHandler), Node: "n"}, job.Config{})
	must(t, err)
	b.deps = messagetransaction.Deps{DB: db, Chat: b, Jobs: b.jobs, IDs: b, Calls: outgoingtest.New(), Clock: b, Logger: slog.New(slog.DiscardHandler)}
	b.restart()
	must(t, b.SetWebhook(t.Context(), shop, &transactionv1.SetTransactionWebhookRequest{Url: b.hook.URL, Secret: secret}))
	return b
}

// restart makes a new service, as a new process does.
func (b *bench) restart() {
	b.t.Helper()
	var err error
	b.Service, err = messagetransaction.New(b.t.Context(), b.deps, b.config)
	must(b.t, err)
}

// run runs jobs until the test ends.
func (b *bench) run() {
	workers := job.NewWorkers(map[string]int{messagetransaction.Queue: messagetransaction.Concurrency})
	b.AddWorkers(workers)
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.t.Context()))
	done := make(chan error, 1)
	go func() { done <- b.jobs.Run(ctx, workers) }()
	b.t.Cleanup(func() {
		cancel()
		must(b.t, <-done)
	})
}

// pass moves the clock, and makes the jobs that are due then run.
func (b *bench) pass(by time.Duration) {
	b.nowMs.Add(by.Milliseconds())
	b.jobs.Wake()
}

// passUntil moves the clock in steps until something has happened. The test ends at once if the webhook was asked more often than it may be.
func (b *bench) passUntil(what string, step time.Duration, happened func() bool) {
	b.t.Helper()
	eventually.True(b.t, what, func() bool {
		if happened() {
			return true
		}
		if n, most := b.mostChecks(); n > most {
			b.t.Fatalf("before %s the webhook was asked %d times about one transaction, want at most %d", what, n, most)
		}
		b.pass(step)
		return false
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func reason(err error) string {
	var e *errs.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return fmt.Sprint(err)
}

func text(s string) *transactionv1.PreparedMessage {
	return &transactionv1.PreparedMessage{Sender: 1, Conversation: 7, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: s}}}
}

func (b *bench) try(reference string, texts ...string) (*transactionv1.MessageTransaction, error) {
	r := &transactionv1.PrepareMessagesRequest{Reference: reference}
	for _, s := range texts {
		r.Messages = append(r.Messages, text(s))
	}
	return b.PrepareMessages(b.t.Context(), shop, r)
}

func (b *bench) prepare(reference string, texts ...string) uint64 {
	b.t.Helper()
	v, err := b.try(reference, texts...)
	must(b.t, err)
	return v.Id
}

func (b *bench) commit(n uint64) (*transactionv1.MessageTransaction, error) {
	return b.CommitMessages(b.t.Context(), shop, &transactionv1.CommitMessagesRequest{Id: n})
}

func (b *bench) rollBack(n uint64) (*transactionv1.MessageTransaction, error) {
	return b.RollBackMessages(b.t.Context(), shop, &transactionv1.RollBackMessagesRequest{Id: n})
}

func (b *bench) get(n uint64) *transactionv1.MessageTransaction {
	b.t.Helper()
	v, err := b.GetMessageTransaction(b.t.Context(), shop, &transactionv1.GetMessageTransactionRequest{Id: n})
	must(b.t, err)
	return v
}

// state is the state of a transaction; "" if there is none.
func (b *bench) state(n uint64) string {
	b.t.Helper()
	v, err := b.GetMessageTransaction(b.t.Context(), shop, &transactionv1.GetMessageTransactionRequest{Id: n})
	if reason(err) == "no_transaction" {
		return ""
	}
	must(b.t, err)
	return v.State.String()[len("MESSAGE_TRANSACTION_STATE_"):]
}

// dead are the kinds of jobs that are dead letters.
func (b *bench) dead() (kinds []string) {
	b.t.Helper()
	list, err := b.jobs.List(b.t.Context(), job.Discarded, "", 100)
	must(b.t, err)
	for _, i := range list {
		kinds = append(kinds, i.Kind)
	}
	return kinds
}

func (b *bench) wantStored(want ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.stored, want) {
		b.t.Errorf("stored %q, want %q", b.stored, want)
	}
}
