package messagetransaction_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
)

// The webhook is asked about a transaction without a decision, and not about others. Its answer decides.
func TestTheWebhookDecides(t *testing.T) {
	b := open(t)
	b.run()
	ended := b.prepare("decided", "decided")
	_, err := b.commit(ended)
	must(t, err)
	b.answer("unknown")
	first := b.prepare("order 1", "paid")
	b.passUntil("the webhook was asked", time.Minute, func() bool { return b.checks() > 0 })
	if b.state(first) != "PREPARED" {
		t.Errorf("the transaction is %s", b.state(first))
	}
	b.answer("commit")
	b.passUntil("the first is sent", time.Minute, func() bool { return b.state(first) == "SENT" })
	b.answer("roll_back")
	second := b.prepare("order 2", "never")
	b.passUntil("the second is rolled back", time.Minute, func() bool { return b.state(second) == "ROLLED_BACK" })
	b.wantStored("decided", "paid")
	b.mu.Lock()
	defer b.mu.Unlock()
	var got []string
	for _, c := range b.asked {
		got = append(got, c.Reference)
	}
	if got = slices.Compact(got); !slices.Equal(got, []string{"order 1", "order 2"}) || b.asked[0].Attempt != 1 || b.asked[1].Attempt != 2 || b.asked[0].Id != first {
		t.Errorf("the webhook was asked about %q: %v", got, b.asked)
	}
}

// A webhook that does not say what happened is asked a set number of times. Then the transaction is rolled back, and its job is a dead letter.
func TestUnansweredTransactions(t *testing.T) {
	for what, c := range map[string]struct {
		answer string
		checks uint32
	}{"unknown": {"unknown", 3}, "a failure": {"", 3}, "another word": {"perhaps", 3}, "no webhook": {"none", 1}} {
		t.Run(what, func(t *testing.T) {
			b := open(t)
			b.answer(c.answer)
			if c.answer == "none" {
				must(t, b.SetWebhook(t.Context(), shop, &transactionv1.SetTransactionWebhookRequest{}))
			}
			n := b.prepare("order 1", "paid")
			b.run()
			b.ends(n, "ROLLED_BACK")
			b.passUntil("its job is a dead letter", time.Second, func() bool { return slices.Equal(b.dead(), []string{"transaction_check"}) })
			if v := b.get(n); v.Checks != c.checks || v.Cause != transactionv1.RollBackCause_ROLL_BACK_CAUSE_UNANSWERED || v.LastError == "" || c.answer != "none" && b.checks() != 3 {
				t.Errorf("after %d requests the transaction is %v", b.checks(), v)
			}
			if got := b.EndedBy(); !maps.Equal(got, map[string]uint64{"unanswered": 1}) {
				t.Errorf("the metric has %v", got)
			}
			if _, err := b.commit(n); reason(err) != "rolled_back" {
				t.Errorf("a commit afterwards fails with %v", err)
			}
			b.wantStored()
		})
	}
}

// A worker that dies between any two steps runs again: the outcome is that of the webhook's answer, and each message is stored once.
func TestDeathsOfChecks(t *testing.T) {
	for _, c := range []struct{ answer, point, state string }{
		{"commit", "checked", "SENT"}, {"commit", "committed", "SENT"}, {"commit", "before-send", "SENT"}, {"commit", "sent", "SENT"}, {"commit", "stored", "SENT"},
		{"roll_back", "checked", "ROLLED_BACK"}, {"roll_back", "rolled-back", "ROLLED_BACK"}, {"unknown", "checked", "ROLLED_BACK"}, {"unknown", "rolled-back", "ROLLED_BACK"},
	} {
		t.Run(c.answer+" "+c.point, func(t *testing.T) {
			b := open(t)
			b.answer(c.answer)
			var died atomic.Bool
			b.Interrupt(func(at string) error {
				if at == c.point && died.CompareAndSwap(false, true) {
					return errDied
				}
				return nil
			})
			n := b.prepare("order 1", "one", "two")
			b.run()
			b.passUntil("the transaction has ended", time.Minute, func() bool { return died.Load() && b.state(n) == c.state })
			var stored, dead []string
			if c.answer == "commit" {
				stored = []string{"one", "two"}
			}
			if c.answer == "unknown" {
				dead = []string{"transaction_check"}
			}
			b.passUntil("all jobs have ended", time.Minute, func() bool {
				list, err := b.jobs.List(t.Context(), job.Available, messagetransaction.Queue, 10)
				must(t, err)
				return len(list) == 0
			})
			b.wantStored(stored...)
			b.passUntil("the dead letters are there", time.Second, func() bool { return slices.Equal(b.dead(), dead) })
		})
	}
}

// The webhook is not asked before its time, which the call can set, and no sooner again than after a growing delay.
func TestWhenTheWebhookIsAsked(t *testing.T) {
	b := open(t)
	b.answer("unknown")
	_, err := b.PrepareMessages(t.Context(), shop, &transactionv1.PrepareMessagesRequest{Reference: "soon", CheckAfterSeconds: 5, Messages: []*transactionv1.PreparedMessage{text("x")}})
	must(t, err)
	b.run()
	b.passUntil("it was asked", time.Second, func() bool { return b.checks() == 1 })
	if at := b.nowMs.Load() - 1_800_000_000_000; at < 5000 {
		t.Errorf("it was asked after %d ms, want 5,000", at)
	}
	asked := b.nowMs.Load()
	b.passUntil("it was asked again", time.Second, func() bool { return b.checks() == 2 })
	if after := b.nowMs.Load() - asked; after < 5000 {
		t.Errorf("it was asked again after %d ms, want 7,500, or a step less", after)
	}
}

// While the circuit of the webhook is open, no check is counted. Afterwards the webhook decides.
func TestOpenCircuitsDelayChecks(t *testing.T) {
	b := open(t)
	calls, kind := b.deps.Calls, outgoing.TransactionWebhook
	outgoingtest.Open(t, calls, kind, b.hook.URL)
	before := outgoingtest.Refused(t, calls, kind)
	b.answer("commit")
	n := b.prepare("order 1", "paid")
	b.run()
	b.passUntil("more checks are refused than may fail", outgoingtest.OpenFor, func() bool { return outgoingtest.Refused(t, calls, kind) > before+3 })
	if v := b.get(n); b.state(n) != "PREPARED" || v.Checks > 1 || b.checks() != 0 { // one that is in progress is counted
		t.Errorf("while the circuit is open, after %d requests: %v", b.checks(), v)
	}
	outgoingtest.Forget(t, calls, kind)
	b.passUntil("it is sent", outgoingtest.OpenFor, func() bool { return b.state(n) == "SENT" })
	if v := b.get(n); v.Checks != 1 || b.checks() != 1 {
		t.Errorf("after %d requests: %v", b.checks(), v)
	}
	b.wantStored("paid")
}

// A transaction that no job asks about, because no node ran jobs, is rolled back after a day.
func TestOpenTransactionsHaveAnAge(t *testing.T) {
	b := open(t)
	n := b.prepare("order 1", "paid")
	b.nowMs.Add(24 * time.Hour.Milliseconds())
	must(t, b.CleanUp(t.Context()))
	if b.state(n) != "PREPARED" {
		t.Errorf("after a day the transaction is %s", b.state(n))
	}
	b.nowMs.Add(1)
	must(t, b.CleanUp(t.Context()))
	if v := b.get(n); b.state(n) != "ROLLED_BACK" || v.Cause != transactionv1.RollBackCause_ROLL_BACK_CAUSE_UNANSWERED {
		t.Errorf("later the transaction is %v", v)
	}
}

// The address and the secret of a webhook are checked. The secret stays when only the address changes.
func TestWebhooksOfTransactions(t *testing.T) {
	b := open(t)
	set := func(by string, url, secret string) string {
		c := shop
		c.Key = by
		if err := b.SetWebhook(t.Context(), c, &transactionv1.SetTransactionWebhookRequest{Url: url, Secret: secret}); err != nil {
			return reason(err)
		}
		return ""
	}
	if got := []string{set("new", b.hook.URL, ""), set("new", b.hook.URL, "short"), set("new", "ftp://x", secret), set("shop", b.hook.URL+"/moved", "")}; !slices.Equal(got, []string{"bad_secret", "bad_secret", "bad_url", ""}) {
		t.Errorf("the calls are answered with %q", got)
	}
	b.config.AllowPrivate = false
	b.restart()
	if got := set("shop", b.hook.URL, secret); got != "bad_url" {
		t.Errorf("an address of this machine is answered with %q", got)
	}
	b.config.AllowPrivate = true
	b.restart()
	b.answer("commit")
	n := b.prepare("order 1", "paid")
	b.run()
	b.passUntil("the transaction is sent", time.Minute, func() bool { return b.state(n) == "SENT" })
}

// A webhook that does not answer occupies some of the checks of a node, and leaves the others to other keys.
func TestASlowWebhookLeavesChecksToOthers(t *testing.T) {
	b := open(t)
	b.config.Timeout = time.Minute // the longest: a check that ends makes room for another one
	b.restart()
	var hanging atomic.Int64
	end := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hanging.Add(1)
		<-end
		fmt.Fprint(w, `{"decision": "commit"}`)
	}))
	t.Cleanup(slow.Close)
	defer close(end)
	must(t, b.SetWebhook(t.Context(), other, &transactionv1.SetTransactionWebhookRequest{Url: slow.URL, Secret: secret}))
	for i := range 2 * messagetransaction.Concurrency {
		_, err := b.PrepareMessages(t.Context(), other, &transactionv1.PrepareMessagesRequest{Reference: fmt.Sprint(i), Messages: []*transactionv1.PreparedMessage{text("late")}})
		must(t, err)
	}
	b.answer("commit")
	n := b.prepare("order 1", "paid")
	b.run()
	b.passUntil("the slow webhook was asked", time.Minute, func() bool { return hanging.Load() > 0 })
	b.passUntil("that of another key has answered", time.Second, func() bool {
		if most := hanging.Load(); most > 4 {
			t.Fatalf("%d checks wait for one webhook, want at most 4", most)
		}
		return b.state(n) == "SENT"
	})
}
