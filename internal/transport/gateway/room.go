package gateway

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// roomsAbove is how many bytes may wait for a connection that gets the updates of a room. Rooms are the first that a slow connection gets nothing of.
// Beyond it ordinary messages are left out, and up to hintAbove what moderators say and do is not.
const roomsAbove = hintAbove / 4

var errTooManyEntered = errs.New(errs.Exhausted, "too_many_entered", "a connection may be in 10 rooms; leave one first")

// handleRooms executes what a frame says of rooms.
func (c *conn) handleRooms(f *gatewayv1.ClientFrame) {
	if room := id.Room(f.LeaveRoom); room != 0 {
		c.RemovedFromRoom(room)
		c.server.deps.Rooms.Leave(room, c)
	}
	if room, request := id.Room(f.EnterRoom), f.Request; room != 0 {
		c.call("enter_room", request, 0, func(ctx context.Context) error { return c.enterRoom(ctx, request, room) })
	}
}

func (c *conn) enterRoom(ctx context.Context, request uint64, room id.Room) error {
	if err := c.allowCall(0); err != nil {
		return err
	}
	c.mu.Lock()
	in := slices.Contains(c.rooms, room)
	full := !in && len(c.rooms) >= maxRooms
	if !in && !full {
		c.rooms = append(c.rooms, room)
	}
	c.mu.Unlock()
	if full {
		return errTooManyEntered
	}
	err := c.server.deps.Rooms.Enter(ctx, c.caller.User, room, c, func(e *chatv1.RoomEntry) {
		c.sendFrame(&gatewayv1.ServerFrame{Request: request, Room: e})
	})
	c.mu.Lock()
	closed := c.state == stateClosed
	c.mu.Unlock()
	switch {
	case closed: // onClosed may have been before Enter
		c.server.deps.Rooms.Leave(room, c)
	case err != nil && !in:
		c.RemovedFromRoom(room)
	}
	return err
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
	c.rooms = slices.DeleteFunc(c.rooms, func(r id.Room) bool { return r == room })
}
