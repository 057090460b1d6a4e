package message_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// The body of an event is what the generated code reads, also from field 16 on, where the tag has two bytes.
func TestBodiesOfEventsDecode(t *testing.T) {
	raw, err := proto.Marshal(&chatv1.Ticket{Id: 7})
	if err != nil {
		t.Fatal(err)
	}
	var e chatv1.Event
	if err := proto.Unmarshal(message.AppendBody(nil, message.FieldTicket, raw), &e); err != nil || e.GetTicket().GetId() != 7 {
		t.Errorf("decoded %v: %v", &e, err)
	}
}
