package apptest_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/backoff"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// TestRoomsOfAConnection: entries and leaves that follow each other at once leave the connection where its last frame says: in the room, with
// all that is said from then on, and in no room that it left.
func TestRoomsOfAConnection(t *testing.T) {
	t.Parallel()
	h := apptest.Open(t, func(c *config.Config) { c.Limits.CallUser = "1000000/s" })
	alice, bob := h.Register(t, "alice"), h.Register(t, "bob")
	rooms := make([]uint64, 11)
	for i := range rooms {
		rooms[i] = createRoom(t, alice)
	}
	s, _ := bob.Socket(t, "rialto.v1.proto")
	for range 30 {
		s.Write(&gatewayv1.ClientFrame{Request: 1, EnterRoom: rooms[0]})
		s.Write(&gatewayv1.ClientFrame{LeaveRoom: rooms[0]})
	}
	request := uint64(2)
	enter := func(room uint64) (reason string) {
		for ; ; request++ {
			s.Write(&gatewayv1.ClientFrame{Request: request, EnterRoom: room})
			f := s.Read()
			for f.Request != request {
				f = s.Read()
			}
			if wait := f.Error.GetRetryMs(); wait > 0 && backoff.Sleep(t.Context(), time.Duration(wait)*time.Millisecond) == nil {
				continue // an earlier entry is under way, or the node is busy
			}
			request++
			return f.Error.GetReason()
		}
	}
	for range 3 {
		if reason := enter(rooms[0]); reason != "" {
			t.Fatalf("entering failed: %s", reason)
		}
		hears(t, alice, s, rooms[0])
		s.Write(&gatewayv1.ClientFrame{LeaveRoom: rooms[0]})
	}
	for _, room := range rooms[1:] { // ten, so it is in no other
		if reason := enter(room); reason != "" {
			t.Fatalf("entering another room failed: %s", reason)
		}
	}
	if reason := enter(rooms[0]); reason != "too_many_entered" {
		t.Errorf("entering an eleventh room: %q", reason)
	}
	hears(t, alice, s, rooms[10])
}

func createRoom(t *testing.T, p *apptest.Person) uint64 {
	t.Helper()
	r, err := p.Server.Rooms().CreateRoom(t.Context(), apptest.As(p, &chatv1.CreateRoomRequest{Title: "a room"}))
	if err != nil {
		t.Fatal(err)
	}
	return r.Msg.Id
}

// hears sends to a room until the socket gets a message. A room's message may be lost, and refused while the room is busy.
func hears(t *testing.T, from *apptest.Person, s *apptest.Socket, room uint64) {
	t.Helper()
	send := func() {
		q := &chatv1.SendRoomMessageRequest{Room: room, Kind: &chatv1.SendRoomMessageRequest_Text{Text: "hello"}}
		if _, err := from.Server.Rooms().SendRoomMessage(t.Context(), apptest.As(from, q)); err != nil {
			t.Fatal(err)
		}
	}
	send()
	for {
		for _, u := range s.Read().Rooms {
			if u.Room == room && len(u.Messages) > 0 {
				return
			}
			if u.Missed > 0 {
				send()
			}
		}
	}
}
