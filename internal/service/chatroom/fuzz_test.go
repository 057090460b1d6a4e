package chatroom

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// What another node sends is refused, or read as it would be written again.
func FuzzWire(f *testing.F) {
	f.Add(appendRemove(nil, header{wireRemove, 7, 1, 9}, 5, []byte("update")))
	f.Add(request{askSend, 7, 5, []byte("body")}.append(nil))
	f.Add(reported{7, 2, 3, 1, 4}.append(reported{room: 8}.append(nil)))
	whole, err := (&snapshot{1, 9, []id.User{5, 6}, &chatv1.RoomEntry{Room: &chatv1.Room{Id: 7}}}).append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(slices.Concat(make([]byte, 16), binary.AppendUvarint(nil, 1<<61), make([]byte, 8))) // users that do not come
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, body, err := parseHeader(b); err == nil && !bytes.Equal(appendUpdate(nil, h, body), b) {
			t.Errorf("the header of %x was read as %+v", b, h)
		}
		if q, err := parseRequest(b); err == nil && !bytes.Equal(q.append(nil), b) {
			t.Errorf("the request %x was read as %+v", b, q)
		}
		if r, rest, err := parseReported(b); err == nil {
			if again, end, err := parseReported(r.append(nil)); err != nil || again != r || len(end) != 0 || !bytes.HasSuffix(b, rest) {
				t.Errorf("the room of %x was read as %+v, and again as %+v, %v", b, r, again, err)
			}
		}
		p, err := parseSnapshot(b)
		if err != nil {
			return
		}
		written, err := p.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseSnapshot(written)
		if err != nil || again.epoch != p.epoch || again.seq != p.seq || !reflect.DeepEqual(again.kicked, p.kicked) || !proto.Equal(again.entry, p.entry) || 8*len(p.kicked) > len(b) {
			t.Errorf("the snapshot %x was read as %+v, and again as %+v, %v", b, p, again, err)
		}
	})
}

// An owner that no room was claimed from answers each room of a report that can be read, and fails for all others.
func FuzzReports(f *testing.F) {
	f.Add(reported{7, 2, 3, 1, 4}.append([]byte("\x01n")))
	f.Add([]byte("\x80"))
	f.Add([]byte("\x05n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &Service{}
		answer, err := s.answerReport(b)
		if err == nil && (len(answer) > len(b)/12+1 || len(bytes.Trim(answer, string(reportUnknown))) > 0) {
			t.Errorf("the report %x was answered %x", b, answer)
		}
	})
}
