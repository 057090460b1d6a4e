package apptest_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/app/apptest"
)

// Senders that do not count send each message up to five times, in any order, at the same time on two sockets and by calls,
// into two conversations: one message each, which all who are told of it find at one place, and which is pushed once.
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
			t.Errorf("%v stands at %d and at %d", m, was, seq)
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
		t.Errorf("%d messages were stored %d times, and %d were sent", len(places), fresh, total)
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
			t.Errorf("%q was pushed %d times", text, n)
		}
	}
	for _, c := range conversations {
		r, err := h.Chat().GetConversation(t.Context(), apptest.As(bob, &chatv1.GetConversationRequest{Conversation: c}))
		if err != nil || r.Msg.Unread != count {
			t.Errorf("%d unread of %d, %v", r.Msg.GetUnread(), count, err)
		}
	}
	// Another content under the id is refused, and another's message under it is a message of its own.
	_, err := h.Chat().Send(t.Context(), apptest.As(alice, &chatv1.SendRequest{Conversation: conversations[1], ClientMsgId: "own 1", Content: apptest.Text("other")}))
	if connect.CodeOf(err) != connect.CodeAlreadyExists && reasonOf(err) != "id_reuse" {
		t.Errorf("another content under an id: %v", err)
	}
	if r := h.Send(t, carol, conversations[1], "own 1", "carol's"); r.Duplicate {
		t.Error("carol's message was taken for alice's")
	}
}
