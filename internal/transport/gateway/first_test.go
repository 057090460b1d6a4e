package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// Before authentication a message has at most maxFirstMessage bytes, in one frame or in fragments; afterwards it may be larger.
func TestMessageBeforeAuthenticationIsBounded(t *testing.T) {
	head := func(n int) []byte {
		return append(binary.BigEndian.AppendUint64([]byte{0x82, 0xff}, uint64(n)), 0, 0, 0, 0)
	}
	part := func(bits byte, n int) []byte {
		return append(append(binary.BigEndian.AppendUint16([]byte{bits, 0xfe}, uint16(n)), 0, 0, 0, 0), make([]byte, n)...)
	}
	for _, test := range []struct {
		name  string
		bytes []byte
		ends  bool
	}{
		{"as long as allowed", head(maxFirstMessage), false},
		{"a byte too long", head(maxFirstMessage + 1), true},
		{"1 MiB", head(maxFrame), true},
		{"in fragments", append(part(0x02, maxFirstMessage/2), part(0x00, maxFirstMessage/2)...), false},
		{"in fragments, a byte too long", append(part(0x02, maxFirstMessage/2), part(0x00, maxFirstMessage/2+1)...), true},
	} {
		for _, ready := range []bool{false, true} {
			c, _ := bench(t)
			c.state = stateOf(ready)
			c.read(bytes.Clone(test.bytes))
			if ends := test.ends && !ready; c.isEnding() != ends {
				t.Errorf("%s, authenticated %v: closing %v", test.name, ready, c.isEnding())
			} else if list := sent(t, c); ends && (len(list) != 1 || list[0].GetBye().GetCode() != closeTooLarge) {
				t.Errorf("%s: closed with %v", test.name, list)
			}
		}
	}
}

// A frame with too many elements is refused as a whole, before it is decoded. The connection stays open.
func TestFramesAreCountedBeforeTheyAreDecoded(t *testing.T) {
	pack := func(p []byte) []byte {
		compressed, ok := deflate(p)
		if !ok {
			t.Fatal("the frame is not compressible")
		}
		return compressed
	}
	empty := []byte{tagSends, 0}
	for _, test := range []struct {
		name, reason string
		op           byte
		compressed   bool
		p            []byte
	}{
		{"350,000 empty sends in a compressed frame", "too_many_sends", opBinary, true, pack(bytes.Repeat(empty, 350_000))},
		{"one send too many", "too_many_sends", opBinary, false, bytes.Repeat(empty, inputlimit.MaxSends+1)},
		{"one send too many, after a ping", "too_many_sends", opBinary, false, append([]byte{7<<3 | 2, 0}, bytes.Repeat(empty, inputlimit.MaxSends+1)...)},
		{"one mark too many", "too_many_sends", opBinary, false, bytes.Repeat([]byte{tagMarks, 0}, inputlimit.MaxMarks+1)},
		{"100,000 acknowledgements", "too_many_elements", opBinary, false, bytes.Repeat([]byte{tagAck, 0}, 100_000)},
		{"a watch of 501 users", "too_many_users", opBinary, false, append([]byte{10<<3 | 2, 0xf8, 3, 1<<3 | 2, 0xf5, 3}, make([]byte, 501)...)},
		{"one send too many, in JSON", "too_many_sends", opText, false, []byte(`{"sends":[` + strings.Repeat("{},", inputlimit.MaxSends) + `{}]}`)},
		{"an object of 1,001 keys", "at most 1,000 keys", opText, false, []byte(`{"call":{"body":{` + strings.Repeat(`"k":1,`, inputlimit.MaxKeys) + `"k":1}}}`)},
	} {
		c, r := bench(t)
		c.json = test.op == opText
		if err := c.handleMessage(test.op, test.compressed, test.p); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		c.server.serving.Wait()
		if len(r.asked) > 0 {
			t.Errorf("%s: %d calls were made", test.name, len(r.asked))
		}
		if answer := string(c.takeOutput().b); !strings.Contains(answer, test.reason) || c.isEnding() {
			t.Errorf("%s: %.300q, closing %v", test.name, answer, c.isEnding())
		}
	}
	c, r := bench(t)
	if err := c.handleMessage(opBinary, false, bytes.Repeat([]byte{tagSends, 2, 2 << 3, 1}, inputlimit.MaxSends)); err != nil || len(r.asked) != inputlimit.MaxSends {
		t.Errorf("a frame at the limit: %d calls, %v", len(r.asked), err)
	}
}

// The body of a call is passed on unchanged, so that 64-bit numbers stay exact.
func TestCallBodiesArePassedUnchanged(t *testing.T) {
	c, r := bench(t)
	c.json = true
	for _, body := range []string{`{"conversation":9007199254740993, "limit": 1}`, `{"conversation":18446744073709551615}`, ``} {
		text := `{"request":"1","call":{"method":"/x"}}`
		want := "{}"
		if body != "" {
			text, want = fmt.Sprintf(`{"call":{"method":"/x","body":%s},"request":"1"}`, body), body
		}
		if err := c.handleMessage(opText, false, []byte(text)); err != nil {
			t.Fatal(err)
		}
		c.server.serving.Wait()
		if got := r.body.Load(); got == nil || string(*got) != want {
			t.Errorf("%s became %s", want, *got)
		}
	}
	// A frame in protobuf passes its payload on.
	c.json = false
	if err := c.handle(&gatewayv1.ClientFrame{Call: &gatewayv1.Call{Method: "/x", Payload: []byte("p")}}, 0); err != nil {
		t.Fatal(err)
	}
	if c.server.serving.Wait(); string(*r.body.Load()) != "p" {
		t.Errorf("a payload became %s", *r.body.Load())
	}
}

// A call's body in JSON is not decoded where all connections are read, whatever is in it: its method does so, with limits of its own.
func TestCallBodiesAreNotDecodedWithTheirFrames(t *testing.T) {
	c, _ := bench(t)
	c.json = true
	numbers := func(n int) []byte {
		lists := make([]string, n)
		for i := range lists {
			lists[i] = fmt.Sprintf(`"k%d":[%s0]`, i, strings.Repeat("0,", 999))
		}
		return []byte(`{"call":{"method":"/x","body":{` + strings.Join(lists, ",") + `}}}`)
	}
	decode := func(p []byte) func() {
		return func() {
			if f, err := decoded(c, p); err != nil || len(f.Call.Payload) == 0 {
				t.Fatalf("the frame is decoded as %v, want a payload; error %v", f, err)
			}
		}
	}
	one, many := testing.AllocsPerRun(5, decode(numbers(1))), testing.AllocsPerRun(5, decode(numbers(60)))
	if many > one {
		t.Errorf("a body of 60,000 numbers costs %v allocations, one of 1,000 costs %v", many, one)
	}
}

// decoded counts and decodes a frame.
func decoded(c *conn, p []byte) (*gatewayv1.ClientFrame, error) {
	counted, err := c.count(p)
	if err != nil {
		return nil, err
	}
	return c.decode(p, counted)
}

// refused knows no token.
type refused struct{ *fakeServices }

func (refused) Verify(context.Context, string) (id.Caller, error) {
	return id.Caller{}, errs.New(errs.Unauthenticated, "bad_token", "this token is unknown")
}

// Before its sender is known, nothing of a frame is decoded but its credentials. Afterwards the rest is handled, or refused as that of any frame.
func TestTheFirstFrameIsDecodedAfterItsSenderIsKnown(t *testing.T) {
	auth := &gatewayv1.ClientFrame{Auth: &gatewayv1.Auth{AccessToken: "any"}}
	for _, test := range []struct {
		name, p, reason string
		json            bool
	}{
		{"an id that is no text", string(append(must(proto.Marshal(auth)), "\x1a\x03\x1a\x01\xff"...)), "bad_frame", false},
		{"a field that is unknown in JSON", `{"auth":{"accessToken":"any"},"sent":[]}`, "bad_json", true},
	} {
		for _, known := range []bool{false, true} {
			c, r := bench(t)
			c.state, c.json = stateUnauthenticated, test.json
			c.server.deps.Accounts = refused{r}
			op := byte(opBinary)
			if known {
				c.server.deps.Accounts = verified{r}
			}
			if test.json {
				op = opText
			}
			if err := c.handleMessage(op, false, []byte(test.p)); err != nil {
				t.Errorf("%s, known %v: %v", test.name, known, err)
			}
			c.server.serving.Wait()
			c.mu.Lock()
			answer := string(c.takeOutput().b)
			c.mu.Unlock()
			if strings.Contains(answer, test.reason) != known || c.isEnding() == known || len(r.asked) > 0 {
				t.Errorf("%s, known %v: %.300q, closing %v, %d calls", test.name, known, answer, c.isEnding(), len(r.asked))
			}
		}
	}
}

// verified knows the user of every token.
type verified struct{ *fakeServices }

func (verified) Verify(context.Context, string) (id.Caller, error) {
	return id.Caller{User: 7, Device: 8, Session: 9}, nil
}

// A frame that is read between Hello and the rest of the first frame waits for that rest: frames are handled in the order in which they were sent.
func TestFramesWaitForTheRestOfTheFirst(t *testing.T) {
	c, r := bench(t)
	c.state = stateUnauthenticated
	c.server.deps.Accounts = verified{r}
	frame := func(f *gatewayv1.ClientFrame) []byte {
		p := must(proto.Marshal(f))
		return append([]byte{0x82, 0x80 | byte(len(p)), 0, 0, 0, 0}, p...)
	}
	c.reading.Lock() // as the reading goroutine has it while more bytes are there
	c.readLocked(frame(&gatewayv1.ClientFrame{Auth: &gatewayv1.Auth{AccessToken: "any"}, Request: 3, Ping: &gatewayv1.Ping{}}))
	eventually.True(t, "the connection is ready", c.isReady)
	c.readLocked(frame(&gatewayv1.ClientFrame{Request: 4, Ping: &gatewayv1.Ping{}}))
	c.reading.Unlock()
	c.server.serving.Wait()
	var order []string
	for _, f := range sent(t, c) {
		switch {
		case f.Hello != nil:
			order = append(order, "hello")
		case f.Pong != nil:
			order = append(order, fmt.Sprint(f.Request))
		default:
			t.Errorf("unexpected frame %v", f)
		}
	}
	if got := strings.Join(order, " "); got != "hello 3 4" {
		t.Errorf("answers in the order %q", got)
	}
}
