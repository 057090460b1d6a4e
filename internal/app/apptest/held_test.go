package apptest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// While the webhook does not say whether two users may write to each other, messages are accepted and held. Once it says yes they are stored in their order,
// and after a no they are refused.
func TestMessagesAreHeldWhileTheRelationIsUnknown(t *testing.T) {
	var answer atomic.Value
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(answer.Load().(string))) }))
	defer hook.Close()
	answer.Store(`{"allow":true}`)
	h := apptest.Open(t, func(c *config.Config) {
		c.Chat.WhoMayWrite, c.Chat.RelationTTL = "webhook", time.Millisecond
		c.Chat.RelationWebhook = webhook.Config{URL: hook.URL, Secret: "a secret of the operator"}
	})
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c := h.Direct(t, alice, bob)
	answer.Store(`nothing`)
	connection, _, err := h.Dial(t.Context(), "rialto.v1.json", http.Header{"Authorization": {"Bearer " + alice.AccessToken}})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.CloseNow()
	a := apptest.Wrap(t, connection, true)
	var told []string
	until := func(n int) {
		t.Helper()
		a.Until(func(f *gatewayv1.ServerFrame) bool {
			for _, one := range f.Accepted {
				told = append(told, fmt.Sprintf("accepted %d", one.ClientSeq))
			}
			for _, r := range f.Receipts {
				told = append(told, fmt.Sprintf("receipt %d %s", r.ClientSeq, r.Error.GetReason()))
			}
			return len(told) >= n
		})
	}
	for n := range uint64(3) {
		a.Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: c, ClientSeq: n + 1, Content: apptest.Text("x")}}})
	}
	until(3)
	answer.Store(`{"allow":true}`)
	until(6)
	if want := []string{"accepted 1", "accepted 2", "accepted 3", "receipt 1 ", "receipt 2 ", "receipt 3 "}; !slices.Equal(told[3:], want[3:]) || !slices.Equal(slices.Sorted(slices.Values(told[:3])), want[:3]) {
		t.Errorf("the sender was told %q", told)
	}
	answer.Store(`nothing`)
	seq := uint64(3)
	held := func() bool { return strings.HasPrefix(told[0], "accepted") }
	for told = nil; len(told) == 0 || !held(); { // until what was answered before is no longer known
		told = nil
		seq++
		a.Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: c, ClientSeq: seq, Content: apptest.Text("x")}}})
		until(1)
	}
	answer.Store(`{"allow":false}`)
	until(2)
	if want := []string{fmt.Sprint("accepted ", seq), fmt.Sprintf("receipt %d blocked", seq)}; !slices.Equal(told, want) {
		t.Errorf("the sender was told %q", told)
	}
}
