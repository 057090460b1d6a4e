package message_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// examples of docs/formats/entry.md, by their names: bytes that stores of this version have on their disks.
func examples(t *testing.T) map[string][]byte {
	t.Helper()
	page, err := os.ReadFile("../../../docs/formats/entry.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]byte{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z ]+): +([0-9a-f ]+)$`).FindAllStringSubmatch(string(page), -1) {
		if found[m[1]], err = hex.DecodeString(strings.ReplaceAll(m[2], " ", "")); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// TestGoldenForms reads the bytes of the formats' page, and writes them again.
func TestGoldenForms(t *testing.T) {
	page := examples(t)
	same := func(name string, wrote []byte) {
		t.Helper()
		if !bytes.Equal(wrote, page[name]) {
			t.Errorf("%s: the page has %x, the code writes %x", name, page[name], wrote)
		}
	}
	readable, err := id.ParseMessage("F3ZM-VZDF-A226-2222")
	if err != nil {
		t.Fatal(err)
	}
	control, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Action: chatv1.Control_ACTION_LEFT, Actor: 5, Users: []uint64{5}, PrevAccess: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	recall, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]message.Entry{
		"update":          {ID: readable, Sender: 5, Device: 300, ClientSeq: 8, Updates: 3, Content: recall},
		"message":         {ID: readable, Sender: 5, Device: 300, ClientSeq: 7, Content: message.AppendText(nil, "你好")},
		"limited update":  {ID: readable, Sender: 5, Device: 300, ClientSeq: 8, Updates: 3, Limited: true, Content: recall},
		"limited message": {ID: readable, Sender: 5, Device: 300, ClientSeq: 7, Limited: true, Content: message.AppendText(nil, "你好")},
		"control":         {ID: readable, Sender: 5, Control: true, Content: control},
	} {
		var e message.Entry
		if err := e.Decode(page[name]); err != nil || !reflect.DeepEqual(e, want) {
			t.Errorf("%s: %v, %+v; want %+v", name, err, e, want)
		}
		same(name, want.Append(nil))
	}

	c, seq, _, err := message.DecodeInbox(page["reference"])
	if err != nil || c != 77 || seq != 300 {
		t.Errorf("reference: %d, %d, %v", c, seq, err)
	}
	same("reference", message.AppendInboxRef(nil, 77, 300))
	raw, err := proto.Marshal(&chatv1.ProfileChange{User: 5})
	if err != nil {
		t.Fatal(err)
	}
	event := message.AppendBody(nil, message.FieldProfile, raw)
	if _, _, body, err := message.DecodeInbox(page["event"]); err != nil || !bytes.Equal(body, event) {
		t.Errorf("event: %x, %v", body, err)
	}
	same("event", message.AppendInboxEvent(nil, event))

	want := message.Delivery{Kind: message.DeliverEntry, Conversation: 77, Seq: 300, Counted: 299, Body: []byte("…"), Targets: []message.Target{{User: 5, At: 1<<32 + 2, Prev: 1<<32 + 1}}}
	var d message.Delivery
	if rest, err := d.Next(page["delivery"]); err != nil || len(rest) != 0 || !reflect.DeepEqual(d, want) {
		t.Errorf("delivery: %+v, %x, %v; want %+v", d, rest, err, want)
	}
	same("delivery", want.Append(nil))
}
