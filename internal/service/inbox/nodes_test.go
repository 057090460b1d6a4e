package inbox_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// nodes are the inbox services of several nodes: each has its own connections and memory.
func nodes(t *testing.T, n int) (*harness, []*harness) {
	t.Helper()
	h := newHarness(t, false, inbox.Config{})
	place := sqltest.Schema(t, sqltest.Postgres(t))
	list := make([]*harness, n)
	for i := range list {
		db, err := sqldb.Open(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		list[i] = &harness{t: t, log: h.log, db: db, conversations: h.conversations, clock: h.clock, hidden: h.hidden, invisible: h.invisible, types: h.types}
		if list[i].outbox, err = job.NewOutbox(t.Context(), db, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		list[i].start()
	}
	return h, list
}

// A user's devices set cursors through different nodes concurrently. Cursors only move forward, are visible on all nodes, and other users
// are notified in order.
func TestCursorsThroughManyNodes(t *testing.T) {
	const sent, rounds, devices = 60, 25, 6
	h, list := nodes(t, 3)
	h.open(t, duo, ann, bob)
	for range sent {
		h.send(t, bob, duo, false)
	}
	var wait sync.WaitGroup
	for d := range devices {
		random := rand.New(rand.NewPCG(7, uint64(d)))
		wait.Go(func() {
			last := uint64(0)
			for i := range rounds {
				seq := 2 + random.Uint64N(sent)
				st, err := list[(d+i)%3].MarkNow(t.Context(), ann, duo, 0, seq)
				if err != nil {
					t.Error(err)
					return
				}
				other, err := list[(d+i+1)%3].GetConversation(t.Context(), ann, duo)
				if err != nil {
					t.Error(err)
					return
				}
				if st.ReadSeq < max(seq, last) || st.ReadCounted != st.ReadSeq-1 || other.State.ReadSeq < st.ReadSeq || other.Unread != sent+1-other.State.ReadSeq {
					t.Errorf("marked %d after %d: state %v, on another node %v with %d unread", seq, last, st, other.State, other.Unread)
					return
				}
				last = st.ReadSeq
			}
		})
	}
	wait.Go(func() { // changes another column of the same row
		for i := range rounds {
			pinned := i%2 == 0
			if _, err := list[i%3].Configure(t.Context(), ann, &chatv1.ConfigureRequest{Conversation: uint64(duo), Pinned: &pinned}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	wait.Wait()
	list[0].markSync(t, ann, duo, 0, sent+1)
	own, peer := uint64(0), uint64(0)
	for _, e := range list[1].events(t) {
		switch {
		case e.to == ann:
			st := e.event.GetConversation()
			if st.ReadSeq < own {
				t.Fatalf("the user's own devices got cursor %d after %d", st.ReadSeq, own)
			}
			own = st.ReadSeq
		case e.to == bob:
			m := e.event.GetMark()
			if m.ReadSeq <= peer || m.DeliveredSeq < m.ReadSeq {
				t.Fatalf("the other user got %v after %d", m, peer)
			}
			peer = m.ReadSeq
		}
	}
	c, err := list[2].GetConversation(t.Context(), ann, duo)
	if err != nil {
		t.Fatal(err)
	}
	if c.Unread != 0 || !c.State.Pinned || own != sent+1 || peer != sent+1 {
		t.Errorf("the final state is %v with %d unread; the last notifications are %d and %d", c.State, c.Unread, own, peer)
	}
}

// A user's devices acknowledge through different nodes, and an old acknowledgement comes late. Each node knows the furthest position of each device.
func TestDevicePositionsThroughManyNodes(t *testing.T) {
	h, list := nodes(t, 2)
	h.open(t, duo, ann, bob)
	h.types[ann] = map[id.Device]string{5: "phone", 6: "desktop"}
	var seqs []uint64
	var positions []message.Position
	for range 2 {
		seqs = append(seqs, h.receive(t, bob, duo))
		at, err := h.Tail(t.Context(), ann)
		if err != nil {
			t.Fatal(err)
		}
		positions = append(positions, at)
	}
	for _, ack := range []struct {
		node   int
		device id.Device
		at     message.Position
	}{{0, 5, positions[1]}, {1, 6, positions[0]}, {1, 5, positions[0]}} {
		list[ack.node].Ack(id.Caller{User: ann, Device: ack.device}, ack.at)
		list[ack.node].ProcessAcks(t.Context())
	}
	for i, n := range list {
		wantDeliveries(t, fmt.Sprint("first message, node ", i), n.deliveries(t, bob, duo, seqs[0]), fmt.Sprintf("desktop:true phone:true [%d] []", ann))
		wantDeliveries(t, fmt.Sprint("second message, node ", i), n.deliveries(t, bob, duo, seqs[1]), fmt.Sprintf("desktop:false phone:true [%d] []", ann))
	}
}
