package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Frames that one side of the wire wrote and the other side's tests read: clients' by the TypeScript SDK (CODEC_UPDATE=1 npm test in
// sdk/ts), servers' by this package (CODEC_UPDATE=1 go test).
const wrote = "../../../sdk/ts/test/unit/testdata/"

type storedFrame struct {
	Proto []byte `json:"proto"`
	JSON  string `json:"json"`
}

func storedFrames(t *testing.T, name string) (list []storedFrame) {
	t.Helper()
	b, err := os.ReadFile(wrote + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) < 50 {
		t.Fatalf("%s has %d frames", name, len(list))
	}
	return list
}

// TestFramesOfTheTypeScriptSDK are read in both formats as the same.
func TestFramesOfTheTypeScriptSDK(t *testing.T) {
	for i, f := range storedFrames(t, "client-frames.json") {
		var binary, text gatewayv1.ClientFrame
		if err := proto.Unmarshal(f.Proto, &binary); err != nil {
			t.Errorf("frame %d in protobuf: %v", i, err)
		}
		if err := protojson.Unmarshal([]byte(f.JSON), &text); err != nil {
			t.Errorf("frame %d in JSON: %v", i, err)
		}
		if !proto.Equal(&binary, &text) || len(binary.ProtoReflect().GetUnknown()) > 0 {
			t.Errorf("frame %d is %v in protobuf and %v in JSON", i, &binary, &text)
		}
	}
}

// TestFramesForTheTypeScriptSDK are what this side writes: its tests read them.
func TestFramesForTheTypeScriptSDK(t *testing.T) {
	if os.Getenv("CODEC_UPDATE") != "" {
		writeServerFrames(t)
	}
	for i, f := range storedFrames(t, "server-frames.json") {
		var binary, text gatewayv1.ServerFrame
		if err := proto.Unmarshal(f.Proto, &binary); err != nil {
			t.Errorf("frame %d in protobuf: %v", i, err)
		}
		if err := protojson.Unmarshal([]byte(f.JSON), &text); err != nil {
			t.Errorf("frame %d in JSON: %v", i, err)
		}
		if !proto.Equal(&binary, &text) {
			t.Errorf("frame %d is %v in protobuf and %v in JSON", i, &binary, &text)
		}
		if b, err := (proto.MarshalOptions{Deterministic: true}).Marshal(&text); err != nil || !bytes.Equal(b, f.Proto) {
			t.Errorf("frame %d is written as %s, and is stored as %s (%v)", i, base64.StdEncoding.EncodeToString(b), base64.StdEncoding.EncodeToString(f.Proto), err)
		}
	}
}

func writeServerFrames(t *testing.T) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	b.WriteString("[")
	for n := range 80 {
		frame := &gatewayv1.ServerFrame{}
		fill(r, frame.ProtoReflect(), 4)
		binary, err := (proto.MarshalOptions{Deterministic: true}).Marshal(frame)
		if err != nil {
			t.Fatal(err)
		}
		text, err := protojson.Marshal(frame)
		if err != nil {
			t.Fatal(err)
		}
		var compact bytes.Buffer // protojson's spaces change from build to build
		if err := json.Compact(&compact, text); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(storedFrame{binary, compact.String()})
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n")
		b.Write(line)
	}
	b.WriteString("\n]\n")
	if err := os.WriteFile(wrote+"server-frames.json", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fill sets some of a message's fields to what shows at the ends of their ranges.
func fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case r.IntN(3) != 0, f.Message() != nil && (depth == 0 || f.Message().FullName().Parent() == "google.protobuf"), f.ContainingOneof() != nil && m.WhichOneof(f.ContainingOneof()) != nil:
		case f.IsMap():
			panic(f.FullName() + ": maps are not generated yet")
		case f.IsList():
			list := m.Mutable(f).List()
			for range r.IntN(4) {
				if f.Message() != nil {
					fill(r, list.AppendMutable().Message(), depth-1)
				} else {
					list.Append(randomValue(r, f))
				}
			}
		case f.Message() != nil:
			fill(r, m.Mutable(f).Message(), depth-1)
		default:
			m.Set(f, randomValue(r, f))
		}
	}
}

func randomValue(r *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	whole := []uint64{0, 1, 127, 128, 300, math.MaxInt32, math.MaxUint32, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MaxUint64, r.Uint64()}[r.IntN(12)]
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(r.IntN(2) == 0)
	case protoreflect.EnumKind:
		values := f.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(r.IntN(values.Len())).Number())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString([]string{"", "a", "hello 你好", "👋🏽\n\"\\", "\x00\u2028é"}[r.IntN(5)])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(binaryText(r))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(r.Float64() * 1e6)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(r.Float32())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(whole))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(whole))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(int64(whole))
	default:
		return protoreflect.ValueOfUint64(whole)
	}
}

func binaryText(r *rand.Rand) []byte {
	b := make([]byte, r.IntN(20))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
