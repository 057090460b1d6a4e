package gateway

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// secondsOf is a clock that follows a server's seconds.
type secondsOf struct{ s *Server }

func (c secondsOf) Now() time.Time { return time.Unix(int64(c.s.now.Load()), 0) }

// limited sets limits whose clock is the server's.
func limited(t *testing.T, s *Server, config ratelimit.Config) {
	t.Helper()
	var err error
	if s.deps.Limits, err = ratelimit.NewTable(config, secondsOf{s}, nil); err != nil {
		t.Fatal(err)
	}
}

// later advances a server's clock by some seconds, as its tick does.
func (s *Server) later(seconds uint32) { s.resumeThrottled(s.now.Add(seconds)) }

// A connection may send a bounded number of small frames in a second, of any kind and in both encodings. Further frames wait unread.
func TestSmallFramesAreThrottled(t *testing.T) {
	marks := func(n int) *gatewayv1.ClientFrame {
		f := &gatewayv1.ClientFrame{}
		for range n {
			f.Marks = append(f.Marks, &gatewayv1.Mark{Conversation: 5, ReadSeq: 1})
		}
		return f
	}
	watched := &gatewayv1.WatchReaders{}
	for range 8 { // as many as a frame may have
		watched.Messages = append(watched.Messages, &gatewayv1.WatchedMessage{Conversation: 5, Seq: 1})
	}
	for name, test := range map[string]struct {
		frame *gatewayv1.ClientFrame
		fits  int
	}{
		"acks":                {&gatewayv1.ClientFrame{Ack: &chatv1.Position{Seq: 1}}, maxSmallFrames},
		"an ack, pinged":      {&gatewayv1.ClientFrame{Ack: &chatv1.Position{Seq: 1}, Ping: &gatewayv1.Ping{}}, maxSmallFrames},
		"a mark":              {marks(1), maxSmallFrames},
		"many marks":          {marks(itemsPerSmallFrame * 49), maxSmallFrames / 50},
		"typing":              {&gatewayv1.ClientFrame{Typing: 5}, maxSmallFrames},
		"calls":               {&gatewayv1.ClientFrame{Request: 1, Call: &gatewayv1.Call{Method: "/x"}}, maxSmallFrames},
		"syncs":               {&gatewayv1.ClientFrame{Request: 1, Sync: &chatv1.SyncRequest{}}, maxSmallFrames},
		"watches":             {&gatewayv1.ClientFrame{Request: 1, Watch: &gatewayv1.Watch{}}, maxSmallFrames},
		"large watches":       {&gatewayv1.ClientFrame{Request: 1, Watch: &gatewayv1.Watch{Users: make([]uint64, 7*itemsPerSmallFrame)}}, maxSmallFrames / 8},
		"watches of readers":  {&gatewayv1.ClientFrame{Request: 1, WatchReaders: watched}, maxSmallFrames},
		"entered rooms":       {&gatewayv1.ClientFrame{Request: 1, EnterRoom: 5}, maxSmallFrames},
		"left rooms":          {&gatewayv1.ClientFrame{LeaveRoom: 5}, maxSmallFrames},
		"a room left, pinged": {&gatewayv1.ClientFrame{LeaveRoom: 5, Ping: &gatewayv1.Ping{}}, maxSmallFrames},
	} {
		for _, json := range []bool{false, true} {
			c, _ := bench(t)
			c.json = json
			op, encode := byte(opBinary), proto.Marshal
			if json {
				op, encode = opText, protojson.Marshal
			}
			payload, err := encode(test.frame)
			if err != nil {
				t.Fatal(err)
			}
			paused := func() bool {
				c.server.serving.Wait() // a large frame is decoded by another goroutine
				c.mu.Lock()
				defer c.mu.Unlock()
				if c.out != nil { // the client reads the answers
					c.out.free()
					c.out = nil
				}
				return c.reads != readOn
			}
			for second := range 2 {
				n := 0
				for ; !paused() && n <= 2*maxSmallFrames; n++ {
					c.read(clientFrame(op, payload))
				}
				want := test.fits + 1
				if second > 0 {
					want-- // one frame of the second before exceeded its limit
				}
				if n != want || c.isEnding() {
					t.Errorf("%s, JSON %v: throttled after %d frames in second %d, want %d", name, json, n, second, want)
				}
				if c.server.resumeThrottled(c.server.now.Load()); !paused() {
					t.Errorf("%s, JSON %v: not throttled until the end of the second", name, json)
				}
				c.server.later(1)
				if paused() {
					t.Errorf("%s, JSON %v: still throttled in the next second", name, json)
				}
			}
			if c.server.stats.Throttled.Load() != 2 {
				t.Errorf("%s: %d times are counted", name, c.server.stats.Throttled.Load())
			}
			c.server.serving.Wait()
		}
	}
}

func clientFrame(op byte, payload []byte) []byte {
	b := appendHeader(nil, op, len(payload), false)
	b[1] |= 0x80
	return append(append(b, 0, 0, 0, 0), payload...)
}

// Sends that were read are stored in order. No more is read until the rates of the user and of the address allow it.
func TestSendsAreThrottled(t *testing.T) {
	for name, test := range map[string]struct {
		config  ratelimit.Config
		network netip.Prefix
	}{
		"by user":    {ratelimit.Config{SendUser: "10/s burst 20", SendAddress: "none"}, netip.Prefix{}},
		"by address": {ratelimit.Config{SendUser: "none", SendAddress: "10/s burst 20"}, netip.MustParsePrefix("192.0.2.1/32")},
	} {
		for _, quick := range []bool{true, false} {
			c, r := bench(t)
			limited(t, c.server, test.config)
			c.network = test.network
			other := &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: c.caller, network: c.network}
			other.state = stateReady
			number := uint64(0)
			send := func(c *conn, n int) {
				f := &gatewayv1.ClientFrame{}
				for range n {
					number++
					f.Sends = append(f.Sends, &gatewayv1.Send{Conversation: 5, ClientSeq: number, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "x"}}})
				}
				if !quick {
					f.Request = 9 // a field that the fast path does not handle
				}
				payload, err := proto.Marshal(f)
				if err != nil {
					t.Fatal(err)
				}
				c.read(clientFrame(opBinary, payload))
			}
			if send(c, 20); c.reads != readOn {
				t.Errorf("%s: throttled within the burst", name)
			}
			if send(c, 30); c.reads == readOn || c.throttledUntil != c.server.now.Load()+3 {
				t.Errorf("%s: throttled %v until %d", name, c.reads != readOn, c.throttledUntil-c.server.now.Load())
			}
			send(other, 5) // the same bucket
			if other.reads == readOn || len(r.contents) != 55 {
				t.Errorf("%s: the other connection is throttled %v, %d messages are stored", name, other.reads != readOn, len(r.contents))
			}
			for c.inFlight.Load() > 0 { // all are answered
				c.receipt(&message.Draft{})
				c.takeOutput()
			}
			c.resumeReading()
			grace := uint32(c.server.config.Grace.Seconds())
			c.lastInput.Store(c.server.now.Load() - grace)
			if c.server.checkDeadlines(c, c.server.now.Load()); c.isEnding() || c.reads == readOn {
				t.Errorf("%s: throttled %v, closed %v", name, c.reads != readOn, c.isEnding())
			}
			c.server.later(3)
			if c.reads == readOn || other.reads == readOn {
				t.Errorf("%s: throttled %v and %v with a debt of half a second", name, c.reads != readOn, other.reads != readOn)
			}
			c.server.later(1)
			if c.reads != readOn || other.reads != readOn || c.lastInput.Load() != c.server.now.Load() {
				t.Errorf("%s: throttled %v and %v without a debt", name, c.reads != readOn, other.reads != readOn)
			}
			if len(c.server.throttled.conns) != 0 {
				t.Errorf("%s: %d connections are throttled", name, len(c.server.throttled.conns))
			}
			if send(c, 6); c.reads == readOn { // half a second allows five
				t.Errorf("%s: not throttled again", name)
			}
			c.onClosed()
			if c.server.later(1); len(c.server.throttled.conns) != 0 {
				t.Errorf("%s: a closed connection is listed as throttled", name)
			}
		}
	}
}

// Syncs count against the limits of calls.
func TestSyncsCountAsCalls(t *testing.T) {
	c, _ := bench(t)
	limited(t, c.server, ratelimit.Config{CallUser: "2/h"})
	reasons := map[string]int{}
	for range 2 {
		for _, f := range []*gatewayv1.ClientFrame{{Request: 1, Sync: &chatv1.SyncRequest{}}, {Request: 2, Watch: &gatewayv1.Watch{}}} {
			if err := c.handle(f, 0); err != nil {
				t.Fatal(err)
			}
			c.server.serving.Wait()
			for _, f := range sent(t, c) {
				reasons[f.GetError().GetReason()]++
			}
		}
	}
	if reasons["too_many_requests"] != 2 || reasons[""] != 2 {
		t.Errorf("the reasons are %v, want 2 successes and 2 too_many_requests", reasons)
	}
}

// TestWatchedUsersCountAsCalls: a watch of 500 users costs as much as 50 calls, so that a loop of them is refused soon.
func TestWatchedUsersCountAsCalls(t *testing.T) {
	c, _ := bench(t)
	limited(t, c.server, ratelimit.Config{CallUser: "120/h"})
	var reasons []string
	for _, users := range []int{500, 500, 500, 200} {
		if err := c.handle(&gatewayv1.ClientFrame{Request: 1, Watch: &gatewayv1.Watch{Users: make([]uint64, users)}}, 0); err != nil {
			t.Fatal(err)
		}
		c.server.serving.Wait()
		for _, f := range sent(t, c) {
			reasons = append(reasons, f.GetError().GetReason())
		}
	}
	if got := strings.Join(reasons, ","); got != ",,too_many_requests," {
		t.Errorf("watches of 500, 500, 500 and 200 users are answered %q", got)
	}
	if c.reads == readOn || c.throttledUntil == 0 {
		t.Error("reading continues at once after a refused call, so a flood of calls still costs their decoding")
	}
}

// TestBytesOfMessagesCountAsMessages: each KiB of a frame with messages costs as much as a message, in both encodings, so that a flood of
// large messages is bounded even if they are refused.
func TestBytesOfMessagesCountAsMessages(t *testing.T) {
	for name, change := range map[string]func(c *conn, f *gatewayv1.ClientFrame){
		"protobuf, without allocation": func(*conn, *gatewayv1.ClientFrame) {},
		"protobuf":                     func(_ *conn, f *gatewayv1.ClientFrame) { f.Request = 9 },
		"JSON":                         func(c *conn, _ *gatewayv1.ClientFrame) { c.json = true },
	} {
		c, r := bench(t)
		c.server.deps.Chat = answering{r}
		limited(t, c.server, ratelimit.Config{SendUser: "10/s burst 100"})
		frame := &gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: 5, ClientSeq: 1, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: strings.Repeat("x", 50<<10)}}}}}
		change(c, frame)
		op, encode := byte(opBinary), proto.Marshal
		if c.json {
			op, encode = opText, protojson.Marshal
		}
		payload, err := encode(frame)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			if c.read(clientFrame(op, payload)); (c.reads != readOn) != (n == 2) {
				t.Errorf("%s: paused %v after %d frames of 50 KiB, with 100 KiB allowed", name, c.reads != readOn, n+1)
			}
		}
		if len(r.contents) != 3 || c.throttledUntil != c.server.now.Load()+5 {
			t.Errorf("%s: %d messages are handled, and the next in %d seconds", name, len(r.contents), c.throttledUntil-c.server.now.Load())
		}
	}
}

func BenchmarkReadSends(b *testing.B) {
	c, _ := bench(b)
	var err error
	if c.server.deps.Limits, err = ratelimit.NewTable(ratelimit.Config{SendUser: "999999999/s", SendAddress: "999999999/s"}, c.server.deps.Clock, nil); err != nil {
		b.Fatal(err)
	}
	c.network = netip.MustParsePrefix("192.0.2.1/32")
	c.server.deps.Chat = drop{c.server.deps.Chat}
	payload, err := proto.Marshal(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: 5, ClientSeq: 1, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello"}}}}})
	if err != nil {
		b.Fatal(err)
	}
	frame := clientFrame(opBinary, payload)
	b.ReportAllocs()
	for b.Loop() {
		c.read(frame)
	}
}

// answering answers each draft, and notes it.
type answering struct{ *fakeServices }

func (a answering) Submit(d *message.Draft) {
	a.fakeServices.Submit(d)
	d.Context.(*conn).countInFlight(-1, d.Cost)
}

// drop answers each draft immediately.
type drop struct{ Chat }

func (drop) Submit(d *message.Draft) {
	c := d.Context.(*conn)
	c.countInFlight(-1, d.Cost)
	drafts.Put(d)
}

// Compressed frames are limited by their decompressed size, for all connections of a user together. Frames of one read beyond the limit
// wait, and are handled in order.
func TestUnpackedBytesCountAsCalls(t *testing.T) {
	c, r := bench(t)
	c.json, c.deflate = true, true
	limited(t, c.server, ratelimit.Config{CallUser: "64/s burst 96"}) // 2 MiB a second, after 3
	blank := strings.Repeat(" ", maxFrame-200)
	var read, first []byte
	for i := range 8 {
		text := fmt.Sprintf(`{"sends":[{"conversation":"5","clientSeq":"%d","content":{"text":"x"}}]}`, i+1)
		frame := clientFrame(opText, compressed(t, text+blank))
		frame[0] |= 0x40
		if read = append(read, frame...); i == 0 {
			first = bytes.Clone(frame)
		}
	}
	done := func(second uint32, want int) {
		t.Helper()
		c.server.serving.Wait()
		c.reading.Lock()
		defer c.reading.Unlock()
		if len(r.contents) != want {
			t.Errorf("after %d seconds %d messages are stored, want %d", second, len(r.contents), want)
		}
	}
	c.read(read)
	done(0, 4) // the last of them is beyond the burst
	if c.reads == readOn {
		t.Error("frames beyond the limit are handled")
	}
	other := &conn{server: c.server, transport: discarding{}, frameAt: -1, fd: -1, caller: c.caller, json: true, deflate: true}
	other.state = stateReady
	other.read(first)
	if done(0, 5); other.reads == readOn {
		t.Error("the user's other connection is not throttled")
	}
	for second := uint32(1); c.reads != readOn; second++ {
		if second > 20 {
			t.Fatal("reading is not resumed")
		}
		c.server.now.Add(1)
		c.server.resumeThrottled(c.server.now.Load())
		c.server.serving.Wait()
	}
	done(20, 9)
	if c.isEnding() {
		t.Error("the connection was closed")
	}
}

// compressed compresses a text for permessage-deflate.
func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{0, 0, 0xff, 0xff})
}

// TestBytesWithoutMessagesCountAsCalls: large watches, also those that are refused, cost their decoding. Messages have limits of their own.
func TestBytesWithoutMessagesCountAsCalls(t *testing.T) {
	for text, want := range map[string]bool{`{"ack":{"seq":"1"}`: true, `{"sends":[{"conversation":"5","clientSeq":"1","content":{"text":"x"}}]`: false} {
		c, _ := bench(t)
		c.json = true
		limited(t, c.server, ratelimit.Config{CallUser: "10/s burst 10"})
		half := []byte(text + strings.Repeat(" ", ratelimit.BytesPerCall/2-len(text)-1) + "}")
		for n := range 20 {
			if c.read(clientFrame(opText, half)); c.reads != readOn {
				t.Fatalf("%s: throttled after %d", text, n+1)
			}
		}
		for range 2 {
			c.read(clientFrame(opText, half))
		}
		if (c.reads != readOn) != want {
			t.Errorf("%s: throttled %v", text, c.reads != readOn)
		}
	}
}
