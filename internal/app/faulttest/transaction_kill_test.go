package faulttest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/base/eventually"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/transaction/v1/transactionv1connect"
)

// transactionFailpoints are the steps of a prepared transaction, a commit and a roll-back, and those of the log under them.
var transactionFailpoints = []string{"transaction/prepared", "transaction/committed", "transaction/before-send", "timeline/after-sync-before-done", "transaction/sent", "transaction/stored", "transaction/rolled-back"}

// committer is a business server that commits two of three transactions, each with two messages, and rolls the third back. It repeats what was not answered.
type committer struct {
	t     *testing.T
	p     *process
	shop  transactionv1connect.MessageTransactionServiceClient
	alice *rialto.Client
	group uint64
	n     int
	want  []string // texts of the messages of transactions whose commits were answered
}

func (c *committer) step() bool {
	c.t.Helper()
	r := &transactionv1.PrepareMessagesRequest{Reference: fmt.Sprint("order ", c.n)}
	var texts []string
	for i := range 2 {
		text := fmt.Sprint(c.n, " ", i)
		texts = append(texts, text)
		r.Messages = append(r.Messages, &transactionv1.PreparedMessage{Sender: uint64(c.alice.User()), Conversation: c.group, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}})
	}
	made, err := c.shop.PrepareMessages(c.t.Context(), connect.NewRequest(r))
	if !c.p.answered(err) {
		return false
	}
	if c.n%3 == 2 {
		if _, err := c.shop.RollBackMessages(c.t.Context(), connect.NewRequest(&transactionv1.RollBackMessagesRequest{Id: made.Msg.Id})); !c.p.answered(err) {
			return false
		}
	} else {
		if _, err := c.shop.CommitMessages(c.t.Context(), connect.NewRequest(&transactionv1.CommitMessagesRequest{Id: made.Msg.Id})); !c.p.answered(err) {
			return false
		}
		c.want = append(c.want, texts...)
	}
	c.n++
	return true
}

// textsOf are the texts in a group, in order.
func textsOf(t *testing.T, c *rialto.Client, group uint64) (texts []string) {
	t.Helper()
	for after := uint64(0); ; {
		page, err := c.Chat().History(t.Context(), connect.NewRequest(&chatv1.HistoryRequest{Conversation: group, After: after, Limit: 100}))
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Msg.Messages) == 0 {
			return texts
		}
		for _, m := range page.Msg.Messages {
			if after = m.Seq; m.Content.GetText() != "" {
				texts = append(texts, m.Content.GetText())
			}
		}
	}
}

// TestTransactionsKilledAtEachFailpoint: after a kill between any two steps, the messages of each committed transaction are stored once, in their order, and
// those of one that was rolled back never.
func TestTransactionsKilledAtEachFailpoint(t *testing.T) {
	p := newProcess(t)
	var key, errs bytes.Buffer
	if code := app.AdminMain(t.Context(), []string{"key", "create", "--name", "shop", "--data", p.dir}, &key, &errs); code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, errs.String())
	}
	if !p.start("") {
		t.Fatal("the server did not start")
	}
	shop, err := rialto.NewTransactions(rialto.TransactionsConfig{URL: p.url(), Key: strings.TrimSpace(key.String())})
	if err != nil {
		t.Fatal(err)
	}
	c := &committer{t: t, p: p, shop: shop, alice: p.register("alice")}
	group, err := c.alice.Chat().CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: "a group"}))
	if err != nil {
		t.Fatal(err)
	}
	c.group = group.Msg.Id
	p.killedAt(transactionFailpoints, c.step, 3)
	eventually.True(t, "all messages are stored", func() bool { return len(textsOf(t, c.alice, c.group)) >= len(c.want) })
	if got := textsOf(t, c.alice, c.group); !slices.Equal(got, c.want) {
		t.Errorf("stored %q, want %q", got, c.want)
	}
	p.stop()
	p.verify()
}
