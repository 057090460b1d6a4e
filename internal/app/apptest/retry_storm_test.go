package apptest_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/app/apptest"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// Senders without numbers send each message up to five times, in any order, concurrently on two sockets and by calls, to two
// conversations: each message is stored once, all answers name the same seq, and it is pushed once.
func TestRetryStormByOwnIDs(t *testing.T) {
	h := apptest.Open(t, nil)
	alice, bob, carol := h.Register(t, "alice"), h.Register(t, "bob"), h.Register(t, "carol")
	conversations := []uint64{h.Direct(t, alice, bob), h.Group(t, alice, bob, carol)}
	const count = 200
	type message struct {
		conversation uint64
		n            int
	}
	rng := rand.New(rand.NewPCG(5, 6))
	ways := make([][]message, 3) // two sockets, and calls
	for _, c := range conversations {
		for n := range count {
			for range 1 + rng.IntN(5) {
				w := rng.IntN(len(ways))
				ways[w] = append(ways[w], message{c, n})
			}
		}
	}
	for _, w := range ways {
		rng.Shuffle(len(w), func(i, j int) { w[i], w[j] = w[j], w[i] })
	}
	id := func(m message) string { return fmt.Sprint("own ", m.n) } // the same in both conversations
	text := func(m message) string { return fmt.Sprintf("message %d of %d", m.n, m.conversation) }

	var mu sync.Mutex // guards places, fresh
	places, fresh := map[message]uint64{}, 0
	stored := func(m message, seq uint64, duplicate bool) {
		mu.Lock()
		defer mu.Unlock()
		if was, ok := places[m]; ok && was != seq {
			t.Errorf("message %v: got seqs %d and %d", m, was, seq)
		}
		places[m] = seq
		if !duplicate {
			fresh++
		}
	}
	reader, _ := bob.Socket(t, "rialto.v1.proto")
	var wait sync.WaitGroup
	for i, form := range []string{"rialto.v1.proto", "rialto.v1.json"} {
		s, _ := alice.Socket(t, form)
		wait.Go(func() {
			for _, m := range ways[i] {
				s.Write(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: m.conversation, ClientMsgId: id(m), Content: apptest.Text(text(m))}}})
			}
		})
		wait.Go(func() {
			for got := 0; got < len(ways[i]); {
				f, err := s.Try()
				if err != nil {
					t.Error(err)
					return
				}
				for _, r := range f.Receipts {
					var n int
					if _, err := fmt.Sscanf(r.ClientMsgId, "own %d", &n); err != nil || r.Error != nil {
						t.Errorf("%q was refused: %v (%v)", r.ClientMsgId, r.Error, err)
					}
					stored(message{r.Conversation, n}, r.Seq, r.Duplicate)
					got++
				}
			}
		})
	}
	wait.Go(func() {
		for _, m := range ways[2] {
			r, err := h.Chat().Send(t.Context(), apptest.As(alice, &chatv1.SendRequest{Conversation: m.conversation, ClientMsgId: id(m), Content: apptest.Text(text(m))}))
			if err != nil {
				t.Error(err)
				return
			}
			stored(m, r.Msg.Seq, r.Msg.Duplicate)
		}
	})
	wait.Wait()
	if total := count * len(conversations); fresh != total || len(places) != total {
		t.Errorf("got %d messages, %d receipts of new ones, of %d sent", len(places), fresh, total)
	}
	pushed := map[string]int{}
	reader.Until(func(f *gatewayv1.ServerFrame) bool {
		for _, e := range f.Events {
			if m := e.GetMessage(); m.GetContent().GetText() != "" {
				pushed[m.Content.GetText()]++
			}
		}
		return len(pushed) == count*len(conversations)
	})
	for text, n := range pushed {
		if n != 1 {
			t.Errorf("message %q: got %d pushes, want 1", text, n)
		}
	}
	for _, c := range conversations {
		r, err := h.Chat().GetConversation(t.Context(), apptest.As(bob, &chatv1.GetConversationRequest{Conversation: c}))
		if err != nil || r.Msg.Unread != count {
			t.Errorf("unread count: got %d, want %d, %v", r.Msg.GetUnread(), count, err)
		}
	}
	// Other content with the same id is refused, and another user's message with the same id is a separate message.
	_, err := h.Chat().Send(t.Context(), apptest.As(alice, &chatv1.SendRequest{Conversation: conversations[1], ClientMsgId: "own 1", Content: apptest.Text("other")}))
	if connect.CodeOf(err) != connect.CodeAlreadyExists && reasonOf(err) != "id_reuse" {
		t.Errorf("other content with the same id: got %v", err)
	}
	if r := h.Send(t, carol, conversations[1], "own 1", "carol's"); r.Duplicate {
		t.Error("carol's message: got alice's receipt")
	}
}
