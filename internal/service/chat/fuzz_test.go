package chat

import (
	"reflect"
	"testing"

	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// What is stored is refused, or read: a control entry that an access list is made of, what bridges report, and where an erasure continues.
func FuzzStored(f *testing.F) {
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Users: []uint64{7}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add((&message.Entry{Sender: 5, Content: content}).Append(nil), "c7/9")
	f.Add((&message.Entry{Sender: 5, Content: message.AppendText(nil, "no control")}).Append(nil), "tmembers 5")
	f.Add([]byte{0xff}, "c18446744073709551616/")
	f.Fuzz(func(t *testing.T, b []byte, position string) {
		if control, _, err := decodeControl(b); (control == nil) == (err == nil) {
			t.Errorf("%x was read as %v, %v", b, control, err)
		}
		if list, err := decodeDeliveries(b); err == nil && len(list) > len(b) {
			t.Errorf("%d deliveries in %x", len(list), b)
		}
		if p, err := parseErasePosition(position); err == nil {
			if again, err := parseErasePosition(p.String()); err != nil || !reflect.DeepEqual(again, p) {
				t.Errorf("%q was read as %+v, and again as %+v, %v", position, p, again, err)
			}
		}
		if seconds, err := parseRetention(position); err == nil && seconds > maxRetention {
			t.Errorf("%q is a retention of %d s", position, seconds)
		}
	})
}
