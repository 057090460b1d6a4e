package messagetransaction_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/messagetransaction"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
)

// Nobody sees messages before the commit. Commits that are repeated, also at the same time, store each message once, in their order.
func TestACommitSendsOnce(t *testing.T) {
	b := open(t)
	n := b.prepare("order 1", "paid", "shipped")
	b.wantStored()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := b.commit(n); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	b.wantStored("paid", "shipped")
	v, err := b.commit(n)
	must(t, err)
	if b.state(n) != "SENT" || v.Messages[0].Seq != 1 || v.Messages[1].Seq != 2 || v.Messages[0].Content != nil || v.EndedMs == 0 {
		t.Errorf("the transaction is %v", v)
	}
	if _, err := b.rollBack(n); reason(err) != "committed" {
		t.Errorf("a roll-back after the commit fails with %v", err)
	}
	if got := b.EndedBy(); !maps.Equal(got, map[string]uint64{"sent": 1}) {
		t.Errorf("the metric has %v", got)
	}
}

// A transaction that was rolled back is never sent. It can be listed for 3 days.
func TestARollBackIsKept(t *testing.T) {
	b := open(t)
	n := b.prepare("order 1", "paid")
	for range 2 {
		_, err := b.rollBack(n)
		must(t, err)
	}
	if _, err := b.commit(n); reason(err) != "rolled_back" {
		t.Errorf("a commit after the roll-back fails with %v", err)
	}
	list := func(by string) []string {
		t.Helper()
		c := shop
		c.Key = by
		r, err := b.ListMessageTransactions(t.Context(), c, &transactionv1.ListMessageTransactionsRequest{State: transactionv1.MessageTransactionState_MESSAGE_TRANSACTION_STATE_ROLLED_BACK})
		must(t, err)
		var list []string
		for _, v := range r.Transactions {
			list = append(list, v.Reference+" "+v.Messages[0].Content.GetText()+" "+v.Cause.String())
		}
		return list
	}
	b.nowMs.Add(3 * 24 * time.Hour.Milliseconds())
	must(t, b.CleanUp(t.Context()))
	if got := list("shop"); !slices.Equal(got, []string{"order 1 paid ROLL_BACK_CAUSE_SERVER"}) {
		t.Errorf("after 3 days the list has %q", got)
	}
	if got := list("other"); len(got) != 0 {
		t.Errorf("another key has %q", got)
	}
	b.nowMs.Add(1)
	must(t, b.CleanUp(t.Context()))
	if got := list("shop"); len(got) != 0 || b.state(n) != "" {
		t.Errorf("later the list has %q, and the transaction is %s", got, b.state(n))
	}
	b.wantStored()
}

// What is prepared is checked as a send, and bounded for each key.
func TestWhatCanBePrepared(t *testing.T) {
	b := open(t)
	b.Shrink(3, 60, 10, 1000)
	file := text("")
	file.Content = &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: 1}}}
	elsewhere, nobody := text("x"), text("x")
	elsewhere.Conversation, nobody.Sender = 99, 0
	for what, c := range map[string]struct {
		reference string
		messages  []*transactionv1.PreparedMessage
		want      string
	}{
		"no reference":       {"", []*transactionv1.PreparedMessage{text("x")}, "bad_transaction"},
		"a long reference":   {strings.Repeat("x", 65), []*transactionv1.PreparedMessage{text("x")}, "bad_transaction"},
		"no message":         {"r", nil, "bad_transaction"},
		"too many messages":  {"r", slices.Repeat([]*transactionv1.PreparedMessage{text("x")}, 21), "bad_transaction"},
		"too large":          {"r", slices.Repeat([]*transactionv1.PreparedMessage{text(strings.Repeat("x", 100_000))}, 6), "bad_transaction"},
		"a file":             {"r", []*transactionv1.PreparedMessage{file}, "bad_transaction"},
		"no sender":          {"r", []*transactionv1.PreparedMessage{nobody}, "bad_transaction"},
		"no conversation":    {"r", []*transactionv1.PreparedMessage{elsewhere}, "no_conversation"},
		"more than the rest": {"r", []*transactionv1.PreparedMessage{text(strings.Repeat("x", 60))}, "too_many_transactions"},
	} {
		if _, err := b.PrepareMessages(t.Context(), shop, &transactionv1.PrepareMessagesRequest{Reference: c.reference, Messages: c.messages}); reason(err) != c.want {
			t.Errorf("%s is answered with %v, want %s", what, err, c.want)
		}
	}
	first := b.prepare("1", "x")
	if again := b.prepare("1", "x"); again != first {
		t.Errorf("a repeated call gives the transaction %d, want %d", again, first)
	}
	if _, err := b.try("1", "y"); reason(err) != "reference_reused" {
		t.Errorf("another message with the same reference is answered with %v", err)
	}
	b.prepare("2", "x")
	b.prepare("3", "x")
	if _, err := b.try("4", "x"); reason(err) != "too_many_transactions" {
		t.Errorf("a fourth open transaction is answered with %v", err)
	}
	if _, err := b.PrepareMessages(t.Context(), other, &transactionv1.PrepareMessagesRequest{Reference: "1", Messages: []*transactionv1.PreparedMessage{text("x")}}); err != nil {
		t.Errorf("another key is answered with %v", err)
	}
	_, err := b.commit(first)
	must(t, err)
	b.prepare("4", "x")
	if again := b.prepare("1", "x"); again != first || b.state(again) != "SENT" {
		t.Errorf("a repeated call after the commit gives the transaction %d, which is %s", again, b.state(again))
	}
}

// Of the transactions of a key that were rolled back, the newest are kept, within a bound of bytes.
func TestRolledBackTransactionsAreBounded(t *testing.T) {
	b := open(t)
	var all []uint64
	for i := range 5 {
		n := b.prepare(fmt.Sprint(i), fmt.Sprint("a text ", i))
		_, err := b.rollBack(n)
		must(t, err)
		all = append(all, n)
	}
	kept := func() (list []uint64) {
		must(t, b.CleanUp(t.Context()))
		for _, n := range all {
			if b.state(n) != "" {
				list = append(list, n)
			}
		}
		return list
	}
	b.Shrink(10, 1000, 3, 1000)
	if got := kept(); !slices.Equal(got, all[2:]) {
		t.Errorf("%d are kept, want %d", got, all[2:])
	}
	b.Shrink(10, 1000, 3, 25)
	if got := kept(); !slices.Equal(got, all[3:]) {
		t.Errorf("with fewer bytes %d are kept, want %d", got, all[3:])
	}
}

// Failed transactions count together with those that were rolled back. Beyond the bounds of their key, the oldest lose their contents; they are not sent a second time, and others lose nothing.
func TestFailedTransactionsAreBounded(t *testing.T) {
	b := open(t)
	b.refuse("refused", errs.New(errs.Denied, "not_member", ""))
	var all []uint64
	for i := range 4 {
		n := b.prepare(fmt.Sprint(i), fmt.Sprint("sent ", i), "refused")
		decide := b.commit
		if i == 2 {
			decide = b.rollBack
		}
		_, err := decide(n)
		must(t, err)
		all = append(all, n)
	}
	elsewhere, err := b.PrepareMessages(t.Context(), other, &transactionv1.PrepareMessagesRequest{Reference: "0", Messages: []*transactionv1.PreparedMessage{text("refused")}})
	must(t, err)
	_, err = b.CommitMessages(t.Context(), other, &transactionv1.CommitMessagesRequest{Id: elsewhere.Id})
	must(t, err)
	contents := func() (list []string) {
		must(t, b.CleanUp(t.Context()))
		for _, n := range all {
			if b.state(n) == "" {
				list = append(list, "none")
				continue
			}
			v := b.get(n)
			list = append(list, b.state(n)+" "+v.Messages[1].Content.GetText()+" "+v.Messages[1].Reason)
		}
		return list
	}
	b.Shrink(10, 1000, 2, 1000)
	want := []string{"FAILED  not_member", "FAILED  not_member", "ROLLED_BACK refused ", "FAILED refused not_member"}
	if got := contents(); !slices.Equal(got, want) {
		t.Errorf("the transactions are %q, want %q", got, want)
	}
	b.Shrink(10, 1000, 10, 12)
	want[2] = "none"
	if got := contents(); !slices.Equal(got, want) {
		t.Errorf("with fewer bytes they are %q, want %q", got, want)
	}
	must(t, b.Retry(t.Context(), elsewhere.Id, nil))
	if i, err := b.Show(t.Context(), elsewhere.Id); err != nil || i.Messages[0].Content.GetText() != "refused" {
		t.Errorf("that of another key is %v (%v)", i, err)
	}
	b.refuse("refused", nil)
	if err := b.Retry(t.Context(), all[0], nil); !errors.Is(err, messagetransaction.ErrTrimmed) {
		t.Errorf("one without contents is retried: %v", err)
	}
	if again := b.prepare("0", "sent 0", "refused"); again != all[0] {
		t.Errorf("a repeated call gives the transaction %d, want %d", again, all[0])
	}
	must(t, b.Retry(t.Context(), all[3], nil))
	b.run()
	b.passUntil("the one with contents is sent", 10*time.Second, func() bool { return b.state(all[3]) == "SENT" })
	b.passUntil("the others are dead letters", 10*time.Second, func() bool { return len(b.dead()) == 2 })
	for _, n := range all[:2] {
		i, err := b.Show(t.Context(), n)
		must(t, errors.Join(err, b.jobs.Retry(t.Context(), i.Job, nil)))
	}
	b.passUntil("they are dead letters again", 10*time.Second, func() bool {
		list, err := b.jobs.List(t.Context(), job.Discarded, "", 100)
		must(t, err)
		return len(list) == 2 && !slices.ContainsFunc(list, func(i job.Info) bool { return !strings.Contains(i.Error, "contents") })
	})
	if got := contents(); !slices.Equal(got[:2], want[:2]) {
		t.Errorf("after that the transactions are %q, want %q", got, want)
	}
}

// After a message that cannot be stored for now, the commit is answered, and its job sends the rest, in order.
func TestMessagesThatAreSentLater(t *testing.T) {
	b := open(t)
	b.refuse("two", errs.New(errs.Unavailable, "busy", ""))
	n := b.prepare("order 1", "one", "two", "three")
	v, err := b.commit(n)
	must(t, err)
	if v.State != transactionv1.MessageTransactionState_MESSAGE_TRANSACTION_STATE_COMMITTED {
		t.Errorf("the commit is answered with %v", v)
	}
	b.wantStored("one")
	b.wantDue(time.Minute)
	b.refuse("two", nil)
	b.run()
	b.passUntil("the transaction is sent", 10*time.Second, func() bool { return b.state(n) == "SENT" })
	b.wantStored("one", "two", "three")
}

// A message that is refused for good does not hold up the others. The job of the commit becomes a dead letter, and an operator can send it again.
func TestMessagesThatAreRefused(t *testing.T) {
	for what, retry := range map[string]func(*bench, uint64) error{
		"by the transaction": func(b *bench, n uint64) error { return b.Retry(t.Context(), n, nil) },
		"by the job": func(b *bench, n uint64) error {
			i, err := b.Show(t.Context(), n)
			return errors.Join(err, b.jobs.Retry(t.Context(), i.Job, nil))
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := open(t)
			b.refuse("two", errs.New(errs.Denied, "not_member", ""))
			n := b.prepare("order 1", "one", "two", "three")
			_, err := b.commit(n)
			must(t, err)
			b.wantStored("one", "three")
			if v := b.get(n); b.state(n) != "FAILED" || v.Messages[1].Reason != "not_member" || v.Messages[1].Content.GetText() != "two" {
				t.Errorf("the transaction is %v", v)
			}
			if got := b.EndedBy(); !maps.Equal(got, map[string]uint64{"failed": 1}) {
				t.Errorf("the metric has %v", got)
			}
			b.run()
			b.passUntil("the job of the commit is a dead letter", 10*time.Second, func() bool { return slices.Equal(b.dead(), []string{"transaction_send"}) })
			b.refuse("two", nil)
			must(t, retry(b, n))
			b.passUntil("the transaction is sent", 10*time.Second, func() bool { return b.state(n) == "SENT" })
			b.passUntil("there is no dead letter", time.Second, func() bool { return len(b.dead()) == 0 })
			b.wantStored("one", "three", "two")
		})
	}
	b := open(t)
	if err := b.Retry(t.Context(), b.prepare("order 2", "x"), nil); err == nil {
		t.Error("a prepared transaction can be retried")
	}
}

var errDied = errors.New("died")

// A message that was stored before the call died, and has expired since, was sent.
func TestAMessageThatHasExpired(t *testing.T) {
	b := open(t)
	n := b.prepare("order 1", "paid")
	b.Interrupt(func(at string) error {
		if at == "sent" {
			return errDied
		}
		return nil
	})
	_, err := b.commit(n)
	must(t, err)
	b.restart()
	b.expired = true
	if v, err := b.commit(n); err != nil || b.state(n) != "SENT" || v.Messages[0].Seq != 1 {
		t.Errorf("the commit is answered with %v (%v)", v, err)
	}
}

// After a death between any two steps, a repeated commit or the jobs store each message once, if the decision was to commit.
func TestDeathsBetweenSteps(t *testing.T) {
	for _, point := range []string{"prepared", "committed", "before-send", "sent", "stored", "rolled-back"} {
		for _, repeats := range []bool{true, false} {
			t.Run(fmt.Sprint(point, " repeats ", repeats), func(t *testing.T) {
				b := open(t)
				hits := 0
				b.Interrupt(func(at string) error {
					if at != point {
						return nil
					}
					if hits++; point == "before-send" && hits < 2 { // in the middle of the messages
						return nil
					}
					return errDied
				})
				v, err := b.try("order 1", "one", "two")
				n := uint64(1)
				if err == nil {
					n = v.Id
				}
				decide := b.commit
				if point == "rolled-back" {
					decide = b.rollBack
				}
				if point != "prepared" {
					_, err := decide(n) // after the decision, what could not be sent is left to the job
					if hits == 0 || point == "committed" && !errors.Is(err, errDied) {
						t.Fatalf("the call ended with %v, after %d times at the point", err, hits)
					}
				}
				b.restart()
				want := []string{"one", "two"}
				b.answer("commit")
				if point == "rolled-back" {
					want = nil
				}
				if repeats {
					n = b.prepare("order 1", "one", "two")
					if _, err := decide(n); err != nil {
						t.Fatal(err)
					}
				}
				if b.state(n) == "COMMITTED" {
					b.wantDue(time.Minute)
				}
				b.run()
				b.passUntil("the transaction has ended", time.Minute, func() bool { s := b.state(n); return s == "SENT" || s == "ROLLED_BACK" })
				b.wantStored(want...)
			})
		}
	}
}
