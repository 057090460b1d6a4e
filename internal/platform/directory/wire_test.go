package directory

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
)

// The encoding of messages does not change, so that two releases understand each other.
func TestGoldenWire(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		value       any
		append      func(v any) []byte
		read        func(b []byte) (any, error)
	}{
		{"announcement", "01036e2d310000000000000063032a0701" + "0105ac0205" + "01020900" + "02010a" + "03000b" + "04000c",
			announcement{"n-1", 99, 3, 42, 7, true, []entry{{key{aboutUser, 300}, true, false, true, 5}, {key{aboutUser, 9}, false, true, false, 0},
				{key: key{aboutWatch, 10}, on: true}, {key: key{aboutFollow, 11}}, {key: key{aboutVisibility, 12}}}},
			func(v any) []byte { a := v.(announcement); return a.append(nil) }, func(b []byte) (any, error) { return readAnnouncement(b) }},
		{"status query", "0205ac02", []id.User{5, 300},
			func(v any) []byte { return appendStatusQuery(nil, v.([]id.User)) }, func(b []byte) (any, error) { return readStatusQuery(b) }},
		{"changes", "03050009" + "01", []change{{5, false}, {9, true}},
			func(v any) (b []byte) {
				for _, c := range v.([]change) {
					b = appendChange(b, c)
				}
				return b
			}, func(b []byte) (any, error) { return readChanges(b) }},
		{"answer", "04012a" + "00" + "01" + "03e807" + "07e807", answer{answerAccepted, 42, []Status{{}, {Known: true}, {true, true, false, 1000}, {true, true, true, 1000}}},
			func(v any) []byte { a := v.(answer); return a.append(nil) }, func(b []byte) (any, error) { return readAnswer(b) }},
		{"devices query", "07ac02", id.User(300),
			func(v any) []byte { return appendDevicesQuery(nil, v.(id.User)) }, func(b []byte) (any, error) { return readDevicesQuery(b) }},
		{"devices", "0802" + "0005e807" + "0106d00f" + "036e2d32", devicesAnswer{[]Device{{5, false, 1000}, {6, true, 2000}}, []string{"n-2"}},
			func(v any) []byte { a := v.(devicesAnswer); return a.append(nil) }, func(b []byte) (any, error) { return readDevicesAnswer(b) }},
		{"verification", "05036e2d310000000000000063" + "032a" + "ac0201", verification{"n-1", 99, []verifiedPartition{{3, 42}, {300, 1}}},
			func(v any) []byte { q := v.(verification); return q.append(nil) }, func(b []byte) (any, error) { return readVerification(b) }},
		{"verification answer", "06010302", []byte{answerAccepted, answerUnregistered, answerNotOwner},
			func(v any) []byte { return appendVerificationAnswer(nil, v.([]byte)) }, func(b []byte) (any, error) { return readVerificationAnswer(b) }},
	} {
		want, err := hex.DecodeString(c.bytes)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.append(c.value); hex.EncodeToString(got) != c.bytes {
			t.Errorf("%s is encoded as %x, want %s", c.name, got, c.bytes)
		}
		if got, err := c.read(want); err != nil || !reflect.DeepEqual(got, c.value) {
			t.Errorf("%s is decoded as %+v, %v; want %+v", c.name, got, err, c.value)
		}
		if _, err := c.read(want[:len(want)-1]); err == nil && c.name != "answer" && c.name != "verification answer" {
			t.Errorf("%s without its last byte was accepted", c.name)
		}
	}
}

// Any input is decoded or rejected. Decoded messages encode to the same bytes.
func FuzzWire(f *testing.F) {
	for _, s := range []string{"01036e2d310000000000000063032a07010101ac0205", "0205ac02", "0305000901", "04012a000103e807", "05036e2d310000000000000063032a", hex.EncodeToString((&devicesAnswer{devices: []Device{{Session: 5, Away: true, LastActiveMs: 300}}, nodes: []string{"n-1"}}).append(nil)), hex.EncodeToString(appendDevicesQuery(nil, 300))} {
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
		if q, err := readStatusQuery(b); err == nil {
			if again, err := readStatusQuery(appendStatusQuery(nil, q)); err != nil || !reflect.DeepEqual(q, again) {
				t.Errorf("%v became %v, %v", q, again, err)
			}
		}
		if q, err := readVerification(b); err == nil {
			if again, err := readVerification(q.append(nil)); err != nil || !reflect.DeepEqual(q, again) {
				t.Errorf("%+v became %+v, %v", q, again, err)
			}
		}
		if list, err := readChanges(b); err == nil && len(list) > len(b) {
			t.Errorf("%d changes in %d bytes", len(list), len(b))
		}
		if a, err := readDevicesAnswer(b); err == nil {
			if again, err := readDevicesAnswer(a.append(nil)); err != nil || !reflect.DeepEqual(a, again) {
				t.Errorf("%+v became %+v, %v", a, again, err)
			}
		}
		if u, err := readDevicesQuery(b); err == nil {
			if again, err := readDevicesQuery(appendDevicesQuery(nil, u)); err != nil || again != u {
				t.Errorf("%v became %v, %v", u, again, err)
			}
		}
	})
}
