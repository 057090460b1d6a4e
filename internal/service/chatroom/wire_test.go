package chatroom

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// TestGoldenWire has an example of each message between nodes, as in docs/formats/room.md.
func TestGoldenWire(t *testing.T) {
	check := func(what string, b []byte, golden string) []byte {
		t.Helper()
		if got := hex.EncodeToString(b); got != golden {
			t.Errorf("%s is %s, want %s", what, got, golden)
		}
		stored, err := hex.DecodeString(golden)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	head := header{wireUpdate, 7, 3, 9}
	b := check("an update", appendUpdate(nil, head, []byte{8, 7}), "01"+"0000000000000007"+"0000000000000003"+"0000000000000009"+"0807")
	if h, body, err := parseHeader(b); err != nil || h != head || len(body) != 2 {
		t.Errorf("an update is read as %v %x %v", h, body, err)
	}
	check("a removal", appendRemove(nil, header{wireRemove, 7, 3, 9}, 5, []byte{0xff}), "02"+"0000000000000007"+"0000000000000003"+"0000000000000009"+"0000000000000005"+"ff")
	b = check("a request", request{askSend, 7, 5, []byte("x")}.append(nil), "0303"+"0000000000000007"+"0000000000000005"+"78")
	if q, err := parseRequest(b); err != nil || q.kind != askSend || q.room != 7 || q.by != 5 || string(q.body) != "x" {
		t.Errorf("a request is read as %v %v", q, err)
	}
	b = check("a refusal", message.AppendError([]byte{wireError}, errNoRoom), "0502"+"12076e6f5f726f6f6d1a2d"+hex.EncodeToString([]byte(errNoRoom.Message)))
	if e, ok := message.DecodeError(b[1:]); !ok || e.Kind != errs.NotFound || e.Reason != "no_room" {
		t.Errorf("a refusal is read as %v", e)
	}
	r := reported{7, 300, 2, 3, 4}
	b = check("a reported room", r.append(nil), "0000000000000007"+"ac02"+"02"+"03"+"04")
	if got, rest, err := parseReported(b); err != nil || got != r || len(rest) != 0 {
		t.Errorf("a reported room is read as %v %x %v", got, rest, err)
	}
	p := &snapshot{epoch: 3, seq: 9, kicked: []id.User{5}, entry: &chatv1.RoomEntry{Likes: 6}}
	b, err := p.append(nil)
	if err != nil {
		t.Fatal(err)
	}
	b = check("a snapshot", b, "0000000000000003"+"0000000000000009"+"01"+"0000000000000005"+"1806")
	if got, err := parseSnapshot(b); err != nil || got.epoch != 3 || got.seq != 9 || !slices.Equal(got.kicked, p.kicked) || !proto.Equal(got.entry, p.entry) {
		t.Errorf("a snapshot is read as %v %v", got, err)
	}
}

// TestCutMessagesAreRefused: none of them is read beyond its end.
func TestCutMessagesAreRefused(t *testing.T) {
	b, err := (&snapshot{epoch: 3, kicked: []id.User{5, 6}, entry: &chatv1.RoomEntry{Room: &chatv1.Room{Title: "x"}}}).append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 16 + 1 + 2*8 {
		if _, err := parseSnapshot(b[:n]); err == nil {
			t.Errorf("%d bytes of a snapshot are accepted", n)
		}
	}
	if _, err := parseSnapshot(append(make([]byte, 16), 0xff, 0xff, 0xff, 0xff, 0x7f)); err == nil {
		t.Error("a snapshot with more kicked users than bytes is accepted")
	}
	for n := range 11 {
		if _, _, err := parseReported(reported{7, 1, 2, 3, 4}.append(nil)[:n]); err == nil {
			t.Errorf("%d bytes of a report are accepted", n)
		}
	}
}
