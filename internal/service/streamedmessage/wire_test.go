package streamedmessage

import (
	"encoding/hex"
	"errors"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// The bytes of docs/formats/streamed.md.
func TestGoldenRequests(t *testing.T) {
	b, err := appendRequest(nil, askStop, 5, &chatv1.StopStreamedMessageRequest{Conversation: 7, Seq: 9})
	if err != nil || hex.EncodeToString(b) != "03"+"0000000000000005"+"08071009" {
		t.Errorf("a request is %x, %v", b, err)
	}
	kind, u, body, err := parseRequest(b)
	q := &chatv1.StopStreamedMessageRequest{}
	if err != nil || kind != askStop || u != 5 || proto.Unmarshal(body, q) != nil || q.Seq != 9 {
		t.Errorf("it was decoded as %d, %d, %v, %v", kind, u, q, err)
	}
	if _, _, _, err := parseRequest(b[:8]); !errors.Is(err, errRequest) {
		t.Errorf("a short request: %v", err)
	}
	s := &Service{}
	for _, bad := range [][]byte{nil, {9, 0, 0, 0, 0, 0, 0, 0, 0}, append([]byte{askWrite}, "\x00\x00\x00\x00\x00\x00\x00\x01\xff"...)} {
		if _, err := s.execute(t.Context(), bad); err == nil {
			t.Errorf("%x was executed", bad)
		}
	}
}
