package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/inputlimit"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// largeSend is one message with more elements than are decoded inline, in an encoding.
func largeSend(json bool) []byte {
	f := &gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: 5, ClientMsgId: "large", Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "x"}}}}}
	for range inlineElements {
		f.Marks = append(f.Marks, &gatewayv1.Mark{Conversation: 6, ReadSeq: 1})
	}
	if json {
		return must(protojson.Marshal(f))
	}
	return must(proto.Marshal(f))
}

// A large frame is decoded while other connections are read, and few are at once. What its connection sent after it waits for it, also if reading would
// be resumed for another reason meanwhile.
func TestLargeFramesAreDecodedAsync(t *testing.T) {
	for _, json := range []bool{false, true} {
		c, r := bench(t)
		s := c.server
		other := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, caller: c.caller, json: json}
		other.state = stateReady
		c.json = json
		op, ping := byte(opBinary), must(proto.Marshal(&gatewayv1.ClientFrame{Request: 3, Ping: &gatewayv1.Ping{}}))
		if json {
			op, ping = opText, []byte(`{"request":"3","ping":{}}`)
		}
		for range cap(s.decoders) {
			s.decoders <- struct{}{} // all are at work
		}
		small := clientFrame(op, ping)
		c.read(append(clientFrame(op, largeSend(json)), small...))
		c.mu.Lock()
		c.resumeReading()
		paused := c.reads != readOn
		c.mu.Unlock()
		c.reading.Lock()
		waiting, asked := bytes.Clone(c.in.partial), slices.Clone(r.asked)
		c.reading.Unlock()
		if !paused || len(asked) > 0 || !bytes.Equal(waiting, small) {
			t.Errorf("json %v: paused %v, %d calls were made, and %d bytes wait, want %d", json, paused, len(asked), len(waiting), len(small))
		}
		if held := s.deps.Input.Authenticated.Used(); held < int64(len(largeSend(json))) {
			t.Errorf("json %v: %d bytes of frames that wait are counted", json, held)
		}
		if other.read(bytes.Clone(small)); !hasOutput(other) {
			t.Errorf("json %v: a small frame of another connection is not handled", json)
		}
		for range cap(s.decoders) {
			<-s.decoders
		}
		s.serving.Wait()
		if len(r.asked) != inlineElements+1 || !strings.HasPrefix(r.asked[0], "submit") {
			t.Errorf("json %v: %d calls were made, want a message and %d marks", json, len(r.asked), inlineElements)
		}
		if !hasOutput(c) || c.reads != readOn || s.deps.Input.Authenticated.Used() != 0 || len(s.decoders) != 0 {
			t.Errorf("json %v: afterwards reads %v, %d bytes are held, %d decoders are at work, or the ping behind it has no answer", json, c.reads, s.deps.Input.Authenticated.Used(), len(s.decoders))
		}
	}
}

// hasOutput reports whether something waits for the client.
func hasOutput(c *conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out != nil
}

// A large frame of a connection that closes meanwhile is not handled, and one for which there is no memory closes its connection.
func TestLargeFramesThatAreOfNoUse(t *testing.T) {
	c, r := bench(t)
	s := c.server
	for range cap(s.decoders) {
		s.decoders <- struct{}{}
	}
	c.read(clientFrame(opBinary, largeSend(false)))
	c.hangUp()
	for range cap(s.decoders) {
		<-s.decoders
	}
	if s.serving.Wait(); len(r.asked) > 0 {
		t.Errorf("%d calls of a connection that is closed", len(r.asked))
	}
	full, r := bench(t)
	full.server.deps.Input = inputlimit.NewMemory(1 << 10)
	full.read(clientFrame(opBinary, largeSend(false)))
	if full.server.serving.Wait(); !full.isEnding() || len(r.asked) > 0 {
		t.Errorf("a large frame without memory for it: closing %v, %d calls", full.isEnding(), len(r.asked))
	}
}

// Elements cost as much as the bytes that take as long to decode, however small they are, and also where they are refused. Those of ordinary frames and
// messages cost nothing.
func TestElementsCountAsCalls(t *testing.T) {
	numbers := strings.TrimSuffix(strings.Repeat("1,", inputlimit.MaxKeys), ",")
	body := func(lists int, method string) string {
		var b strings.Builder
		for i := range lists {
			fmt.Fprintf(&b, `,"k%d":[%s]`, i, numbers)
		}
		return `{"call":{` + method + `"body":{"k":0` + b.String() + `}}}`
	}
	sends := strings.TrimSuffix(strings.Repeat(`{"conversation":"5","clientSeq":"1","content":{"text":"x"}},`, inputlimit.MaxSends), ",")
	const many = 60_000 * bytesPerElement / ratelimit.BytesPerCall
	for name, test := range map[string]struct {
		text        string
		least, most int // calls that are charged
	}{
		"numbers of a body":                {body(60, `"method":"/x",`), many * 9 / 10, many * 11 / 10},
		"numbers of a frame with a fault":  {body(60, `"mode":"/x",`), many * 9 / 10, many * 11 / 10},
		"a call":                           {body(1, `"method":"/x",`), 0, 0},
		"as many messages as there may be": {`{"sends":[` + sends + `]}`, 0, 0},
	} {
		c, _ := bench(t)
		c.json = true
		limited(t, c.server, ratelimit.Config{CallUser: "1/h burst 10000", CallAddress: "none"})
		if err := c.handleMessage(opText, false, []byte(test.text)); err != nil {
			t.Fatal(err)
		}
		c.server.serving.Wait()
		left := 0
		for c.server.deps.Limits.Allow(ratelimit.Call, uint64(c.caller.User), c.network, 1) == nil {
			left++
		}
		if charged := 10_000 - left; charged < test.least || charged > test.most {
			t.Errorf("%s: %d calls are charged, want %d to %d", name, charged, test.least, test.most)
		}
	}
}
