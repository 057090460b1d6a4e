package messagetrace

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
)

// The bytes of docs/formats/trace.md.
func TestGoldenTraces(t *testing.T) {
	m := id.MessageOf(1_795_245_470_548, 3, 2, 77)
	for want, got := range map[string][]byte{
		"01" + hex.EncodeToString(m[:]): appendFind(nil, m),
		"024d09020564060a":              appendQuery(nil, query{77, 9, []member{{5, 100}, {6, 10}}}),
		"014d09":                        appendFound(nil, 77, 9),
		"03":                            nodeRecords{off: true}.append(nil),
		"020105" + "020708" + "01" + "05" + "ac02" + "09" + "05" + "14": nodeRecords{spans: flightrecorder.Spans{Messages: 1, Devices: 5}, pushed: pushes{2, 7, 8},
			records: []flightrecorder.Record{{AtUs: 300, Kind: flightrecorder.Pushed, Conversation: 77, Seq: 9, User: 5, Device: 20}}}.append(nil),
	} {
		if hex.EncodeToString(got) != want {
			t.Errorf("got %x, want %s", got, want)
		}
	}
	q, err := readQuery([]byte{77, 9, 2, 5, 100, 6, 10})
	if err != nil || !reflect.DeepEqual(q, query{77, 9, []member{{5, 100}, {6, 10}}}) {
		t.Errorf("a request was read as %v, %v", q, err)
	}
	whole := []byte{2, 1, 5, 2, 7, 8, 1, 5, 0xac, 2, 9, 5, 20}
	n, err := readRecords(whole, 77)
	if err != nil || n.pushed.count != 2 || len(n.records) != 1 || n.records[0] != (flightrecorder.Record{AtUs: 300, Kind: flightrecorder.Pushed, Conversation: 77, Seq: 9, User: 5, Device: 20}) {
		t.Errorf("an answer was read as %v, %v", n, err)
	}
	if n, err := readRecords([]byte{3}, 77); err != nil || !n.off {
		t.Errorf("the answer of a node that records nothing: %v, %v", n, err)
	}
	for i := range whole {
		if _, err := readRecords(whole[:i], 77); err == nil {
			t.Errorf("%x was read", whole[:i])
		}
	}
	for _, bad := range [][]byte{nil, {1}, {1, 77}, {1, 77, 9, 1}, {2, 77, 9}} {
		if _, _, err := readFound(bad); err == nil {
			t.Errorf("%x was read", bad)
		}
	}
	for _, bad := range [][]byte{{77, 9}, {77, 9, 200, 1}, {77, 9, 1, 5}, {77, 9, 0, 1}} {
		if _, err := readQuery(bad); err == nil {
			t.Errorf("%x was read", bad)
		}
	}
}

// What another node sends is refused, or read as it would be written again; nothing is allocated for members or records that do not come.
func FuzzTraces(f *testing.F) {
	f.Add([]byte{77, 9, 2, 5, 100, 6, 10})
	f.Add([]byte{2, 1, 5, 2, 7, 8, 1, 5, 0xac, 2, 9, 5, 20})
	f.Add([]byte{1, 77, 9})
	f.Add([]byte{3})
	f.Fuzz(func(t *testing.T, b []byte) {
		if q, err := readQuery(b); err == nil {
			if again, err := readQuery(appendQuery(nil, q)[1:]); err != nil || !reflect.DeepEqual(again, q) || len(q.members) > len(b) {
				t.Errorf("the request %x was read as %v, and again as %v, %v", b, q, again, err)
			}
		}
		if n, err := readRecords(b, 77); err == nil {
			if again, err := readRecords(n.append(nil), 77); err != nil || !reflect.DeepEqual(again, n) || len(n.records) > len(b) {
				t.Errorf("the answer %x was read as %v, and again as %v, %v", b, n, again, err)
			}
		}
		if conversation, seq, err := readFound(b); err == nil && len(b) > 1 {
			if c, s, err := readFound(appendFound(nil, conversation, seq)); err != nil || c != conversation || s != seq {
				t.Errorf("the answer %x was read as %d of %d, and again as %d of %d, %v", b, seq, conversation, s, c, err)
			}
		}
	})
}
