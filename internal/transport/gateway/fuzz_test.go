package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/proto"
)

// fakeServices records the calls of the gateway.
type fakeServices struct {
	noting   sync.Mutex // guards asked while calls are under way
	asked    []string
	contents [][]byte // of the submitted drafts
	invoke   func(context.Context) error
	out      []byte                 // the answer of Invoke
	page     *chatv1.SyncResponse   // nil: an empty one
	body     atomic.Pointer[[]byte] // of the last call
	tail     atomic.Uint64          // of each stream, and each large conversation
	follows  []string
	large    atomic.Pointer[[]id.Conversation] // the large groups of each user
	list     func(context.Context, id.User) ([]id.Conversation, error)
	read     func(context.Context, []id.User) error // called when tails are read
}

func (r *fakeServices) note(format string, args ...any) {
	r.noting.Lock()
	defer r.noting.Unlock()
	r.asked = append(r.asked, fmt.Sprintf(format, args...))
}

func (r *fakeServices) Submit(d *message.Draft) {
	r.contents = append(r.contents, bytes.Clone(d.Content))
	r.note("submit %v %d %q %d %x by %v on %v", d.Conversation, d.ClientSeq, d.ClientMsgID, d.PrevClientSeq, d.Content, d.Sender, d.Device)
}
func (r *fakeServices) Typing(context.Context, id.User, id.Conversation) error    { return nil }
func (r *fakeServices) HighestCounter(context.Context, id.Caller) (uint64, error) { return 0, nil }
func (r *fakeServices) LargeGroups(ctx context.Context, users []id.User) (lists [][]id.Conversation, err error) {
	for _, u := range users {
		list := r.rows()
		if r.list != nil {
			if list, err = r.list(ctx, u); err != nil {
				return nil, err
			}
		}
		lists = append(lists, list)
	}
	return lists, nil
}

func (r *fakeServices) rows() []id.Conversation {
	if list := r.large.Load(); list != nil {
		return *list
	}
	return nil
}
func (r *fakeServices) in(list ...id.Conversation)                        { r.large.Store(&list) }
func (r *fakeServices) Connected(id.Caller) bool                          { return false }
func (r *fakeServices) Announced(context.Context, id.User)                {}
func (r *fakeServices) Followed(context.Context, id.Conversation) bool    { return true }
func (r *fakeServices) Disconnected(id.Caller, bool)                      {}
func (r *fakeServices) Active(id.Caller)                                  {}
func (r *fakeServices) SetAway(id.Caller, bool)                           {}
func (r *fakeServices) Verify(context.Context, string) (id.Caller, error) { return id.Caller{}, nil }
func (r *fakeServices) Live(context.Context, id.Caller) error             { return nil }
func (r *fakeServices) VerifyTicket(context.Context, string) (id.Caller, error) {
	return id.Caller{}, nil
}
func (r *fakeServices) Ack(c id.Caller, at message.Position) { r.note("ack %v %d", c, at) }
func (r *fakeServices) Tails(ctx context.Context, users []id.User) ([]message.Position, error) {
	if r.read != nil {
		if err := r.read(ctx, users); err != nil {
			return nil, err
		}
	}
	return slices.Repeat([]message.Position{message.Position(r.tail.Load())}, len(users)), nil
}
func (r *fakeServices) LargeTails(_ context.Context, conversations []id.Conversation) ([]uint64, error) {
	return slices.Repeat([]uint64{r.tail.Load()}, len(conversations)), nil
}
func (r *fakeServices) Follow(c id.Conversation, on bool) {
	r.follows = append(r.follows, fmt.Sprint(c, " ", on))
}
func (r *fakeServices) Mark(u id.User, c id.Conversation, d, read uint64) {
	r.note("mark %v %v %d %d", u, c, d, read)
}
func (r *fakeServices) AppendSync(_ context.Context, b []byte, _ id.User, _ message.Position, _ int) ([]byte, error) {
	if r.page != nil {
		return proto.MarshalOptions{}.MarshalAppend(b, r.page)
	}
	return b, nil
}
func (r *fakeServices) Watch(context.Context, id.User, id.Session, []id.User) ([]*presencev1.Presence, error) {
	return nil, nil
}
func (r *fakeServices) WatchReaders(context.Context, id.User, any, uint32, []*gatewayv1.WatchedMessage, func(*gatewayv1.ReadersUpdate)) error {
	return nil
}
func (r *fakeServices) UnwatchReaders(any) {}
func (r *fakeServices) WatchPosts(context.Context, id.User, any, uint32, []*gatewayv1.WatchedPost, func([]uint64)) ([]uint64, error) {
	return nil, nil
}
func (r *fakeServices) UnwatchPosts(any) {}
func (r *fakeServices) Enter(context.Context, id.User, id.Room, message.RoomViewer, func(*chatv1.RoomEntry)) error {
	return nil
}
func (r *fakeServices) Leave(id.Room, message.RoomViewer) {}
func (r *fakeServices) Invoke(ctx context.Context, _ id.Caller, _ string, in []byte, _ bool) ([]byte, error) {
	r.body.Store(&in)
	if r.invoke != nil {
		return r.out, r.invoke(ctx)
	}
	return nil, nil
}

// discarding is a transport that discards all output.
type discarding struct{}

func (discarding) flush(*conn)            {}
func (discarding) setReading(*conn, bool) {}
func (discarding) hangUp(*conn)           {}

func bench(t testing.TB) (*conn, *fakeServices) {
	t.Helper()
	r := &fakeServices{}
	s, err := New(Deps{Chat: r, Inbox: r, Directory: r, Presence: r, Rooms: r, Posts: r, Accounts: r, Invoker: r, Bus: membus.New(), Clock: clock.System{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}, Config{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the server was never run
		for _, l := range s.loops {
			l.discard()
		}
	})
	c := &conn{server: s, transport: discarding{}, frameAt: -1, fd: -1, caller: id.Caller{User: 7, Device: 8, Session: 9}}
	c.state = stateReady
	return c, r
}

func frames(f *testing.F) {
	text := &chatv1.Content{Kind: &chatv1.Content_Text{Text: "hello 你好"}}
	for _, m := range []*gatewayv1.ClientFrame{
		{}, {Sends: []*gatewayv1.Send{{Conversation: 5, ClientSeq: 1, Content: text}, {Conversation: 1 << 62, ClientSeq: 2, Content: text}}},
		{Ack: &chatv1.Position{Epoch: 1, Seq: 1<<32 + 7}, Marks: []*gatewayv1.Mark{{Conversation: 5, ReadSeq: 3}, {Conversation: 6, DeliveredSeq: 1, ReadSeq: 2}}},
		{Sends: []*gatewayv1.Send{{Conversation: 5, ClientSeq: 3, PrevClientSeq: 2, Content: text}}},
		{Sends: []*gatewayv1.Send{{Conversation: 5, ClientMsgId: "own", Content: text}}}, {Request: 4, Ping: &gatewayv1.Ping{RttMs: 3}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// The fast path handles a frame as the generated code would, or does nothing.
func FuzzQuickPathIsTheSchema(f *testing.F) {
	frames(f)
	f.Add([]byte("\x1a\x07\x08\x05\x10\x01\x22\x010\xbd")) // invalid content
	f.Add([]byte("\x1a\x07\x08\x05\x10\x01\x22\x01\xbd"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, quick := bench(t)
		ok, err := c.handleFast(bytes.Clone(b))
		if !ok {
			if err == nil && len(quick.asked) > 0 {
				t.Fatalf("the fast path made the calls %v, and then declined the frame", quick.asked)
			}
			return
		}
		var frame gatewayv1.ClientFrame
		if err := proto.Unmarshal(b, &frame); err != nil {
			for _, content := range quick.contents {
				if proto.Unmarshal(content, &chatv1.Content{}) != nil {
					return // chat refuses that: its answer is for the message, not for the frame
				}
			}
			t.Fatalf("the fast path accepted an invalid frame: %v", err)
		}
		// Fields of one kind keep their order; the kinds follow the order of the bytes or of the field numbers.
		var want fakeServices
		for _, s := range frame.Sends {
			content, err := proto.Marshal(s.Content)
			if err != nil {
				t.Fatal(err)
			}
			_ = content
			want.note("submit %v %d %q %d ", id.Conversation(s.Conversation), s.ClientSeq, s.ClientMsgId, s.PrevClientSeq)
		}
		for _, m := range frame.Marks {
			want.note("mark %v %v %d %d", id.User(7), id.Conversation(m.Conversation), m.DeliveredSeq, m.ReadSeq)
		}
		var got fakeServices
		for _, prefix := range []string{"submit", "mark"} {
			for _, a := range quick.asked {
				if len(a) > len(prefix) && a[:len(prefix)] == prefix {
					got.asked = append(got.asked, a)
				}
			}
		}
		if len(got.asked) != len(want.asked) {
			t.Fatalf("calls %v, want %v", got.asked, want.asked)
		}
		for i := range want.asked {
			if len(got.asked[i]) < len(want.asked[i]) || got.asked[i][:len(want.asked[i])] != want.asked[i] {
				t.Fatalf("call %v, want %v", got.asked[i], want.asked[i])
			}
		}
	})
}

// A stream of any bytes is parsed into the same frames, whether it is read at once or in pieces.
func FuzzReadInPieces(f *testing.F) {
	mask := func(op byte, payload []byte) []byte {
		b := appendHeader(nil, op, len(payload), false)
		b[1] |= maskBit
		b = append(b, 1, 2, 3, 4)
		start := len(b)
		b = append(b, payload...)
		unmask(b[start:], []byte{1, 2, 3, 4})
		return b
	}
	send, err := proto.Marshal(&gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: 5, ClientSeq: 1, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "x"}}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(mask(opBinary, send), mask(opPing, nil)...), uint8(3))
	f.Add(mask(opClose, []byte{3, 232}), uint8(1))
	f.Add([]byte{0x82, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		whole, one := bench(t)
		whole.read(bytes.Clone(b))
		pieces, many := bench(t)
		size := int(step)%17 + 1
		for rest := bytes.Clone(b); len(rest) > 0; {
			n := min(size, len(rest))
			pieces.read(rest[:n])
			rest = rest[n:]
		}
		whole.server.serving.Wait() // calls run in goroutines
		pieces.server.serving.Wait()
		if fmt.Sprint(one.asked) != fmt.Sprint(many.asked) {
			t.Fatalf("calls %v in one read, %v in several", one.asked, many.asked)
		}
	})
}

// The server parses a library's frames, and the library parses the server's headers.
func FuzzFraming(f *testing.F) {
	f.Add([]byte("hello"), []byte{1, 2, 3, 4}, uint8(2), true)
	f.Add(make([]byte, 70_000), []byte{0, 0, 0, 0}, uint8(1), false)
	f.Fuzz(func(t *testing.T, payload, mask []byte, op uint8, final bool) {
		if len(mask) < 4 || len(payload) > maxFrame || op%3 == 0 && final {
			return
		}
		frame := ws.NewFrame(ws.OpCode(op%3), final, bytes.Clone(payload))
		var key [4]byte
		copy(key[:], mask)
		b, err := ws.CompileFrame(ws.MaskFrameWith(frame, key))
		if err != nil {
			t.Fatal(err)
		}
		in := inFrame{maxMessage: maxFrame}
		rest, ok, _, err := in.parse(b, false)
		if err != nil || !ok || len(rest) != 0 || in.op != op%3 || in.final != final || !bytes.Equal(in.payload, payload) {
			t.Fatalf("a frame is read as %+v, complete %v, %d bytes left, error %v", in, ok, len(rest), err)
		}
		h, err := ws.ReadHeader(bytes.NewReader(appendHeader(nil, opBinary, len(payload), false)))
		if err != nil || h.Length != int64(len(payload)) || h.Masked || h.OpCode != ws.OpBinary || !h.Fin {
			t.Fatalf("the header is %+v, error %v; want a final unmasked binary frame of %d bytes", h, err, len(payload))
		}
	})
}

func FuzzInflate(f *testing.F) {
	if compressed, ok := deflate(bytes.Repeat([]byte("rialto "), 1000)); ok {
		f.Add(compressed)
	}
	f.Add([]byte{0xff, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := inflatedBytes(b)
		if err == nil && len(out) > maxFrame {
			t.Fatalf("%d bytes came out", len(out))
		}
		compressed, ok := deflate(b)
		if !ok {
			return
		}
		if back, err := inflatedBytes(compressed); err != nil || !bytes.Equal(back, b) {
			t.Fatalf("%v: %d bytes became %d", err, len(b), len(back))
		}
	})
}

// A bomb of 10 MB in 10 KB is refused at 1 MiB.
func TestDecompressionBombsAreRefused(t *testing.T) {
	compressed, ok := deflate(make([]byte, 10<<20))
	if !ok || len(compressed) > 64<<10 {
		t.Fatalf("%v: %d bytes", ok, len(compressed))
	}
	if _, err := inflatedBytes(compressed); err != errTooLarge {
		t.Errorf("error %v, want %v", err, errTooLarge)
	}
}

// Small frames are merged into one frame with the shortest header; large ones are not merged.
func TestMergedFramesAreWellFormed(t *testing.T) {
	c, _ := bench(t)
	var want []int
	for i, n := range []int{10, 100, 1000, 70_000, 5, 59_000, 59_000} {
		b := c.reserveField(n)
		b.b = append(b.b, bytes.Repeat([]byte{byte(i)}, n)...)
		want = append(want, n)
	}
	out := c.takeOutput()
	r := bytes.NewReader(out.b)
	total := 0
	for r.Len() > 0 {
		h, err := ws.ReadHeader(r)
		if err != nil {
			t.Fatal(err)
		}
		short := appendHeader(nil, opBinary, int(h.Length), false)
		if got := out.b[int(r.Size())-r.Len()-len(short) : int(r.Size())-r.Len()]; !bytes.Equal(got, short) {
			t.Errorf("a header of %x, want %x", got, short)
		}
		if _, err := r.Seek(h.Length, io.SeekCurrent); err != nil {
			t.Fatal(err)
		}
		total += int(h.Length)
	}
	sum := 0
	for _, n := range want {
		sum += n
	}
	if total != sum {
		t.Errorf("%d bytes came out, want %d", total, sum)
	}
}
