package chat_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
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

// slowNode opens a node that has no conversation in memory, and cannot load one while the gate is closed.
func slowNode(t *testing.T, h *harness) (*chat.Service, *slow) {
	deps := h.deps(h.db)
	r := &slow{Relations: h.relations, gate: make(chan struct{})}
	deps.Relations = r
	s, err := chat.New(context.Background(), deps, h.config)
	must(t, err)
	return s, r
}

// While a conversation is loading, a bounded number of drafts waits; further ones get a retryable error.
func TestQueuedDraftsAreBounded(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	c, err := h.node(t).OpenDirect(ctx, 1, 2)
	must(t, err)
	s, relations := slowNode(t, h)
	const n = chat.MaxQueuedDrafts + 100
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
		t.Errorf("rejections before the load: %v", refused)
	}
	mu.Unlock()
	close(relations.gate)
	done.Wait()
	if refused[""] != chat.MaxQueuedDrafts || refused["busy"] != 100 {
		t.Errorf("the results after the load are %v", refused)
	}
	replay(t, h.entries(t, c))
}

// TestLoadFails: if a load fails, the waiting drafts are rejected, each once. The next load may succeed.
func TestLoadFails(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	c, err := h.node(t).OpenDirect(ctx, 1, 2)
	must(t, err)
	s, relations := slowNode(t, h)
	relations.err = errForeign
	close(relations.gate)
	for _, r := range pipeline(func(int) *chat.Service { return s }, c, 1, 1, 50) {
		if reasonOf(r.err) != "foreign" {
			t.Fatalf("the result is %+v", r)
		}
	}
	relations.err = nil
	err = s.Send(ctx, draftOf(c, 1, 1, "x"))
	for reasonOf(err) == "foreign" { // submitted while the last of them were being rejected
		err = s.Send(ctx, draftOf(c, 1, 1, "x"))
	}
	must(t, err)
	if tail := h.tail(t, c); tail.Seq != 2 {
		t.Errorf("the tail is %+v", tail)
	}
}

// A cancelled Send returns at once. Its draft is stored nevertheless.
func TestSendCancelled(t *testing.T) {
	h := newHarness(t, chat.Config{})
	c, err := h.node(t).OpenDirect(context.Background(), 1, 2)
	must(t, err)
	s, relations := slowNode(t, h)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Send(ctx, draftOf(c, 1, 1, "x")); err != context.Canceled {
		t.Fatalf("error %v, want %v", err, context.Canceled)
	}
	close(relations.gate)
	again := draftOf(c, 1, 1, "x") // a retry is harmless
	must(t, s.Send(context.Background(), again))
	if again.Seq != 2 || !again.Duplicate {
		t.Errorf("the retry returned %+v", again)
	}
}

func TestTyping(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{LargeGroupAbove: 3})
	deps := h.deps(h.db)
	var notified [][]id.User
	deps.SendTransient = func(users []id.User, frame []byte) {
		var f gatewayv1.ServerFrame
		if err := proto.Unmarshal(frame, &f); err != nil || f.Typing.GetUser() != 2 {
			t.Errorf("the frame is %v (%v)", &f, err)
		}
		notified = append(notified, users)
	}
	hides := false
	deps.HidesPresence = func(context.Context, id.User) (bool, error) { return hides, nil }
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}})
	must(t, err)
	for range 5 {
		must(t, s.Typing(ctx, 2, c))
	}
	if len(notified) != 1 || len(notified[0]) != 2 || notified[0][0] != 1 || notified[0][1] != 3 {
		t.Fatalf("the typing notices are %v, want one of two members, 1 and 3", notified)
	}
	h.clock.ms.Add(1000)
	must(t, s.Typing(ctx, 2, c))
	if len(notified) != 2 {
		t.Errorf("a second later the notified users are %v", notified)
	}
	hides = true
	h.clock.ms.Add(1000)
	must(t, s.Typing(ctx, 2, c))
	if hides = false; len(notified) != 2 {
		t.Errorf("of a user who hides presence the notified users are %v", notified)
	}
	if err := s.Typing(ctx, 4, c); reasonOf(err) != "no_conversation" {
		t.Errorf("Typing by a non-member returned %v", err)
	}
	_, err = s.Invite(ctx, c, 1, []uint64{4})
	must(t, err)
	h.clock.ms.Add(1000)
	must(t, s.Typing(ctx, 2, c))
	if len(notified) != 2 {
		t.Errorf("in a large group the notified users are %v", notified)
	}
}

// FuzzContent: an accepted content is of a known kind, in its stored form, within the limits, and no control entry.
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
		if chat.Validate(d) != nil {
			return
		}
		var c chatv1.Content
		if err := proto.Unmarshal(d.Content, &c); err != nil || c.Kind == nil || c.GetControl() != nil || len(c.ProtoReflect().GetUnknown()) > 0 {
			t.Fatalf("%x was accepted as %x: %v", content, d.Content, err)
		}
		if text := c.GetText(); !utf8.ValidString(text) || utf8.RuneCountInString(text) > chat.MaxText {
			t.Fatalf("the text %q was accepted", text)
		}
		once := bytes.Clone(d.Content)
		if err := chat.Validate(d); err != nil || !bytes.Equal(once, d.Content) {
			t.Fatalf("%x was accepted, and validating it again yields %x: %v", once, d.Content, err)
		}
	})
}
