package apptest_test

import (
	"cmp"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/apptest"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// TestSenderOrderOverConnections: messages of a device that overtook the one before them, on other connections and other nodes, are stored
// behind it. One whose previous message never comes is refused, and nothing of it is stored.
func TestSenderOrderOverConnections(t *testing.T) {
	h := apptest.Open(t, nil)
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	c, lost := h.Direct(t, alice, bob), h.Group(t, alice, bob)
	send := func(conversation, n, prev uint64) *chatv1.SendRequest {
		return &chatv1.SendRequest{Conversation: conversation, ClientSeq: n, PrevClientSeq: prev, Content: apptest.Text("x")}
	}
	refusal := make(chan error, 1)
	go func() { // ends with the call
		once := chatv1connect.NewChatServiceClient(h.HTTP, h.URL) // does not repeat what is refused for a time
		_, err := once.Send(t.Context(), apptest.As(alice, send(lost, 9, 8)))
		refusal <- err
	}()
	const last = 6
	var sockets []*apptest.Socket
	for n := uint64(last); n > 1; n-- { // the last first, each on a connection of its own
		s, _ := alice.Socket(t, []string{"rialto.v1.proto", "rialto.v1.json"}[n%2])
		m := send(c, n, n-1)
		s.Write(&gatewayv1.ClientFrame{Request: 1, Sends: []*gatewayv1.Send{{Conversation: m.Conversation, ClientSeq: n, PrevClientSeq: m.PrevClientSeq, Content: m.Content}}, Ping: &gatewayv1.Ping{}})
		s.Until(func(f *gatewayv1.ServerFrame) bool { return f.Pong != nil }) // the server has the message
		sockets = append(sockets, s)
	}
	if _, err := h.Chat().Send(t.Context(), apptest.As(alice, send(c, 1, 0))); err != nil {
		t.Fatal(err)
	}
	for _, s := range sockets {
		s.Until(func(f *gatewayv1.ServerFrame) bool {
			return slices.ContainsFunc(f.Receipts, func(r *gatewayv1.Receipt) bool { return r.Error == nil })
		})
	}
	numbers := func(conversation uint64) (list []uint64) {
		page, err := h.Chat().History(t.Context(), apptest.As(alice, &chatv1.HistoryRequest{Conversation: conversation, Limit: 100}))
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(page.Msg.Messages, func(a, b *chatv1.Message) int { return cmp.Compare(a.Seq, b.Seq) })
		for _, m := range page.Msg.Messages {
			if m.ClientSeq != 0 {
				list = append(list, m.ClientSeq)
			}
		}
		return list
	}
	if got, want := numbers(c), []uint64{1, 2, 3, 4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("messages are stored in the order %v, want %v", got, want)
	}
	if err := <-refusal; rialto.Reason(err) != "missing_previous" || connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a message whose previous one is missing is answered with %v, want missing_previous", err)
	}
	if got := numbers(lost); len(got) != 0 {
		t.Errorf("messages %v are stored though their previous one is missing", got)
	}
}
