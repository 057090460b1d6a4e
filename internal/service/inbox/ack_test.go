package inbox_test

import (
	"database/sql"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// receive appends a message to ann's stream, and returns its seq.
func (h *harness) receive(t *testing.T, from id.User, c id.Conversation) uint64 {
	t.Helper()
	seq := h.send(t, from, c, false)
	h.post(t, ann, message.AppendInboxRef(nil, c, seq))
	return seq
}

// ackAll acknowledges all of ann's stream, and runs a round.
func (h *harness) ackAll(t *testing.T) {
	t.Helper()
	at, err := h.Tail(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	h.Ack(id.Caller{User: ann, Device: 5}, at)
	h.run(t)()
}

// Acknowledged messages count as delivered, and their sender is notified once.
func TestAcknowledgedMessagesAreDelivered(t *testing.T) {
	h := newHarness(t, true, inbox.Config{})
	h.open(t, duo, ann, bob)
	h.open(t, 12, ann, eve)
	h.join(t, all, ann, bob)
	h.ackAll(t)
	h.receive(t, bob, duo)
	h.receive(t, bob, all) // in groups no sender is notified
	seq := h.receive(t, bob, duo)
	h.receive(t, ann, 12) // own messages have no delivery receipts
	same(t, "before", h.events(t))
	h.ackAll(t)
	same(t, "acknowledged", h.events(t), markTo(bob, duo, ann, seq, 0))
	h.ackAll(t)
	h.restart(false)
	h.ackAll(t)
	same(t, "again", h.events(t))

	// Two of bob's messages follow, one of them not acknowledged yet. Between them is one of ann's.
	first := h.receive(t, bob, duo)
	own := h.receive(t, ann, duo)
	at, err := h.Tail(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	last := h.receive(t, bob, duo)
	h.Ack(id.Caller{User: ann, Device: 6}, at)
	h.run(t)()
	if got := h.events(t); len(got) != 1 || got[0].to != bob || got[0].event.GetMark().DeliveredSeq < first || got[0].event.GetMark().DeliveredSeq > own {
		t.Errorf("notifications are %v, want %d or %d", got, first, own)
	}
	at, err = h.Tail(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	// A sync after a position acknowledges it too.
	if _, err := h.Sync(t.Context(), id.Caller{User: ann, Device: 5}, &chatv1.SyncRequest{After: &chatv1.Position{Epoch: at.Epoch(), Seq: uint64(at)}}); err != nil {
		t.Fatal(err)
	}
	h.run(t)()
	same(t, "the rest", h.events(t), markTo(bob, duo, ann, last, 0))

	h.markSync(t, ann, duo, h.receive(t, bob, duo), 0)
	h.events(t)
	h.ackAll(t)
	same(t, "marked before", h.events(t))

	h.conversations.setBlocked(duo, true)
	h.receive(t, bob, duo)
	h.ackAll(t)
	same(t, "blocked", h.events(t))
}

// A long stream is processed in rounds.
func TestAcksOfLongStreamAreProcessedInRounds(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	h.open(t, duo, ann, bob)
	var seqs []uint64
	for range 2500 {
		seqs = append(seqs, h.receive(t, bob, duo))
	}
	h.ackAll(t)
	for range 3 {
		h.run(t)()
	}
	var notified []uint64
	for _, e := range h.events(t) {
		notified = append(notified, e.event.GetMark().GetDeliveredSeq())
	}
	if !equal(notified, seqs[999], seqs[1999], seqs[2499]) || len(notified) != 3 {
		t.Errorf("notified of delivery up to %v", notified)
	}
}

// Nodes that share a store process together as much of it in a round as a single node.
func TestNodesShareAckRounds(t *testing.T) {
	for range 10 {
		if confirmed := afterARound(t); confirmed < 3 {
			return
		}
	}
	t.Error("a round exceeds this node's share")
}

// afterARound returns how many of three streams, each the length of a node's share of a round, are confirmed after a run. A run is one
// round, or several on a machine that stalls.
func afterARound(t *testing.T) (first int) {
	h := newHarness(t, false, inbox.Config{})
	h.nodes = 20
	const entries = 1000 // twenty such streams are a round
	users := []id.User{ann, bob, eve}
	for i := range entries * len(users) {
		h.post(t, users[i/entries], message.AppendInboxRef(nil, duo, uint64(1+i%entries)))
	}
	for _, u := range users {
		at, err := h.Tail(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		h.Ack(id.Caller{User: u, Device: 5}, at)
	}
	for round := range users {
		h.run(t)()
		confirmed := 0
		for _, u := range users {
			at, err := inbox.Confirmed(t.Context(), h.Service, u)
			if err != nil {
				t.Fatal(err)
			}
			if at != 0 {
				confirmed++
			}
		}
		if confirmed <= round {
			t.Errorf("%d streams are confirmed after run %d", confirmed, round+1)
		}
		if round == 0 {
			first = confirmed
		}
	}
	return first
}

func TestAcknowledgementsMoveForward(t *testing.T) {
	s := &stream{harness: newHarness(t, true, inbox.Config{})}
	for range 3 {
		s.message(t, 1)
	}
	for _, step := range []struct {
		device    id.Device
		ack, want message.Position
	}{
		{0, 1<<32 + 1, 0}, // a server's key has no device
		{5, 1<<32 + 2, 1<<32 + 2},
		{5, 1<<32 + 1, 1<<32 + 2},
		{6, 1<<32 + 1, 1<<32 + 2},
		{5, 1<<32 + 4, 1<<32 + 2}, // never issued
		{5, 1 << 63, 1<<32 + 2},
		{5, 0, 1<<32 + 2},
		{6, 1<<32 + 3, 1<<32 + 3},
	} {
		s.Ack(id.Caller{User: reader, Device: step.device}, step.ack)
		s.run(t)()
		if got, err := inbox.Confirmed(t.Context(), s.Service, reader); err != nil || got != step.want {
			t.Errorf("after an acknowledgement of %x the confirmed position is %x (%v)", step.ack, got, err)
		}
	}
}

// A node of an earlier build stored how far it searched a stream, and no devices. The search continues from there, also while both run.
func TestAcknowledgementsContinueAfterAnEarlierBuild(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	h.open(t, duo, ann, bob)
	h.receive(t, bob, duo)
	at, err := h.Tail(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	err = h.db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO confirmed (owner, position) VALUES ($1, $2)`, int64(ann), int64(at))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	h.ackAll(t)
	same(t, "found before", h.events(t))
	if got, err := inbox.DevicePosition(t.Context(), h.Service, ann, 5); err != nil || got != at {
		t.Errorf("the device's position is %x (%v), want %x", got, err, at)
	}
	seq := h.receive(t, bob, duo)
	h.ackAll(t)
	same(t, "found now", h.events(t), markTo(bob, duo, ann, seq, 0))
}
