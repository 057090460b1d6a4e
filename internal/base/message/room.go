package message

import (
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// RoomViewer is a connection that is in chat rooms. Its methods do not block, and are called under the room's lock: they must not call the
// service of rooms.
type RoomViewer interface {
	// PushRoom queues a frame, or reports that too much waits for the connection already. With urgent, more may wait.
	PushRoom(f *RoomFrame, urgent bool) bool
	// RemovedFromRoom is called when the connection is no longer in a room, other than by its own leave.
	RemovedFromRoom(room id.Room)
	// EntersRoom reports whether the connection is in a room, or is entering it.
	EntersRoom(room id.Room) bool
}

// RoomFrame is a ServerFrame with the update of a room, encoded once per encoding and shared by all connections that get it. One goroutine
// uses it at a time.
type RoomFrame struct {
	update      *chatv1.RoomUpdate
	proto, json []byte
}

// NewRoomFrame returns the frame of an update.
func NewRoomFrame(update *chatv1.RoomUpdate) *RoomFrame { return &RoomFrame{update: update} }

// Encoded returns the frame's bytes. The caller must not change them.
func (f *RoomFrame) Encoded(json bool) ([]byte, error) {
	encoded, marshal := &f.proto, proto.Marshal
	if json {
		encoded, marshal = &f.json, protojson.Marshal
	}
	if *encoded == nil {
		b, err := marshal(&gatewayv1.ServerFrame{Rooms: []*chatv1.RoomUpdate{f.update}})
		if err != nil {
			return nil, err
		}
		*encoded = b
	}
	return *encoded, nil
}
