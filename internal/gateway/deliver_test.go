package gateway

import (
	"encoding/json"
	"reflect"
	"testing"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/message"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// TestPushedEventsAreTheContractsJSON: what is written by hand has the fields that the generated code writes, and no others. A client
// tells by their absence that a large group's message has no place in its stream.
func TestPushedEventsAreTheContractsJSON(t *testing.T) {
	m := &chatv1.Message{Conversation: 1 << 60, Seq: 3, Sender: 5, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "\"你好\""}}}
	raw, err := proto.Marshal(&chatv1.Event{Body: &chatv1.Event_Message{Message: m}})
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string][2]message.Position{
		"a large group's message":  {0, 0},
		"the first of a stream":    {1<<32 + 1, 0},
		"one that follows another": {2<<32 + 1, 1<<32 + 7},
	} {
		want, err := protojson.Marshal(&gatewayv1.ServerFrame{Events: []*chatv1.Event{{Epoch: at[0].Epoch(), Seq: uint64(at[0]), Prev: uint64(at[1]), Body: &chatv1.Event_Message{Message: m}}}})
		if err != nil {
			t.Fatal(err)
		}
		var as, is any
		if err := json.Unmarshal(want, &as); err != nil {
			t.Fatal(err)
		}
		got := appendEventJSON(nil, at[0], at[1], &payload{proto: raw})
		if err := json.Unmarshal(got, &is); err != nil || !reflect.DeepEqual(is, as) {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
}
