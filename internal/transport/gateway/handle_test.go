package gateway

import (
	"fmt"
	"strings"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// A frame with a send that no receipt could be matched to is refused with one answer, under its request number. Nothing in it is
// executed, and the connection stays open.
func TestFrameWithInvalidSendIsRefusedAsAWhole(t *testing.T) {
	sends := func(n int) (list []*gatewayv1.Send) {
		for i := range n {
			list = append(list, &gatewayv1.Send{Conversation: 5, ClientSeq: uint64(i + 1)})
		}
		return list
	}
	nameless := sends(4)
	nameless[2].ClientSeq = 0
	ack := &chatv1.Position{Epoch: 1, Seq: 1}
	for name, test := range map[string]struct {
		frame  *gatewayv1.ClientFrame
		reason string
		says   string
	}{
		"a send without id": {&gatewayv1.ClientFrame{Ack: ack, Sends: nameless}, "no_client_id", "sends[2]"},
		"with a number":     {&gatewayv1.ClientFrame{Request: 9, Sends: nameless}, "no_client_id", "sends[2]"},
		"all with an id":    {&gatewayv1.ClientFrame{Sends: sends(4)}, "", ""},
	} {
		for _, json := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, JSON %v", name, json), func(t *testing.T) {
				c, r := bench(t)
				c.json = json
				op, b := byte(opBinary), must(proto.Marshal(test.frame))
				if json {
					op, b = opText, must(protojson.Marshal(test.frame))
				}
				if err := c.handleMessage(op, false, b); err != nil {
					t.Fatalf("the connection ends: %v", err)
				}
				list := sent(t, c)
				if test.reason == "" {
					if want := len(test.frame.Sends); len(r.asked) != want || list != nil {
						t.Errorf("%d calls were made, and the answer is %v; want %d calls", len(r.asked), list, want)
					}
					return
				}
				if len(list) != 1 || list[0].Request != test.frame.Request || list[0].GetError().GetReason() != test.reason || !strings.Contains(list[0].Error.Message, test.says) {
					t.Errorf("the frame is answered %v", list)
				}
				if len(r.asked) > 0 {
					t.Errorf("a rejected frame made %d calls", len(r.asked))
				}
				if c.isEnding() || c.in.undecodable > 0 {
					t.Error("the frame counts as undecodable")
				}
			})
		}
	}
}

// The text of an error does not repeat a megabyte of the client's frame.
func TestErrorTextsAreShort(t *testing.T) {
	c, _ := bench(t)
	c.json = true
	c.read(clientFrame(opText, []byte(`{"`+strings.Repeat("x", 1<<19)+`":1}`)))
	if said := c.out.b; len(said) > 1000 || !strings.Contains(string(said), "bad_json") {
		t.Errorf("%d bytes: %.300s", len(said), said)
	}
}
