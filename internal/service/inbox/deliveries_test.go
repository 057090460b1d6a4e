package inbox_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func (h *harness) sees(_ context.Context, by id.User, users []id.User) (map[id.User]bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[id.User]bool{}
	for _, u := range users {
		seen[u] = u == by || !h.invisible[u]
	}
	return seen, nil
}

func (h *harness) deviceTypes(_ context.Context, u id.User) (map[id.Device]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.types[u]), nil
}

// ackTo acknowledges a device's stream up to its tail, and runs a round.
func (h *harness) ackTo(t *testing.T, u id.User, d id.Device) message.Position {
	t.Helper()
	at, err := h.Tail(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	h.Ack(id.Caller{User: u, Device: d}, at)
	h.run(t)()
	return at
}

// deliveries describes all pages of a message's deliveries to a sender: devices, users who have it / users who do not.
func (h *harness) deliveries(t *testing.T, by id.User, c id.Conversation, seq uint64) string {
	t.Helper()
	var text []string
	for _, undelivered := range []bool{false, true} {
		var users []uint64
		for page := ""; ; {
			r, err := h.ListDeliveries(t.Context(), by, &chatv1.ListDeliveriesRequest{Conversation: uint64(c), Seq: seq, Page: page, Undelivered: undelivered})
			if err != nil {
				t.Fatal(err)
			}
			if page == "" && !undelivered {
				for _, d := range r.Devices {
					text = append(text, fmt.Sprintf("%s:%v", d.Type, d.Delivered))
				}
			}
			users = append(users, r.Users...)
			if page = r.Next; page == "" {
				break
			}
		}
		text = append(text, fmt.Sprint(users))
	}
	return strings.Join(text, " ")
}

func wantDeliveries(t *testing.T, name, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: deliveries are %s, want %s", name, got, want)
	}
}

// Each device of the other user has a message once it acknowledges it, also after a restart. A device that is logged out does not count.
func TestDeliveriesOfDevices(t *testing.T) {
	h := newHarness(t, true, inbox.Config{})
	h.open(t, duo, ann, bob)
	h.open(t, 12, ann, eve)
	h.types[ann] = map[id.Device]string{5: "phone", 6: "web", 7: "web", 8: "desktop"}
	h.receive(t, eve, 12)
	h.ackTo(t, ann, 8)
	first := h.receive(t, bob, duo)
	list := func() string { return h.deliveries(t, bob, duo, first) }
	wantDeliveries(t, "not acknowledged", list(), fmt.Sprintf("desktop:false phone:false web:false [] [%d]", ann))
	h.ackTo(t, ann, 5)
	wantDeliveries(t, "phone", list(), fmt.Sprintf("desktop:false phone:true web:false [%d] []", ann))
	h.receive(t, eve, 12) // another conversation
	h.ackTo(t, ann, 7)
	second := h.receive(t, bob, duo)
	h.restart(false)
	wantDeliveries(t, "web, after a restart", list(), fmt.Sprintf("desktop:false phone:true web:true [%d] []", ann))
	wantDeliveries(t, "the next message", h.deliveries(t, bob, duo, second), fmt.Sprintf("desktop:false phone:false web:false [] [%d]", ann))
	delete(h.types[ann], 5)
	delete(h.types[ann], 8)
	wantDeliveries(t, "without the phone", list(), fmt.Sprintf("web:true [%d] []", ann))

	h.invisible[ann] = true
	wantDeliveries(t, "invisible", list(), fmt.Sprintf("[%d] []", ann))
	h.invisible[ann] = false
	h.hide(ann)
	wantDeliveries(t, "hides read receipts", list(), fmt.Sprintf("[%d] []", ann))
	h.hidden[ann] = false
	h.conversations.setBlocked(duo, true)
	wantDeliveries(t, "blocked", list(), fmt.Sprintf("[] [%d]", ann))
}

// A position far from the message, with many entries of other conversations between, says the same as one near it.
func TestDeliveriesFarFromThePosition(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	h.open(t, duo, ann, bob)
	h.open(t, 12, ann, eve)
	h.types[ann] = map[id.Device]string{5: "behind", 6: "between", 7: "current"}
	const others = 1100
	fill := func() {
		for range others {
			h.receive(t, eve, 12)
		}
	}
	h.receive(t, eve, 12)
	h.ackTo(t, ann, 5)
	fill()
	seq := h.receive(t, bob, duo)
	h.ackTo(t, ann, 6)
	fill()
	h.ackTo(t, ann, 7)
	for range 3 { // rounds are bounded
		h.run(t)()
	}
	want := fmt.Sprintf("behind:false between:true current:true [%d] []", ann)
	wantDeliveries(t, "young", h.deliveries(t, bob, duo, seq), want)
	h.clock.move(time.Hour)
	wantDeliveries(t, "old", h.deliveries(t, bob, duo, seq), want)
}

// A message that fan-out has not brought to a stream yet is not delivered by an acknowledgement of what was there.
func TestDeliveriesBeforeFanout(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	h.join(t, all, ann, bob)
	h.receive(t, bob, all)
	h.ackTo(t, ann, 5)
	seq := h.send(t, bob, all, false)
	wantDeliveries(t, "not in the stream", h.deliveries(t, bob, all, seq), fmt.Sprintf("[] [%d]", ann))
	h.post(t, ann, message.AppendInboxRef(nil, all, seq))
	wantDeliveries(t, "not acknowledged", h.deliveries(t, bob, all, seq), fmt.Sprintf("[] [%d]", ann))
	h.ackTo(t, ann, 5)
	wantDeliveries(t, "acknowledged", h.deliveries(t, bob, all, seq), fmt.Sprintf("[%d] []", ann))
}

// In a group, members are listed by the furthest of their devices. Who may not be seen counts as one who has not received, unless it shows as
// read.
func TestDeliveriesInGroup(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	const members = 500
	var users []id.User
	for i := range members {
		users = append(users, id.User(i+1))
	}
	h.join(t, all, users...)
	seq := h.send(t, 1, all, false)
	h.fanOut(t)
	for _, u := range users[1:300] {
		at, err := h.Tail(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		h.Ack(id.Caller{User: u, Device: id.Device(u)}, at)
	}
	h.run(t)()
	h.Mark(400, all, 0, seq)
	h.Mark(401, all, 0, seq)
	h.FlushCursors(t.Context())
	h.invisible[400], h.invisible[10] = true, true
	h.hide(20)
	h.hide(401)
	var want, not []id.User
	for _, u := range users[1:] {
		if u <= 300 && u != 10 && u != 20 || u == 400 {
			want = append(want, u)
		} else {
			not = append(not, u)
		}
	}
	wantDeliveries(t, "group", h.deliveries(t, 1, all, seq), fmt.Sprint(want, " ", not))
	h.leave(t, all, 2)
	if got := h.deliveries(t, 1, all, seq); !strings.HasPrefix(got, "[2 3 ") {
		t.Errorf("a member who left after the message is missing: %s", got)
	}
}

func TestDeliveriesAreRefused(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	h.join(t, all, ann, bob)
	seq := h.send(t, bob, all, false)
	h.conversations.large[12] = true
	h.join(t, 12, ann, bob)
	large := h.send(t, bob, 12, false)
	for _, c := range []struct {
		by   id.User
		q    *chatv1.ListDeliveriesRequest
		want string
	}{
		{ann, &chatv1.ListDeliveriesRequest{Conversation: uint64(all), Seq: seq}, "not_sender"},
		{eve, &chatv1.ListDeliveriesRequest{Conversation: uint64(all), Seq: seq}, "no_conversation"},
		{bob, &chatv1.ListDeliveriesRequest{Conversation: uint64(all), Seq: seq + 1}, "no_message"},
		{bob, &chatv1.ListDeliveriesRequest{Conversation: uint64(all)}, "no_message"},
		{bob, &chatv1.ListDeliveriesRequest{Conversation: uint64(all), Seq: 1<<64 - 1}, "no_message"},
		{bob, &chatv1.ListDeliveriesRequest{Conversation: uint64(all), Seq: seq, Page: "x"}, "bad_page"},
		{bob, &chatv1.ListDeliveriesRequest{Conversation: 12, Seq: large}, "large_group"},
	} {
		if _, err := h.ListDeliveries(t.Context(), c.by, c.q); errs.Of(err).Reason != c.want {
			t.Errorf("%v by %d: %v, want %s", c.q, c.by, err, c.want)
		}
	}
}

// A device is behind since the first message that it has not acknowledged; events that are not messages do not count.
func TestDeviceStates(t *testing.T) {
	h := newHarness(t, true, inbox.Config{})
	h.open(t, duo, ann, bob)
	state := func(d id.Device) inbox.DeviceState {
		t.Helper()
		states, err := h.DeviceStates(t.Context(), ann, []id.Device{d, 8})
		if err != nil || len(states) != 2 {
			t.Fatalf("states of devices %v, want 2; error %v", states, err)
		}
		return states[d]
	}
	is := func(name string, d id.Device, want inbox.DeviceState) {
		t.Helper()
		if got := state(d); got != want {
			t.Errorf("%s: the state of device %d is %+v, want %+v", name, d, got, want)
		}
	}
	current := inbox.DeviceState{UpToDate: true}
	is("an empty stream", 5, current)
	h.receive(t, bob, duo)
	is("before any acknowledgement", 5, inbox.DeviceState{})
	h.ackTo(t, ann, 5)
	h.ackTo(t, ann, 6)
	h.post(t, ann, message.AppendInboxEvent(nil, []byte{1}))
	is("behind by an event", 5, current)
	h.receive(t, bob, duo)
	behind := inbox.DeviceState{BehindSinceMs: h.clock.Now().UnixMilli()}
	h.receive(t, bob, duo)
	h.ackTo(t, ann, 6)
	h.restart(false)
	is("behind", 5, behind)
	is("after its acknowledgement", 6, current)
	is("a device that never acknowledged", 9, inbox.DeviceState{})
}

// Positions of a user's devices are bounded, and those that are the furthest behind are dropped.
func TestDevicePositionsAreBounded(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	h.open(t, duo, ann, bob)
	const devices = 201
	var last message.Position
	for d := range id.Device(devices) {
		h.receive(t, bob, duo)
		var err error
		if last, err = h.Tail(t.Context(), ann); err != nil {
			t.Fatal(err)
		}
		h.Ack(id.Caller{User: ann, Device: d + 1}, last)
	}
	h.run(t)()
	var kept []id.Device
	for d := range id.Device(devices) {
		at, err := inbox.DevicePosition(t.Context(), h.Service, ann, d+1)
		if err != nil {
			t.Fatal(err)
		}
		if at != 0 {
			kept = append(kept, d+1)
		}
	}
	if len(kept) != 100 || slices.Min(kept) != 102 {
		t.Errorf("positions are kept of %v", kept)
	}
}

// Devices at one position are bounded as well: the newest stay.
func TestDevicePositionsThatAreEqualAreBounded(t *testing.T) {
	h := newHarness(t, false, inbox.Config{})
	h.open(t, duo, ann, bob)
	h.receive(t, bob, duo)
	at, err := h.Tail(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	const devices = 201
	for d := range id.Device(devices) {
		h.Ack(id.Caller{User: ann, Device: d + 1}, at)
	}
	h.run(t)()
	var kept []id.Device
	for d := range id.Device(devices) {
		at, err := inbox.DevicePosition(t.Context(), h.Service, ann, d+1)
		if err != nil {
			t.Fatal(err)
		}
		if at != 0 {
			kept = append(kept, d+1)
		}
	}
	if len(kept) != 100 || slices.Min(kept) != 102 {
		t.Errorf("positions are kept of %v", kept)
	}
}

// A device that is so far behind that its stream was trimmed is behind, and hides nothing about the others.
func TestDeviceStatesOfATrimmedStream(t *testing.T) {
	h := newHarness(t, true, inbox.Config{})
	h.open(t, duo, ann, bob)
	h.receive(t, bob, duo)
	h.ackTo(t, ann, 5)
	for range 3 {
		h.receive(t, bob, duo)
	}
	h.ackTo(t, ann, 6)
	tail, err := h.Tail(t.Context(), ann)
	if err == nil {
		err = h.log.Trim(t.Context(), streamKey(ann), uint64(tail))
	}
	if err != nil {
		t.Fatal(err)
	}
	states, err := h.DeviceStates(t.Context(), ann, []id.Device{5, 6})
	if err != nil || states[5] != (inbox.DeviceState{}) || !states[6].UpToDate {
		t.Errorf("the states are %+v, %v", states, err)
	}
}
