package rialto_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// flaky is a server that stores each message once, by its number, and whose network loses, repeats and breaks.
type flaky struct {
	mu     sync.Mutex // guards all below
	random *rand.Rand
	seqs   map[uint64]uint64 // of the stored messages, by client_seq
	texts  []string          // of the stream, by seq from 1
	broken int               // connections that were broken; each fault makes the next one rarer, so that it ends
}

// fault reports whether to inject a fault now. The caller holds mu.
func (f *flaky) fault() bool { return f.random.IntN(4+f.broken/10) == 0 }

// take stores new messages, and answers some of them, some twice. It reports whether the connection stays open.
func (f *flaky) take(c *conn, sends []*gatewayv1.Send) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := &gatewayv1.ServerFrame{}
	for _, s := range sends {
		if f.fault() { // the frame arrived in part
			f.broken++
			return false
		}
		seq, again := f.seqs[s.ClientSeq]
		if !again {
			f.texts = append(f.texts, s.Content.GetText())
			seq = uint64(len(f.texts))
			f.seqs[s.ClientSeq] = seq
		} else if f.texts[seq-1] != s.Content.GetText() {
			c.Errorf("message %d was %q and is now %q", s.ClientSeq, f.texts[seq-1], s.Content.GetText())
		}
		r := &gatewayv1.Receipt{Conversation: s.Conversation, ClientSeq: s.ClientSeq, Seq: seq, Id: "m", Duplicate: again}
		answer.Receipts = append(answer.Receipts, r)
		if f.fault() {
			answer.Receipts = append(answer.Receipts, r)
		}
	}
	if f.fault() { // stored, and the receipts are lost
		f.broken++
		return false
	}
	c.write(answer)
	f.push(c)
	return true
}

// push sends events of the stream: the newest, with gaps, and some earlier ones.
func (f *flaky) push(c *conn) {
	frame := &gatewayv1.ServerFrame{}
	for seq := max(len(f.texts)-6, 1); seq <= len(f.texts); seq++ {
		if !f.fault() {
			frame.Events = append(frame.Events, f.event(uint64(seq)))
		}
	}
	c.write(frame)
}

func (f *flaky) event(seq uint64) *chatv1.Event {
	e := event(seq, seq-1)
	e.GetMessage().Content = &chatv1.Content{Kind: &chatv1.Content_Text{Text: f.texts[seq-1]}}
	return e
}

// page of the stream for a sync.
func (f *flaky) page(after *chatv1.Position) *chatv1.SyncResponse {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &chatv1.SyncResponse{Next: &chatv1.Position{Epoch: 1, Seq: after.GetSeq()}}
	for seq := after.GetSeq() + 1; seq <= uint64(len(f.texts)) && len(r.Events) < 5; seq++ {
		r.Events = append(r.Events, f.event(seq))
		r.Next.Seq = seq
	}
	r.More = r.Next.Seq < uint64(len(f.texts))
	return r
}

// TestAFlakyServer: despite network faults and a restart of the process, each message is stored once and in order, and each event is handed
// over once and in order.
func TestAFlakyServer(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := &flaky{random: rand.New(rand.NewPCG(seed, 1)), seqs: map[uint64]uint64{}}
			s := &server{sync: f.page, script: func(_ int, c *conn) {
				for sends := c.sends(); sends != nil && f.take(c, sends); sends = c.sends() {
				}
			}}
			start(t, s)
			s.tail = &chatv1.Position{Epoch: 1, Seq: 1 << 40} // the client always syncs
			store := rialto.NewFileStore(filepath.Join(t.TempDir(), "state.json"))
			const each = 30
			seen := uint64(0)
			for process := range 2 {
				c, events := s.client(store)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- c.Run(ctx) }()
				var last func(context.Context) (*gatewayv1.Receipt, error)
				for i := range each {
					last = c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: fmt.Sprint(process*each + i + 1)}})
				}
				if process == 1 { // the first process ends in the middle
					if _, err := last(t.Context()); err != nil {
						t.Fatal(err)
					}
					for seen < 2*each {
						seen = next(t, <-events, seen)
					}
				} else {
					seen = next(t, <-events, seen)
				}
				cancel()
				<-ended
				for len(events) > 0 {
					seen = next(t, <-events, seen)
				}
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			for i, text := range f.texts {
				if text != fmt.Sprint(i+1) {
					t.Fatalf("message %d of the conversation is %q", i+1, text)
				}
			}
			if len(f.texts) != 2*each || seen != 2*each || f.broken == 0 {
				t.Errorf("%d stored, %d seen, %d connections broken", len(f.texts), seen, f.broken)
			}
		})
	}
}

// next checks that an event follows the one before.
func next(t *testing.T, e rialto.Event, seen uint64) uint64 {
	t.Helper()
	if m := e.Message; m == nil || m.Seq != seen+1 || m.Content.GetText() != fmt.Sprint(m.Seq) {
		t.Fatalf("after %d came %v", seen, e.Message)
	}
	return seen + 1
}
