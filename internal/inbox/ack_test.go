package inbox_test

import (
	"testing"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/inbox"
	"github.com/rialto-im/rialto/internal/message"
)

// get has a message come into ann's stream, and gives its seq.
func (h *house) get(t *testing.T, from id.User, c id.Conversation) uint64 {
	t.Helper()
	seq := h.send(t, from, c, false)
	h.post(t, ann, message.AppendInboxRef(nil, c, seq))
	return seq
}

// ackAll has a device of ann's have all of her stream, and runs a round.
func (h *house) ackAll(t *testing.T) {
	t.Helper()
	at, err := h.Tail(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	h.Ack(id.Caller{User: ann, Device: 5}, at)
	h.run(t)()
}

// What a device acknowledges has been delivered, and its sender is told so once.
func TestWhatIsAcknowledgedIsDelivered(t *testing.T) {
	h := newHouse(t, true, inbox.Config{})
	h.open(t, duo, ann, bob)
	h.open(t, 12, ann, eve)
	h.join(t, all, ann, bob)
	h.ackAll(t)
	h.get(t, bob, duo)
	h.get(t, bob, all) // in groups nobody is told
	seq := h.get(t, bob, duo)
	h.get(t, ann, 12) // what one sent oneself is no news to the other
	same(t, "before", h.events(t))
	h.ackAll(t)
	same(t, "acknowledged", h.events(t), markTo(bob, duo, ann, seq, 0))
	h.ackAll(t)
	h.restart(false)
	h.ackAll(t)
	same(t, "again", h.events(t))

	// Two of bob's messages came since, and one of them is not acknowledged yet; between them is one of ann's.
	first := h.get(t, bob, duo)
	own := h.get(t, ann, duo)
	at, err := h.Tail(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	last := h.get(t, bob, duo)
	h.Ack(id.Caller{User: ann, Device: 6}, at)
	h.run(t)()
	if got := h.events(t); len(got) != 1 || got[0].to != bob || got[0].event.GetMark().DeliveredSeq < first || got[0].event.GetMark().DeliveredSeq > own {
		t.Errorf("told %v, want %d or %d", got, first, own)
	}
	at, err = h.Tail(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	// Asking for what comes after has the same effect.
	if _, err := h.Sync(t.Context(), id.Caller{User: ann, Device: 5}, &chatv1.SyncRequest{After: &chatv1.Position{Epoch: at.Epoch(), Seq: uint64(at)}}); err != nil {
		t.Fatal(err)
	}
	h.run(t)()
	same(t, "the rest", h.events(t), markTo(bob, duo, ann, last, 0))

	h.markSync(t, ann, duo, h.get(t, bob, duo), 0)
	h.events(t)
	h.ackAll(t)
	same(t, "marked before", h.events(t))

	h.rooms.setApart(duo, true)
	h.get(t, bob, duo)
	h.ackAll(t)
	same(t, "blocked", h.events(t))
}

// A long stream is gone over in rounds, and to its end.
func TestALongStreamIsConfirmedInRounds(t *testing.T) {
	h := newHouse(t, false, inbox.Config{})
	h.open(t, duo, ann, bob)
	var seqs []uint64
	for range 2500 {
		seqs = append(seqs, h.get(t, bob, duo))
	}
	h.ackAll(t)
	for range 3 {
		h.run(t)()
	}
	var told []uint64
	for _, e := range h.events(t) {
		told = append(told, e.event.GetMark().GetDeliveredSeq())
	}
	if !equal(told, seqs[999], seqs[1999], seqs[2499]) || len(told) != 3 {
		t.Errorf("told %v", told)
	}
}

// Nodes that share a store go over as much of it in a round as one would.
func TestNodesShareARoundOfAcknowledgements(t *testing.T) {
	for range 10 {
		if confirmed := afterARound(t); confirmed < 3 {
			return
		}
	}
	t.Error("a round goes over what is another node's")
}

// afterARound gives how many of three streams, each of which is a node's share of a round, are confirmed after a run. A run is a round,
// or several on a machine that stalls.
func afterARound(t *testing.T) (first int) {
	h := newHouse(t, false, inbox.Config{})
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
			t.Errorf("%d streams after run %d", confirmed, round+1)
		}
		if round == 0 {
			first = confirmed
		}
	}
	return first
}

func TestAcknowledgementsMoveForward(t *testing.T) {
	s := &stream{house: newHouse(t, true, inbox.Config{})}
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
		{5, 1<<32 + 4, 1<<32 + 2}, // never given
		{5, 1 << 63, 1<<32 + 2},
		{5, 0, 1<<32 + 2},
		{6, 1<<32 + 3, 1<<32 + 3},
	} {
		s.Ack(id.Caller{User: reader, Device: step.device}, step.ack)
		s.run(t)()
		if got, err := inbox.Confirmed(t.Context(), s.Service, reader); err != nil || got != step.want {
			t.Errorf("after %x: %x, %v", step.ack, got, err)
		}
	}
}
