package chat_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"unicode/utf8"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"google.golang.org/protobuf/proto"
)

// slow relations answer when the gate is open.
type slow struct {
	chat.Relations
	gate chan struct{}
	err  error
}

func (r *slow) Blocked(context.Context, id.User, id.User) (bool, error) {
	<-r.gate
	return false, r.err
}

// slowNode opens a node that knows no conversation yet, and cannot load one while the gate is closed.
func slowNode(t *testing.T, h *house) (*chat.Service, *slow) {
	deps := h.deps(h.db)
	r := &slow{Relations: h.relations, gate: make(chan struct{})}
	deps.Relations = r
	s, err := chat.New(context.Background(), deps, h.config)
	must(t, err)
	return s, r
}

// TestMoreThanMayWait: while a conversation is loading, its drafts wait, to a bound; those beyond it are told to come again.
func TestMoreThanMayWait(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t, chat.Config{})
	c, err := h.node(t).OpenDirect(ctx, 1, 2)
	must(t, err)
	s, relations := slowNode(t, h)
	const n = chat.WaitingMost + 100
	var done sync.WaitGroup
	done.Add(n)
	var mu sync.Mutex // guards refused
	refused := map[string]int{}
	for i := range uint64(n) {
		d := draftOf(c, 1, i+1, "x")
		d.Done = func(d *message.Draft) {
			mu.Lock()
			refused[reasonOf(d.Err)]++
			mu.Unlock()
			done.Done()
		}
		s.Submit(d) // does not block
	}
	mu.Lock()
	if refused["busy"] != 100 || refused[""] != 0 {
		t.Errorf("before the load: %v", refused)
	}
	mu.Unlock()
	close(relations.gate)
	done.Wait()
	if refused[""] != chat.WaitingMost || refused["busy"] != 100 {
		t.Errorf("%v", refused)
	}
	replay(t, h.entries(t, c))
}

// TestLoadFails: the drafts that wait are refused, each once; the next load may succeed.
func TestLoadFails(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t, chat.Config{})
	c, err := h.node(t).OpenDirect(ctx, 1, 2)
	must(t, err)
	s, relations := slowNode(t, h)
	relations.err = errForeign
	close(relations.gate)
	for _, r := range pipeline(func(int) *chat.Service { return s }, c, 1, 1, 50) {
		if reasonOf(r.err) != "foreign" {
			t.Fatalf("%+v", r)
		}
	}
	relations.err = nil
	err = s.Send(ctx, draftOf(c, 1, 1, "x"))
	for reasonOf(err) == "foreign" { // it came while the last of them were refused
		err = s.Send(ctx, draftOf(c, 1, 1, "x"))
	}
	must(t, err)
	if tail := h.tail(t, c); tail.Seq != 2 {
		t.Errorf("%+v", tail)
	}
}

// TestSendIsGivenUp: who waits no longer leaves, and the draft goes on.
func TestSendIsGivenUp(t *testing.T) {
	h := newHouse(t, chat.Config{})
	c, err := h.node(t).OpenDirect(context.Background(), 1, 2)
	must(t, err)
	s, relations := slowNode(t, h)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Send(ctx, draftOf(c, 1, 1, "x")); err != context.Canceled {
		t.Fatal(err)
	}
	close(relations.gate)
	again := draftOf(c, 1, 1, "x") // a retry is harmless
	must(t, s.Send(context.Background(), again))
	if again.Seq != 2 || !again.Duplicate {
		t.Errorf("%+v", again)
	}
}

func TestTyping(t *testing.T) {
	ctx := context.Background()
	h := newHouse(t, chat.Config{LargeAbove: 3})
	deps := h.deps(h.db)
	var told [][]id.User
	deps.Transient = func(users []id.User, frame []byte) {
		var f gatewayv1.ServerFrame
		if err := proto.Unmarshal(frame, &f); err != nil || f.Typing.GetUser() != 2 {
			t.Errorf("%v (%v)", &f, err)
		}
		told = append(told, users)
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}})
	must(t, err)
	for range 5 {
		must(t, s.Typing(ctx, 2, c))
	}
	if len(told) != 1 || len(told[0]) != 2 || told[0][0] != 1 || told[0][1] != 3 {
		t.Fatalf("told %v", told)
	}
	h.clock.ms.Add(1000)
	must(t, s.Typing(ctx, 2, c))
	if len(told) != 2 {
		t.Errorf("a second later: told %v", told)
	}
	if err := s.Typing(ctx, 4, c); reasonOf(err) != "no_conversation" {
		t.Errorf("a stranger types: %v", err)
	}
	_, err = s.Invite(ctx, c, 1, []uint64{4})
	must(t, err)
	h.clock.ms.Add(1000)
	must(t, s.Typing(ctx, 2, c))
	if len(told) != 2 {
		t.Errorf("in a large group: told %v", told)
	}
}

// FuzzContent: what passes is of a known kind, in its final form, within the limits, and no control entry.
func FuzzContent(f *testing.F) {
	f.Add([]byte{}, "", uint64(1))
	f.Add(message.AppendText(nil, "hello"), "", uint64(1))
	f.Add(message.AppendText(nil, "a\xff"), "id", uint64(0))
	for _, c := range []*chatv1.Content{
		{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: 7, Name: "n"}}},
		{Kind: &chatv1.Content_Location{Location: &chatv1.Location{Latitude: 91}}},
		{Kind: &chatv1.Content_Control{Control: &chatv1.Control{Action: chatv1.Control_ACTION_LEFT}}},
		{Kind: &chatv1.Content_Custom{Custom: &chatv1.Custom{Type: "t", Data: []byte{1}}}},
	} {
		b, err := proto.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "", uint64(1))
		f.Add(append(b, message.AppendText(nil, "x")...), "", uint64(1))
	}
	f.Fuzz(func(t *testing.T, content []byte, clientID string, clientSeq uint64) {
		d := &message.Draft{Content: bytes.Clone(content), ClientMsgID: clientID, ClientSeq: clientSeq}
		if chat.Check(d) != nil {
			return
		}
		var c chatv1.Content
		if err := proto.Unmarshal(d.Content, &c); err != nil || c.Kind == nil || c.GetControl() != nil || len(c.ProtoReflect().GetUnknown()) > 0 {
			t.Fatalf("%x passed as %x: %v", content, d.Content, err)
		}
		if text := c.GetText(); !utf8.ValidString(text) || utf8.RuneCountInString(text) > chat.MaxText {
			t.Fatalf("the text %q passed", text)
		}
		once := bytes.Clone(d.Content)
		if err := chat.Check(d); err != nil || !bytes.Equal(once, d.Content) {
			t.Fatalf("%x passed, and then it is %x: %v", once, d.Content, err)
		}
	})
}
