package chatroom

import (
	"context"
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/nodecall"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// First bytes of messages, requests and answers between nodes; see docs/formats/room.md.
const (
	wireUpdate  byte = 1
	wireRemove  byte = 2
	wireRequest byte = 3
	wireAnswer  byte = 4
	wireError   byte = 5
)

// Kinds of requests to the owner of a room.
const (
	askSubscribe byte = 1
	askReport    byte = 2
	askSend      byte = 3
	askUpdate    byte = 4
	askClose     byte = 5
	askModerator byte = 6
	askKick      byte = 7
	askMute      byte = 8
)

// header of a message to a node with viewers.
type header struct {
	kind  byte
	room  id.Room
	epoch uint64 // of the room at its owner
	seq   uint64 // of the newest message before this update
}

const headerLen = 25

func (h header) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(append(b, h.kind), uint64(h.room))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, h.epoch), h.seq)
}

func parseHeader(b []byte) (h header, body []byte, err error) {
	if len(b) < headerLen {
		return h, nil, errRequest
	}
	return header{b[0], id.Room(binary.BigEndian.Uint64(b[1:])), binary.BigEndian.Uint64(b[9:]), binary.BigEndian.Uint64(b[17:])}, b[headerLen:], nil
}

func appendUpdate(b []byte, h header, update []byte) []byte { return append(h.append(b), update...) }

// appendRemove appends an update by which a user is taken out. It is one message, so that no node gets the new revision and misses the removal.
func appendRemove(b []byte, h header, u id.User, update []byte) []byte {
	return append(binary.BigEndian.AppendUint64(h.append(b), uint64(u)), update...)
}

// request to the owner of a room.
type request struct {
	kind byte
	room id.Room
	by   id.User
	body []byte
}

func (q request) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(append(b, wireRequest, q.kind), uint64(q.room))
	return append(binary.BigEndian.AppendUint64(b, uint64(q.by)), q.body...)
}

func parseRequest(b []byte) (request, error) {
	if len(b) < 18 || b[0] != wireRequest {
		return request{}, errRequest
	}
	return request{b[1], id.Room(binary.BigEndian.Uint64(b[2:])), id.User(binary.BigEndian.Uint64(b[10:])), b[18:]}, nil
}

// snapshot is what a node that subscribes learns.
type snapshot struct {
	epoch, seq uint64
	kicked     []id.User
	entry      *chatv1.RoomEntry
}

func (p *snapshot) append(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, p.epoch), p.seq)
	b = binary.AppendUvarint(b, uint64(len(p.kicked)))
	for _, u := range p.kicked {
		b = binary.BigEndian.AppendUint64(b, uint64(u))
	}
	return proto.MarshalOptions{}.MarshalAppend(b, p.entry)
}

func parseSnapshot(b []byte) (*snapshot, error) {
	if len(b) < 16 {
		return nil, errRequest
	}
	p := &snapshot{epoch: binary.BigEndian.Uint64(b), seq: binary.BigEndian.Uint64(b[8:]), entry: &chatv1.RoomEntry{}}
	count, n := binary.Uvarint(b[16:])
	if n <= 0 || count > uint64(len(b)-16-n)/8 {
		return nil, errRequest
	}
	for b = b[16+n:]; count > 0; count-- {
		p.kicked, b = append(p.kicked, id.User(binary.BigEndian.Uint64(b))), b[8:]
	}
	return p, proto.Unmarshal(b, p.entry)
}

// ask sends a request to the owner of a room, and returns its answer.
func (s *Service) ask(ctx context.Context, q request) ([]byte, error) {
	node := s.deps.Owner(s.deps.Partition(uint64(q.room)))
	if node == "" {
		return nil, errMoving
	}
	return s.askNode(ctx, node, q)
}

// askPolicy: whoever sends to a room, or enters it, tries again.
var askPolicy = nodecall.FailFast{Timeout: askTimeout}

func (s *Service) askNode(ctx context.Context, node string, q request) ([]byte, error) {
	answer, err := askPolicy.Ask(ctx, s.deps.Bus, subject(node), q.append(nil))
	switch {
	case err != nil:
		return nil, err
	case len(answer) == 0:
		return nil, errRequest
	case answer[0] == wireAnswer:
		return answer[1:], nil
	case answer[0] == wireError:
		if e, ok := message.DecodeError(answer[1:]); ok {
			return nil, e
		}
	}
	return nil, errRequest
}

// askCall has the owner of a room execute a call.
func (s *Service) askCall(ctx context.Context, kind byte, room id.Room, by id.User, q, answer proto.Message) error {
	body, err := proto.Marshal(q)
	if err != nil {
		return err
	}
	b, err := s.ask(ctx, request{kind, room, by, body})
	if err != nil {
		return err
	}
	return proto.Unmarshal(b, answer)
}
