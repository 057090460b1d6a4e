package message_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

func stored(conversation, seq, counted, sender, device, clientSeq uint64, ms int64, text string) message.Stored {
	return message.Stored{Conversation: id.Conversation(conversation), Seq: seq, Counted: counted, Entry: message.Entry{
		ID:     id.MessageOf(ms&(1<<42-1), uint16(seq), 2, id.Conversation(conversation)),
		Sender: id.User(sender), Device: id.Device(device), ClientSeq: clientSeq,
		Content: message.AppendText(nil, text),
	}}
}

// The flat encodings are those of the generated code.
func FuzzWireIsProtobuf(f *testing.F) {
	f.Add(uint64(1), uint64(2), uint64(3), uint64(4), uint64(5), uint64(6), int64(1795000000000), "hello", "", false)
	f.Add(uint64(1)<<62, uint64(1)<<53, uint64(0), uint64(0), uint64(0), uint64(0), int64(0), "你好", "own-id", true)
	f.Fuzz(func(t *testing.T, conversation, seq, counted, sender, device, clientSeq uint64, ms int64, text, own string, duplicate bool) {
		if !json.Valid(message.AppendJSONString(nil, []byte(text))) {
			t.Fatalf("not a JSON string: %q", text)
		}
		text, own = string(bytes.ToValidUTF8([]byte(text), nil)), string(bytes.ToValidUTF8([]byte(own), nil))
		s := stored(conversation, seq, counted, sender, device, clientSeq, ms, text)
		want := &chatv1.Message{Conversation: conversation, Seq: seq, Id: s.Entry.ID.String(), Sender: sender, Device: device,
			ClientSeq: clientSeq, TimeMs: s.Entry.ID.Ms(), Counted: counted,
			Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}
		var got chatv1.Message
		if err := proto.Unmarshal(s.AppendProto(nil), &got); err != nil || !proto.Equal(&got, want) {
			t.Fatalf("%v: got %v, want %v", err, &got, want)
		}

		at, prev := message.Position(seq), message.Position(counted)
		body := message.AppendBody(nil, message.FieldMessage, s.AppendProto(nil))
		var frame gatewayv1.ServerFrame
		if err := proto.Unmarshal(message.AppendEventField(nil, 4, at, prev, body), &frame); err != nil {
			t.Fatal(err)
		}
		event := &chatv1.Event{Epoch: at.Epoch(), Seq: seq, Prev: counted, Body: &chatv1.Event_Message{Message: want}}
		if len(frame.Events) != 1 || !proto.Equal(frame.Events[0], event) {
			t.Fatalf("got %v, want %v", &frame, event)
		}

		d := message.Draft{Conversation: id.Conversation(conversation), ClientSeq: clientSeq, ClientMsgID: own, ID: s.Entry.ID, Seq: seq, Counted: counted, Duplicate: duplicate}
		frame.Reset()
		if err := proto.Unmarshal(message.AppendReceiptProto(nil, &d), &frame); err != nil {
			t.Fatal(err)
		}
		receipt := &gatewayv1.Receipt{Conversation: conversation, ClientSeq: clientSeq, ClientMsgId: own, Id: want.Id, Seq: seq, TimeMs: want.TimeMs, Counted: counted, Duplicate: duplicate}
		if len(frame.Receipts) != 1 || !proto.Equal(frame.Receipts[0], receipt) {
			t.Fatalf("got %v, want %v", &frame, receipt)
		}
	})
}

func FuzzEntryRoundTrip(f *testing.F) {
	f.Add([]byte{0x10}, uint64(1), uint64(2), uint64(3), true)
	f.Fuzz(func(t *testing.T, raw []byte, sender, device, clientSeq uint64, control bool) {
		var e message.Entry
		if e.Decode(raw) == nil {
			var again message.Entry
			if err := again.Decode(e.Append(nil)); err != nil || again.Sender != e.Sender || !bytes.Equal(again.Content, e.Content) {
				t.Fatalf("%+v became %+v, %v", e, again, err)
			}
		}
		in := message.Entry{ID: id.MessageOf(1, 2, 3, 4), Sender: id.User(sender), Device: id.Device(device), ClientSeq: clientSeq, Control: control, Content: raw}
		stored := in.Append(nil)
		var out message.Entry
		if err := out.Decode(stored); err != nil {
			t.Fatal(err)
		}
		if out.ID != in.ID || out.Sender != in.Sender || out.Device != in.Device || out.ClientSeq != in.ClientSeq || out.Control != control || message.IsControl(stored) != control || !bytes.Equal(out.Content, raw) {
			t.Fatalf("%+v became %+v", in, out)
		}
	})
}

func FuzzDelivery(f *testing.F) {
	d := message.Delivery{Kind: message.DeliverEntry, Large: true, Conversation: 9, Seq: 8, Counted: 7, Body: []byte("b"), Targets: []message.Target{{User: 1, At: 1<<32 | 5, Prev: 4}}}
	f.Add(d.Append(d.Append(nil)))
	d.Fence = "t.1"
	f.Add(d.Append(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var d message.Delivery
		for len(raw) > 0 {
			rest, err := d.Next(raw)
			if err != nil {
				return
			}
			var again message.Delivery
			if left, err := again.Next(d.Append(nil)); err != nil || len(left) != 0 || again.Seq != d.Seq || again.Fence != d.Fence || len(again.Targets) != len(d.Targets) {
				t.Fatalf("%+v became %+v, %v", d, again, err)
			}
			raw = rest
		}
	})
}

func TestTextOf(t *testing.T) {
	content := message.AppendText(nil, "hi")
	if text, ok := message.TextOf(content); !ok || string(text) != "hi" {
		t.Fatalf("the text is %q, %v, want hi", text, ok)
	}
	for _, bad := range [][]byte{nil, {0x0a}, {0x0a, 3, 'a'}, append(content, 0), {0x12, 0}} {
		if _, ok := message.TextOf(bad); ok {
			t.Errorf("TextOf(% x) was accepted as a text", bad)
		}
	}
}

// Deliveries after an unknown or corrupt one are read. Fields that a later version adds to a kind are ignored.
func TestDeliveriesOfTheNextVersion(t *testing.T) {
	known := message.Delivery{Kind: message.DeliverEntry, Conversation: 9, Seq: 1, Body: []byte("a"), Targets: []message.Target{{User: 300}}}
	form := known.Append(nil)
	if len(form) != known.Size() || len(form) > 128 {
		t.Fatalf("size of a delivery: got %d, want %d", known.Size(), len(form))
	}
	fenced := known
	fenced.Fence = "t.1"
	form2 := fenced.Append(nil)
	if len(form2) != fenced.Size() {
		t.Fatalf("size of a delivery with a fence: got %d, want %d", fenced.Size(), len(form2))
	}
	more := append([]byte{form2[0] + 3}, append(form2[1:], 1, 2, 3)...)
	short := append([]byte{form[0] - 1}, form[1:len(form)-1]...)
	for what, first := range map[string]struct {
		form []byte
		err  error
	}{
		"known":                                 {form, nil},
		"with more fields":                      {more, nil},
		"unknown kind":                          {[]byte{3, 6, 255, 255}, message.ErrUnknownDelivery},
		"unknown kind for a large conversation": {[]byte{2, 0x80 | 0x7f, 0}, message.ErrUnknownDelivery},
		"without a kind":                        {[]byte{1, 0}, message.ErrDelivery},
		"empty":                                 {[]byte{0}, message.ErrDelivery},
		"truncated":                             {short, message.ErrDelivery},
	} {
		var d message.Delivery
		rest, err := d.Next(append(bytes.Clone(first.form), form...))
		if err != first.err || !bytes.Equal(rest, form) {
			t.Errorf("%s: got error %v and the rest % x, want %v and % x", what, err, rest, first.err, form)
		}
		if err == nil && (d.Seq != 1 || string(d.Body) != "a" || len(d.Targets) != 1 || d.Targets[0].User != 300) {
			t.Errorf("%s: got %+v", what, d)
		}
		if want := map[string]string{"with more fields": "t.1"}[what]; err == nil && d.Fence != want {
			t.Errorf("%s: fence %q, want %q", what, d.Fence, want)
		}
		if rest, err := d.Next(rest); err != nil || len(rest) != 0 || d.Seq != 1 || len(d.Targets) != 1 || d.Fence != "" {
			t.Errorf("the delivery after %q: got %+v, %v", what, d, err)
		}
	}
	var d message.Delivery
	if rest, err := d.Next(form[:len(form)-1]); err != message.ErrDelivery || len(rest) != 0 {
		t.Errorf("a truncated last delivery: got error %v and the rest % x, want ErrDelivery and no rest", err, rest)
	}
}

// An error of another node is refused, or read as it would be sent again.
func FuzzError(f *testing.F) {
	f.Add(message.AppendError(nil, &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "try again", Retry: time.Second}))
	f.Add([]byte{0xff})
	f.Add([]byte{0, 0x0a, 1, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, ok := message.DecodeError(b)
		if !ok {
			return
		}
		if again, ok := message.DecodeError(message.AppendError(nil, e)); !ok || *again != *e {
			t.Errorf("%x was read as %+v, and again as %+v, %v", b, e, again, ok)
		}
	})
}
