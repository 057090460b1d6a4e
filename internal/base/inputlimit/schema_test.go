package inputlimit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	_ "github.com/rialto-im/rialto/sdk/go/gen/account/v1" // whose requests are checked
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	_ "github.com/rialto-im/rialto/sdk/go/gen/id/v1"
	_ "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// requests of all calls, and the frame of the socket.
func requests() (list []protoreflect.MessageDescriptor) {
	list = append(list, (&gatewayv1.ClientFrame{}).ProtoReflect().Descriptor())
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			if !strings.HasPrefix(string(f.Package()), "rialto.") {
				continue
			}
			for j, methods := 0, f.Services().Get(i).Methods(); j < methods.Len(); j++ {
				list = append(list, methods.Get(j).Input())
			}
		}
		return true
	})
	return list
}

func TestEachRepeatedFieldOfARequestHasALimit(t *testing.T) {
	seen := map[protoreflect.FullName]bool{}
	var check func(protoreflect.MessageDescriptor)
	check = func(m protoreflect.MessageDescriptor) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			if _, ok := limits[f.FullName()]; !ok && (f.IsList() || f.IsMap()) {
				t.Errorf("the repeated field %s has no limit in api.go", f.FullName())
			}
			if f.Message() != nil {
				check(f.Message())
			}
		}
	}
	for _, m := range requests() {
		check(m)
		if _, err := build(m, map[protoreflect.FullName]*Schema{}); err != nil {
			t.Error(err)
		}
	}
	if len(seen) < 60 {
		t.Errorf("checked %d messages, want at least 60", len(seen))
	}
}

var frame = For(&gatewayv1.ClientFrame{})

// is reports whether an error has the expected text; "" means no error.
func is(err error, want string) bool {
	if err == nil || want == "" {
		return err == nil && want == ""
	}
	return errors.Is(err, ErrMalformed) == (want == "malformed") && (want == "malformed" || strings.Contains(errs.Of(err).Message, want))
}

func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func field2(number protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), v)
}

func TestProtoCountsBeforeDecoding(t *testing.T) {
	sends := func(n int) []byte { return bytes.Repeat(field2(3, nil), n) }
	users := func(n int) []uint64 { return make([]uint64, n) }
	control := func(n int) *gatewayv1.ClientFrame {
		return &gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Content: &chatv1.Content{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Users: users(n)}}}}}}
	}
	unpacked := bytes.Repeat(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 7), 300)
	nested := func(n int) []byte { // of Struct in Value in Struct …
		var b []byte
		for range n {
			b = field2(1, field2(2, field2(5, b)))
		}
		return field2(8, field2(3, b))
	}
	watch300 := encoded(t, &gatewayv1.Watch{Users: users(300)})
	for _, test := range []struct {
		name, want string
		b          []byte
	}{
		{"nothing", "", nil},
		{"all sends that one frame may have", "", sends(MaxSends)},
		{"one more", "at most 4,096", sends(MaxSends + 1)},
		{"350,000 sends", "at most 4,096", sends(350_000)},
		{"350,000 sends and then what is no protobuf", "at most 4,096", append(sends(350_000), 0xff)},
		{"too many marks", "at most 4,096", bytes.Repeat(field2(5, nil), MaxMarks+1)},
		{"a watch of 500", "", encoded(t, &gatewayv1.ClientFrame{Watch: &gatewayv1.Watch{Users: users(500)}})},
		{"a watch of 501", "500 users", encoded(t, &gatewayv1.ClientFrame{Watch: &gatewayv1.Watch{Users: users(501)}})},
		{"a watch in two forms", "500 users", field2(10, append(bytes.Clone(watch300), unpacked...))},
		{"a control entry of 500", "", encoded(t, control(500))},
		{"a control entry of 501", "500 users", encoded(t, control(501))},
		{"a control entry of 1 MiB", "500 users", encoded(t, control(1<<20))},
		{"one field again and again", "65,536", bytes.Repeat(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 7), MaxFields+1)},
		{"one message again and again", "65,536", bytes.Repeat(field2(7, nil), MaxFields+1)},
		{"unknown fields", "", field2(50, make([]byte, 1<<20))},
		{"more of them than a message may have", "65,536", bytes.Repeat(field2(5000, nil), MaxFields+1)},
		{"a number in place of a message", "", protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 7)},
		{"nine structs, one in another", "", nested(9)},
		{"eleven", "malformed", nested(11)},
		{"100,000", "malformed", nested(2000)},
		{"a group", "malformed", []byte{3<<3 | 3, 3<<3 | 4}},
		{"field 0", "malformed", []byte{0, 1}},
		{"a cut number", "malformed", []byte{8, 0x80}},
		{"a length beyond the end", "malformed", []byte{3<<3 | 2, 5}},
		{"a length of 2^64-1", "malformed", []byte{3<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}},
		{"a cut fixed number", "malformed", []byte{9, 1, 2}},
	} {
		if err := frame.Proto(test.b); !is(err, test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	attack := sends(350_000)
	if n := testing.AllocsPerRun(3, func() { _ = frame.Proto(attack) }); n != 0 {
		t.Errorf("counting allocates %v times", n)
	}
}

func TestJSONCountsBeforeDecoding(t *testing.T) {
	list := func(element string, n int) string { return strings.TrimSuffix(strings.Repeat(element+",", n), ",") }
	var keys strings.Builder
	for n := range MaxKeys {
		fmt.Fprintf(&keys, `"k%d":1,`, n)
	}
	body := func(inner string) string { return `{"call":{"method":"x","body":` + inner + `}}` }
	deep := func(n int) string {
		return body(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	}
	for _, test := range []struct{ name, want, text string }{
		{"nothing", "", ""},
		{"no object", "", "null"},
		{"all sends that one frame may have", "", `{"sends":[` + list("{}", MaxSends) + `]}`},
		{"one more", "at most 4,096", `{"sends":[` + list("{}", MaxSends+1) + `]}`},
		{"one more, under an escaped name", "at most 4,096", `{"s\u0065nds" : [` + list("{}", MaxSends+1) + `]}`},
		{"many, and then no JSON", "at most 4,096", `{"sends":[` + list("{}", 50_000) + `,x`},
		{"a watch of 500", "", `{"watch":{"users":[` + list(`"1"`, 500) + `]}}`},
		{"a watch of 501", "500 users", `{"watch":{"users":[` + list(`"1"`, 501) + `]}}`},
		{"a control entry of 501", "500 users", `{"sends":[{},{"content":{"control":{"users":[` + list(`1`, 501) + `]}}}]}`},
		{"a list of no field", "1,000", `{"unknown":[` + list("1", MaxKeys+1) + `]}`},
		{"1,000 keys", "", body("{" + strings.TrimSuffix(keys.String(), ",") + "}")},
		{"1,001 keys", "1,000 keys", body("{" + keys.String() + `"k":1}`)},
		{"a body with names of fields", "", body(`{"sends":[` + list("{}", MaxKeys) + `]}`)},
		{"a body with names of fields, and more", "1,000", body(`{"sends":[` + list("{}", MaxKeys+1) + `]}`)},
		{"all in all too much", "65,536", `{"sends":[` + list(`{"content":{"custom":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":1,"k":2,"l":3,"m":4,"n":5,"o":6,"p":7}}}`, MaxSends) + `]}`},
		{"as deep as it may be", "", deep(30)},
		{"deeper", "32 deep", deep(31)},
		{"10,000 brackets", "32 deep", strings.Repeat("[", 10_000)},
		{"brackets in a text", "", `{"call":{"method":"` + strings.Repeat(`[{\"`, 1000) + `\\"}}`},
		{"commas in a text", "", `{"call":{"method":"` + strings.Repeat(",", 100_000) + `"}}`},
		{"a text without an end", "", `{"call":"` + strings.Repeat(`\"`, 100)},
		{"an end without a beginning", "", `]]]]`},
		{"an enum by name", "", `{"activity":"ACTIVITY_AWAY"}`},
		{"an enum by a name with an escape", "", `{"activity":"ACTIVITY\u005fAWAY"}`},
		{"an enum by number", "", `{"activity":9}`},
		{"an enum by an unknown name", `"ACTIVITY_ASLEEP" is no Activity; give one of ACTIVITY_UNSPECIFIED, ACTIVITY_ACTIVE, ACTIVITY_AWAY`, `{"unknown":{"activity":"x"}, "activity" : "ACTIVITY_ASLEEP"}`},
		{"an enum by an unknown name, deeper", `"" is no Role`, `{"sends":[{"content":{"mentions":[{"role":""}]}}]}`},
	} {
		if err := frame.JSON([]byte(test.text)); !is(err, test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	for name, attack := range map[string]string{
		"empty sends":           `{"sends":[` + list("{}", 300_000) + `]}`,
		"names with escapes":    `{"sends":[` + list(`{"\u0061":1,"c\u006fntent":1,"\ud83d":1}`, 4000) + `]}`,
		"a name without an end": `{"` + strings.Repeat(`\u0061`, 100_000) + `":1}`,
	} {
		b := []byte(attack)
		if n := testing.AllocsPerRun(3, func() { _ = frame.JSON(b) }); n != 0 {
			t.Errorf("%s: counting allocates %v times", name, n)
		}
	}
}

func TestCaptureGivesTheBody(t *testing.T) {
	for text, want := range map[string]string{
		`{"call":{"method":"x","body":{"n":9007199254740993, "o":{"body":[]}}}}`: `{"n":9007199254740993, "o":{"body":[]}}`,
		`{"call":{"b\u006fdy" : {} }}`:                                           `{}`,
		`{"call":{"method":"body"}}`:                                             "",
		`{"body":{"a":1}}`:                                                       "",
		`{"call":{"body":[{"a":1}]}}`:                                            "",
		`{"call":{"body":{"a":"}"}}}`:                                            `{"a":"}"}`,
		`{"call":{"body":null}}`:                                                 "",
	} {
		b := []byte(text)
		got, err := frame.Capture(b)
		if err != nil || string(got.Body) != want {
			t.Errorf("%s: body %s, error %v; want %s", text, got.Body, err, want)
		}
		if rest := string(got.WithoutBody(b)); rest != strings.Replace(text, want, "{}", min(len(want), 1)) {
			t.Errorf("%s without its body: %s", text, rest)
		}
	}
	const first = `{"request":"1","auth":{"accessToken":"}"},"call":{"body":{"auth":{}}}}`
	if got, err := frame.Capture([]byte(first)); err != nil || string(got.Auth) != `{"accessToken":"}"}` || string(got.Body) != `{"auth":{}}` {
		t.Errorf("%s: auth %s, body %s, error %v; want the token, and the frame without it", first, got.Auth, got.Body, err)
	}
	for _, twice := range []string{`{"call":{"body":{},"body":{}}}`, `{"call":{"body":{}},"call":{"body":{}}}`, `{"auth":{},"auth":{}}`} {
		if _, err := frame.Capture([]byte(twice)); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: error %v, want one of the kind invalid", twice, err)
		}
	}
}

// The elements of a frame, and of its body, are what decoding them costs.
func TestElementsAreCounted(t *testing.T) {
	for text, want := range map[string][2]int{
		`{}`:                        {1, 0},
		`{"request":"1","ping":{}}`: {3, 0},
		`{"sends":[{"clientSeq":"1"},{"clientSeq":"2"}]}`:     {5, 0},
		`{"call":{"method":"x","body":{"a":[1,2,3],"b":{}}}}`: {9, 5},
	} {
		got, err := frame.Capture([]byte(text))
		if err != nil || got.Elements != want[0] || got.BodyElements != want[1] {
			t.Errorf("%s: %d elements, of which %d are in the body, %v; want %v", text, got.Elements, got.BodyElements, err, want)
		}
	}
	if n, err := frame.Count(encoded(t, &gatewayv1.ClientFrame{Request: 1, Watch: &gatewayv1.Watch{Users: []uint64{7, 8}}})); err != nil || n != 5 {
		t.Errorf("a watch of two in protobuf: %d elements, %v; want its two fields, its list, and two users", n, err)
	}
}

// Every accepted input decodes within the limits, and a decodable input is only refused for its size.
func FuzzDecodersSeeNoMore(f *testing.F) {
	f.Add(encoded(f, &gatewayv1.ClientFrame{Request: 1, Sends: []*gatewayv1.Send{{Conversation: 5, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "x"}}}}, Watch: &gatewayv1.Watch{Users: []uint64{1, 2}}}))
	f.Add(bytes.Repeat(field2(10, field2(1, make([]byte, 100))), 6))
	f.Add([]byte(`{"sends":[{},{"content":{"text":"x"}}],"watch":{"users":["1",2]},"call":{"body":{"a":[1,{"b":null}]}}}`))
	f.Add([]byte(`{"watch":{"us\u0065rs":[` + strings.Repeat("1,", 600) + `1]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		within := func(m *gatewayv1.ClientFrame) bool {
			for _, s := range m.Sends {
				if len(s.GetContent().GetControl().GetUsers()) > 500 {
					return false
				}
			}
			return len(m.Sends) <= MaxSends && len(m.Marks) <= MaxMarks && len(m.GetCall().GetBody().GetFields()) <= MaxKeys
		}
		var m gatewayv1.ClientFrame
		// A repeated message is merged: each of its parts has at most 500 users.
		if frame.Proto(b) == nil && proto.Unmarshal(b, &m) == nil && !within(&m) {
			t.Fatal("protobuf above the limits was accepted")
		}
		m.Reset()
		if frame.JSON(b) == nil && protojson.Unmarshal(b, &m) == nil && (!within(&m) || len(m.GetWatch().GetUsers()) > 500) {
			t.Fatal("JSON above the limits was accepted")
		}
	})
}
