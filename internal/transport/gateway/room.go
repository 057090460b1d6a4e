package gateway

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// roomsAbove is the number of pending bytes above which a connection no longer gets ordinary messages of rooms. Updates of rooms are the first output that a slow
// connection loses. Above hintAbove, it does not get messages and changes of moderators either.
const roomsAbove = hintAbove / 4

var errTooManyEntered = errs.New(errs.Exhausted, "too_many_entered", "a connection may be in 10 rooms; leave one first")

// handleRooms handles the parts of a frame that are about rooms.
func (c *conn) handleRooms(f *gatewayv1.ClientFrame) {
	if room := id.Room(f.LeaveRoom); room != 0 {
		c.RemovedFromRoom(room)
		c.server.deps.Rooms.Leave(room, c)
	}
	if room, request := id.Room(f.EnterRoom), f.Request; room != 0 {
		turn := c.beginEntry(room)
		c.call("enter_room", request, 0, func(ctx context.Context) error { return c.enterRoom(ctx, request, room, turn) })
	}
}

// beginEntry records that the connection enters a room, in the order of its frames. It returns 0 if it is in too many.
func (c *conn) beginEntry(room id.Room) (turn uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, in := c.rooms[room]; !in && len(c.rooms) >= maxRooms || c.state == stateClosed {
		return 0
	}
	if c.rooms == nil {
		c.rooms = map[id.Room]uint64{}
	}
	c.roomTurn++
	c.rooms[room] = c.roomTurn
	return c.roomTurn
}

func (c *conn) enterRoom(ctx context.Context, request uint64, room id.Room, turn uint64) error {
	if turn == 0 {
		return errTooManyEntered
	}
	err := c.allowCall(0)
	if err == nil {
		err = c.server.deps.Rooms.Enter(ctx, c.caller.User, room, c, func(e *chatv1.RoomEntry) {
			c.sendFrame(&gatewayv1.ServerFrame{Request: request, Room: e})
		})
	}
	if err != nil {
		c.mu.Lock()
		if c.rooms[room] == turn { // it has not left, or entered again
			delete(c.rooms, room)
		}
		c.mu.Unlock()
	}
	c.server.deps.Rooms.Leave(room, c) // if it left, or was closed, meanwhile
	return err
}

// EntersRoom reports whether the connection is in a room, or is entering it.
func (c *conn) EntersRoom(room id.Room) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, in := c.rooms[room]
	return in
}

// PushRoom queues the update of a room.
func (c *conn) PushRoom(f *message.RoomFrame, urgent bool) bool {
	most := roomsAbove
	if urgent {
		most = hintAbove
	}
	b, err := f.Encoded(c.json)
	if err != nil {
		c.server.deps.Logger.Error("the update of a room cannot be encoded", "error", err)
		return false
	}
	op := byte(opBinary)
	if c.json {
		op = opText
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != stateReady || c.pending() >= most {
		return false
	}
	c.appendFrame(op, b)
	c.queueWrite()
	return true
}

// RemovedFromRoom forgets a room that the connection is no longer in.
func (c *conn) RemovedFromRoom(room id.Room) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rooms, room)
}
