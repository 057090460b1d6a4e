package rialto

import (
	"context"
	"slices"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// firstRoomRequest is where the numbers of requests about rooms begin.
	firstRoomRequest = 1 << 32
	// maxKnownRoomMessages is how many messages of a room are remembered, so that none is delivered again after a reconnect.
	maxKnownRoomMessages = 200
	// minRoomRetry is the least wait before a room is entered again after a refusal for now.
	minRoomRetry = time.Second
)

// RoomRefusal says why a room could not be entered. The client is not in the room, and does not try again.
type RoomRefusal struct {
	Room  uint64
	Error *gatewayv1.Error
}

// enteredRoom is a room that this client wants to be in.
type enteredRoom struct {
	request uint64   // of the last try to enter
	known   []uint64 // ids of the last messages
}

// unknown returns the messages that were not delivered yet, and remembers them.
func (e *enteredRoom) unknown(list []*chatv1.RoomMessage) []*chatv1.RoomMessage {
	list = slices.DeleteFunc(slices.Clone(list), func(m *chatv1.RoomMessage) bool { return slices.Contains(e.known, m.Id) })
	for _, m := range list {
		e.known = append(e.known, m.Id)
	}
	e.known = e.known[max(0, len(e.known)-maxKnownRoomMessages):]
	return list
}

// EnterRoom puts this client into a chat room until LeaveRoom, now and after each reconnect; in at most 10 rooms at a time. Event.RoomEntry says that it
// is in, Event.RoomUpdate what happens there, and Event.RoomRefused that it may not enter. Nothing that is said in a room is stored. Other calls about
// rooms are made with Room.
func (c *Client) EnterRoom(room uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rooms[room] != nil {
		return
	}
	c.rooms[room] = &enteredRoom{}
	if c.socket != nil {
		c.socket.enqueue(c.enterFrame(room))
	}
}

// LeaveRoom takes this client out of a chat room.
func (c *Client) LeaveRoom(room uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rooms[room] == nil {
		return
	}
	delete(c.rooms, room)
	if c.socket != nil {
		c.socket.enqueue(&gatewayv1.ClientFrame{LeaveRoom: room})
	}
}

// SendRoomText sends a text of 1 to 500 characters to a chat room, in which the client need not be. It is sent once: without an answer, it may have been
// sent or not. The error's reason is too_fast or room_busy where the text was one too many.
func (c *Client) SendRoomText(ctx context.Context, room uint64, text string) (*chatv1.SendRoomMessageResponse, error) {
	r, err := c.room.SendRoomMessage(ctx, connect.NewRequest(&chatv1.SendRoomMessageRequest{Room: room, Kind: &chatv1.SendRoomMessageRequest_Text{Text: text}}))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// LikeRoom adds likes, 1 to 100, to a chat room that this client is in. Gather them and call it about once a second. They may be lost.
func (c *Client) LikeRoom(room uint64, count uint32) {
	payload, err := proto.Marshal(&chatv1.LikeRoomRequest{Room: room, Count: count})
	if err != nil {
		return // its fields are numbers
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.socket != nil { // only the server that has it knows that this client is in the room
		c.roomRequests++
		c.socket.enqueue(&gatewayv1.ClientFrame{Request: c.roomRequests, Call: &gatewayv1.Call{Method: chatv1connect.RoomServiceLikeRoomProcedure, Payload: payload}})
	}
}

// enterFrame asks to enter a room. The caller holds mu.
func (c *Client) enterFrame(room uint64) *gatewayv1.ClientFrame {
	c.roomRequests++
	c.rooms[room].request = c.roomRequests
	return &gatewayv1.ClientFrame{Request: c.roomRequests, EnterRoom: room}
}

// enterRooms enters all rooms on a new connection. The caller holds mu.
func (c *Client) enterRooms(s *socket) {
	for room := range c.rooms {
		s.enqueue(c.enterFrame(room))
	}
}

// onRooms handles what a frame says of rooms.
func (c *Client) onRooms(s *socket, f *gatewayv1.ServerFrame) {
	if f.Room != nil {
		c.onRoomEntry(s, f.Room)
	}
	if f.Error != nil && f.Request > firstRoomRequest {
		c.onRoomError(s, f)
	}
	for _, u := range f.Rooms {
		c.mu.Lock()
		e := c.rooms[u.Room]
		if e != nil {
			u.Messages = e.unknown(u.Messages)
		}
		if u.Left != 0 {
			delete(c.rooms, u.Room)
		}
		c.mu.Unlock()
		if e != nil {
			c.config.Handler(Event{RoomUpdate: u, Live: true})
		}
	}
}

func (c *Client) onRoomEntry(s *socket, entry *chatv1.RoomEntry) {
	room := entry.Room.GetId()
	c.mu.Lock()
	e := c.rooms[room]
	if e != nil {
		entry.Recent = e.unknown(entry.Recent)
	}
	c.mu.Unlock()
	if e == nil { // it was left meanwhile
		s.enqueue(&gatewayv1.ClientFrame{LeaveRoom: room})
		return
	}
	c.config.Handler(Event{RoomEntry: entry, Live: true})
}

// onRoomError tries to enter again where the room could not be entered for now.
func (c *Client) onRoomError(s *socket, f *gatewayv1.ServerFrame) {
	c.mu.Lock()
	room := uint64(0)
	for r, e := range c.rooms {
		if e.request == f.Request {
			room = r
		}
	}
	again := f.Error.Code == "unavailable"
	if room != 0 && !again {
		delete(c.rooms, room)
	}
	c.mu.Unlock()
	switch {
	case room == 0: // it was left, or this is the answer to a like
	case !again:
		c.config.Handler(Event{RoomRefused: &RoomRefusal{Room: room, Error: f.Error}, Live: true})
	default:
		time.AfterFunc(max(time.Duration(f.Error.RetryMs)*time.Millisecond, minRoomRetry), func() { // at most one for each room
			c.mu.Lock()
			defer c.mu.Unlock()
			if e := c.rooms[room]; e != nil && e.request == f.Request && c.socket == s {
				s.enqueue(c.enterFrame(room))
			}
		})
	}
}
