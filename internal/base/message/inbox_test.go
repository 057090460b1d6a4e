package message_test

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// What is an inbox entry is written again as it was read; what is not is refused.
func FuzzInbox(f *testing.F) {
	f.Add(message.AppendInboxRef(nil, 249812863164612608, 7))
	f.Add(message.AppendInboxRef(nil, 0, 1<<63))
	f.Add(message.AppendInboxEvent(nil, []byte{0x22, 1, 'x'}))
	f.Add([]byte{0, 1, 0})
	f.Add([]byte{2, 1, 1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, seq, body, err := message.DecodeInbox(raw)
		if err != nil {
			return
		}
		if seq == 0 {
			if got := message.AppendInboxEvent(nil, body); !bytes.Equal(got, raw) {
				t.Fatalf("% x became % x", raw, got)
			}
			return
		}
		again, againSeq, _, err := message.DecodeInbox(message.AppendInboxRef(nil, c, seq))
		if err != nil || again != c || againSeq != seq || body != nil {
			t.Fatalf("%v at %d became %v at %d, %v", c, seq, again, againSeq, err)
		}
	})
}

// TextOf accepts a content only if the generated code reads the same text from it and no other field.
func FuzzTextOf(f *testing.F) {
	f.Add(message.AppendText(nil, "hello 你好"))
	f.Add([]byte{0x0a, 0x80, 0x00})
	f.Add([]byte{0x0a, 1, 'a', 0x12, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, ok := message.TextOf(raw)
		if !ok || !utf8.Valid(text) {
			return
		}
		var c chatv1.Content
		if err := proto.Unmarshal(raw, &c); err != nil || c.GetText() != string(text) || len(c.ProtoReflect().GetUnknown()) > 0 {
			t.Fatalf("TextOf(% x): got %q; the generated code decodes %v (%v)", raw, text, &c, err)
		}
	})
}

// Each id has exactly one text form.
func FuzzMessageID(f *testing.F) {
	f.Add(id.MessageOf(1795000000000, 7, 2, 249812863164612608).String())
	f.Add("BD8U-FCQJ-LDC5-L789")
	f.Add("bd8u-fcqj-ldc5-l789")
	f.Add("\xff\x00--------------- ")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := id.ParseMessage(text)
		if err == nil && m.String() != text {
			t.Fatalf("parse %q: got %s, which has another text form", text, m)
		}
		if err != nil && m != (id.Message{}) {
			t.Fatalf("parse %q: got the error %v and the id %s, want no id", text, err, m)
		}
	})
}
