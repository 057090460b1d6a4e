package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/service/account"
	transactionv1 "github.com/rialto-im/rialto/sdk/go/gen/transaction/v1"
	"google.golang.org/protobuf/proto"
)

const transactionCalls = "/rialto.transaction.v1.MessageTransactionService/"

func ofTransactions() map[string]row {
	request := func(m proto.Message) func(subject) proto.Message { return func(subject) proto.Message { return m } }
	return map[string]row{
		transactionCalls + "PrepareMessages":         all("bad_transaction", request(&transactionv1.PrepareMessagesRequest{Reference: "r"})),
		transactionCalls + "CommitMessages":          all("no_transaction", request(&transactionv1.CommitMessagesRequest{Id: 1})),
		transactionCalls + "RollBackMessages":        all("no_transaction", request(&transactionv1.RollBackMessagesRequest{Id: 1})),
		transactionCalls + "GetMessageTransaction":   all("no_transaction", request(&transactionv1.GetMessageTransactionRequest{Reference: "r"})),
		transactionCalls + "ListMessageTransactions": own(request(&transactionv1.ListMessageTransactionsRequest{State: 1})),
		transactionCalls + "SetTransactionWebhook":   own(request(&transactionv1.SetTransactionWebhookRequest{})),
	}
}

// The messages of a transaction are in no history before its commit, and then once. Other keys do not see the transaction, and a bot's key prepares none.
func TestTransactionsOfAKey(t *testing.T) {
	h := newHarness(t)
	alice, bob := h.person("alice"), h.person("bob")
	direct, err := h.chat.OpenDirect(t.Context(), alice.user(), bob.user())
	if err != nil {
		t.Fatal(err)
	}
	other, err := h.accounts.CreateKey(t.Context(), account.NewKey{Name: "other"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bot, err := h.accounts.CreateKey(t.Context(), account.NewKey{Name: "bot", Bot: bob.user()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	prepare := fmt.Sprintf(`{"reference": "order 7", "messages": [{"sender": "%d", "conversation": "%d", "content": {"text": "you have paid"}}]}`, alice.User, direct)
	if got := h.post(transactionCalls+"PrepareMessages", asJSON, []byte(prepare), bearer(bot)); got.reason() != "no_key" {
		t.Errorf("a bot's key is answered with %d %s", got.status, got.body)
	}
	made := h.post(transactionCalls+"PrepareMessages", asJSON, []byte(prepare), bearer(h.key))
	_, after, _ := strings.Cut(made.body, `"id":"`)
	id, _, _ := strings.Cut(after, `"`)
	messages := func() int {
		return strings.Count(h.post(chats+"History", asJSON, fmt.Appendf(nil, `{"conversation": "%d"}`, direct), bearer(bob.AccessToken)).body, "you have paid")
	}
	if id == "" || messages() != 0 {
		t.Fatalf("the transaction is answered with %s, and the conversation has %d messages of it", made.body, messages())
	}
	for _, call := range []string{"CommitMessages", "RollBackMessages", "GetMessageTransaction"} {
		if got := h.post(transactionCalls+call, asJSON, fmt.Appendf(nil, `{"id": %q}`, id), bearer(other)); got.reason() != "no_transaction" {
			t.Errorf("%s with another key is answered with %d %s", call, got.status, got.body)
		}
	}
	for range 2 {
		got := h.post(transactionCalls+"CommitMessages", asJSON, fmt.Appendf(nil, `{"id": %q}`, id), bearer(h.key))
		if !strings.Contains(got.body, "MESSAGE_TRANSACTION_STATE_SENT") || messages() != 1 {
			t.Errorf("the commit is answered with %d %s, and the conversation has %d messages", got.status, got.body, messages())
		}
	}
}
