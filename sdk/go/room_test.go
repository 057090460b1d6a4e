package rialto_test

import (
	"slices"
	"testing"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

func roomMessages(ids ...uint64) (list []*chatv1.RoomMessage) {
	for _, n := range ids {
		list = append(list, &chatv1.RoomMessage{Id: n})
	}
	return list
}

// TestRoomsAreEnteredAgain after a reconnect and after a refusal for now, and messages are delivered once. Rooms that the client left, or was taken out of,
// are not entered again.
func TestRoomsAreEnteredAgain(t *testing.T) {
	entries := make(chan uint64, 10)
	likes := make(chan *gatewayv1.Call, 1)
	read := func(c *conn) *gatewayv1.ClientFrame {
		for {
			if f := c.read(); f == nil || f.EnterRoom != 0 || f.LeaveRoom != 0 || f.Call != nil {
				return f
			}
		}
	}
	s := start(t, &server{script: func(n int, c *conn) {
		if n == 2 { // only room 7 is left of those that were entered
			f := read(c)
			entries <- f.GetEnterRoom()
			c.write(&gatewayv1.ServerFrame{Request: f.GetRequest(), Room: &chatv1.RoomEntry{Room: &chatv1.Room{Id: 7}, Recent: roomMessages(1, 2, 3)}})
			c.untilGone()
			return
		}
		moving := true
		for range 4 { // the rooms 7, 8 and 9, and 7 again
			f := read(c)
			entries <- f.GetEnterRoom()
			answer := &gatewayv1.ServerFrame{Request: f.GetRequest()}
			switch {
			case f.GetEnterRoom() == 8:
				answer.Error = &gatewayv1.Error{Code: "permission_denied", Reason: "kicked"}
			case f.GetEnterRoom() == 7 && moving:
				moving = false
				answer.Error = &gatewayv1.Error{Code: "unavailable", Reason: "room_moving", RetryMs: 1}
			default:
				answer.Room = &chatv1.RoomEntry{Room: &chatv1.Room{Id: f.GetEnterRoom()}, Recent: roomMessages(1)}
			}
			c.write(answer)
		}
		likes <- read(c).GetCall()
		c.write(&gatewayv1.ServerFrame{Rooms: []*chatv1.RoomUpdate{{Room: 7, Messages: roomMessages(1, 2)}, {Room: 9, Left: chatv1.RoomLeft_ROOM_LEFT_KICKED}}})
	}})
	events := make(chan rialto.Event, 20)
	c, err := rialto.New(rialto.Config{URL: s.url, Handler: func(e rialto.Event) {
		if e.RoomEntry != nil || e.RoomUpdate != nil || e.RoomRefused != nil {
			events <- e
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Adopt(s.session()); err != nil {
		t.Fatal(err)
	}
	for room := uint64(7); room <= 10; room++ {
		c.EnterRoom(room)
	}
	c.LeaveRoom(10)
	run(t, c)
	asked := []uint64{<-entries, <-entries, <-entries, <-entries}
	if slices.Sort(asked); !slices.Equal(asked, []uint64{7, 7, 8, 9}) {
		t.Errorf("the client asked to enter the rooms %v, want 7 twice, 8 and 9", asked)
	}
	delivered := map[uint64][]uint64{}
	take := func() rialto.Event {
		e := <-events
		room, list := e.RoomEntry.GetRoom().GetId(), e.RoomEntry.GetRecent()
		if e.RoomUpdate != nil {
			room, list = e.RoomUpdate.Room, e.RoomUpdate.Messages
		}
		for _, m := range list {
			delivered[room] = append(delivered[room], m.Id)
		}
		return e
	}
	refused := 0
	for range 3 {
		if e := take(); e.RoomRefused != nil {
			refused++
			if e.RoomRefused.Room != 8 || e.RoomRefused.Error.Reason != "kicked" {
				t.Errorf("the refusal is %v, want room 8 with kicked", e.RoomRefused)
			}
		}
	}
	if refused != 1 {
		t.Errorf("%d rooms were refused, want 1", refused)
	}
	c.LikeRoom(7, 3)
	var like chatv1.LikeRoomRequest
	if call := <-likes; call.GetMethod() != "/rialto.chat.v1.RoomService/LikeRoom" || proto.Unmarshal(call.GetPayload(), &like) != nil || like.Room != 7 || like.Count != 3 {
		t.Errorf("the call of LikeRoom(7, 3) is %v", call)
	}
	take()
	if e := take(); e.RoomUpdate.GetLeft() != chatv1.RoomLeft_ROOM_LEFT_KICKED {
		t.Errorf("the last update is %v, want a kick", e.RoomUpdate)
	}
	if room := <-entries; room != 7 {
		t.Errorf("after the reconnect, room %d is entered, want 7", room)
	}
	take()
	if want := []uint64{1, 2, 3}; !slices.Equal(delivered[7], want) {
		t.Errorf("the messages of room 7 were %v, want %v", delivered[7], want)
	}
}
