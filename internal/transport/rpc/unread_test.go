package rpc_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/budget"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/transport/rpc"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Ten addresses leave as many answers unread as they may. Their users get no long answers, and a user at another address does. A business
// server is not charged for its address, from which it calls for many users.
func TestUnreadAnswersOfAnAddressAreItsOwn(t *testing.T) {
	h := newHarness(t)
	h.deps.Answers = outputlimit.New(outputlimit.Config{}, 1<<30)
	h.Server = rpc.New(h.deps)
	anna, bert := h.person("anna"), h.person("bert")
	const service = "/rialto.chat.v1.ChatService/"
	var c chatv1.Conversation
	h.into(&c, h.call(service+"OpenDirect", &chatv1.OpenDirectRequest{User: bert.User}, bearer(anna.AccessToken)))
	h.into(&chatv1.SendResponse{}, h.call(service+"Send", &chatv1.SendRequest{Conversation: c.Id, ClientSeq: 1,
		Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat("x", 50_000)}}}, bearer(anna.AccessToken)))
	var owners []budget.Owner
	for n := range byte(10) { // with that of h.call
		owner := budget.Owner{Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, n}), 32)}
		for h.deps.Answers.Hold(owner, 16<<10) == nil {
			owners = append(owners, owner)
		}
	}
	page := &chatv1.HistoryRequest{Conversation: c.Id}
	if got := h.callFrom("192.0.2.7:80", service+"History", page, anna.AccessToken); got.reason() != "unread_answers" {
		t.Errorf("a page to an address with unread answers is answered with %d %q", got.status, got.reason())
	}
	for _, get := range map[string]answer{"anna": h.callFrom("198.51.100.1:80", service+"History", page, anna.AccessToken), "bert": h.callFrom("198.51.100.2:80", service+"History", page, bert.AccessToken)} {
		var list chatv1.HistoryResponse
		if h.into(&list, get); len(list.Messages) == 0 {
			t.Error("the page of a user at another address is empty")
		}
	}
	var list chatv1.HistoryResponse
	if h.into(&list, h.call(service+"History", page, bearer(h.key), fmt.Sprint("Rialto-User: ", anna.User))); len(list.Messages) == 0 {
		t.Error("the page of a business server is empty")
	}
	for _, owner := range owners {
		h.deps.Answers.Release(owner, 16<<10)
	}
	if held := h.deps.Answers.Held(); held != 0 {
		t.Errorf("%d bytes of written answers are still counted", held)
	}
}
