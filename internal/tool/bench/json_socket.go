package bench

import (
	"fmt"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonSocket is a WebSocket whose frames are in JSON.
type jsonSocket struct{ *socket }

func (s *jsonSocket) next() ([]byte, error) {
	p, err := s.socket.next()
	if err != nil {
		return nil, err
	}
	return fromJSON(p)
}

func (s *jsonSocket) write(payload []byte) error {
	var f gatewayv1.ClientFrame
	if err := proto.Unmarshal(payload, &f); err != nil {
		return err
	}
	b, err := protojson.Marshal(&f)
	if err != nil {
		return err
	}
	return s.socket.write(b)
}

// fromJSON returns the protobuf form of a ServerFrame in JSON.
func fromJSON(p []byte) ([]byte, error) {
	var f gatewayv1.ServerFrame
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(p, &f); err != nil {
		return nil, fmt.Errorf("the server sent invalid JSON: %w", err)
	}
	return proto.Marshal(&f)
}
