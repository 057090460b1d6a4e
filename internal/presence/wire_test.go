package presence

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/rialto-im/rialto/internal/id"
)

// TestGoldenWire: what one release tells another is read by it.
func TestGoldenWire(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		value       any
		append      func(v any) []byte
		read        func(b []byte) (any, error)
	}{
		{"announcement", "01036e2d3103000000000000002a0701" + "0101ac0205" + "01020900" + "02010a" + "03000b" + "04000c",
			announcement{"n-1", 3, 42, 7, true, []entry{{key{aboutUser, 300}, true, false, 5}, {key{aboutUser, 9}, false, true, 0},
				{key{aboutWatch, 10}, true, false, 0}, {key{aboutFollow, 11}, false, false, 0}, {key{aboutSight, 12}, false, false, 0}}},
			func(v any) []byte { a := v.(announcement); return a.append(nil) }, func(b []byte) (any, error) { return readAnnouncement(b) }},
		{"question", "0205ac02", []id.User{5, 300},
			func(v any) []byte { return appendQuestion(nil, v.([]id.User)) }, func(b []byte) (any, error) { return readQuestion(b) }},
		{"changes", "03050009" + "01", []change{{5, false}, {9, true}},
			func(v any) (b []byte) {
				for _, c := range v.([]change) {
					b = appendChange(b, c)
				}
				return b
			}, func(b []byte) (any, error) { return readChanges(b) }},
		{"answer", "0401000000000000002a" + "00" + "01" + "03e807", answer{answerTaken, 42, []sight{{}, {known: true}, {true, true, 1000}}},
			func(v any) []byte { a := v.(answer); return a.append(nil) }, func(b []byte) (any, error) { return readAnswer(b) }},
		{"still", "05036e2d31" + "03000000000000002a" + "ac020000000000000001", still{"n-1", []stillPart{{3, 42}, {300, 1}}},
			func(v any) []byte { q := v.(still); return q.append(nil) }, func(b []byte) (any, error) { return readStill(b) }},
		{"still answer", "06010302", []byte{answerTaken, answerStale, answerNotMine},
			func(v any) []byte { return appendStillAnswer(nil, v.([]byte)) }, func(b []byte) (any, error) { return readStillAnswer(b) }},
	} {
		want, err := hex.DecodeString(c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.append(c.value); hex.EncodeToString(got) != c.bytes {
			t.Errorf("%s is written as %x, want %s", c.name, got, c.bytes)
		}
		if got, err := c.read(want); err != nil || !reflect.DeepEqual(got, c.value) {
			t.Errorf("%s is read as %+v, %v; want %+v", c.name, got, err, c.value)
		}
		if _, err := c.read(want[:len(want)-1]); err == nil && c.name != "answer" && c.name != "still answer" {
			t.Errorf("%s without its last byte is read", c.name)
		}
	}
}

// FuzzWire: whatever comes is read or refused, and what is read is written as the same again.
func FuzzWire(f *testing.F) {
	for _, s := range []string{"01036e2d3103000000000000002a07010101ac0205", "0205ac02", "0305000901", "0401000000000000002a000103e807", "05036e2d3103000000000000002a"} {
		b, err := hex.DecodeString(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := readAnnouncement(b); err == nil {
			if again, err := readAnnouncement(a.append(nil)); err != nil || !reflect.DeepEqual(a, again) {
				t.Errorf("%+v became %+v, %v", a, again, err)
			}
		}
		if a, err := readAnswer(b); err == nil {
			if again, err := readAnswer(a.append(nil)); err != nil || !reflect.DeepEqual(a, again) {
				t.Errorf("%+v became %+v, %v", a, again, err)
			}
		}
		if q, err := readQuestion(b); err == nil {
			if again, err := readQuestion(appendQuestion(nil, q)); err != nil || !reflect.DeepEqual(q, again) {
				t.Errorf("%v became %v, %v", q, again, err)
			}
		}
		if q, err := readStill(b); err == nil {
			if again, err := readStill(q.append(nil)); err != nil || !reflect.DeepEqual(q, again) {
				t.Errorf("%+v became %+v, %v", q, again, err)
			}
		}
		if _, err := readChanges(b); err != nil {
			return
		}
	})
}
