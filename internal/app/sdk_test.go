package app

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// TestFilesBySDK: files are uploaded and downloaded, and refusals have reasons.
func TestFilesBySDK(t *testing.T) {
	h, _ := open(t, "media.max_size=20")
	alice, bob := client(t, h), client(t, h)
	for handle, c := range map[string]*rialto.Client{"alice": alice, "bob": bob} {
		if err := c.Register(t.Context(), handle, "a good password", handle); err != nil {
			t.Fatal(err)
		}
	}
	running(t, alice)
	group, err := alice.Chat().CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: "files"}))
	if err != nil {
		t.Fatal(err)
	}
	const text = "twelve bytes"
	u, err := alice.Upload(t.Context(), "notes.txt", "", int64(len(text)), strings.NewReader(text))
	if err != nil || u.Name != "notes.txt" || u.Size != uint64(len(text)) {
		t.Fatalf("the upload is %v, %v, want its name and size", u, err)
	}
	r, err := alice.Send(t.Context(), group.Msg.Id, &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: u.Upload, Name: u.Name, Size: u.Size}}})
	if err != nil {
		t.Fatal(err)
	}
	body, err := alice.Download(t.Context(), u.Upload, group.Msg.Id, r.Seq)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if b, err := io.ReadAll(body); err != nil || string(b) != text {
		t.Errorf("%q came back, %v", b, err)
	}
	if _, err := bob.Download(t.Context(), u.Upload, group.Msg.Id, r.Seq); rialto.Reason(err) == "" {
		t.Errorf("a download by a non-member: got %v", err)
	}
	if _, err := alice.Upload(t.Context(), "a.txt", "", 21, strings.NewReader(strings.Repeat("x", 21))); rialto.Reason(err) != "bad_size" {
		t.Errorf("a file that is too long: got %v", err)
	}
	if _, err := alice.Upload(t.Context(), "a.txt", "", 20, strings.NewReader(text)); err == nil {
		t.Error("a body that ends early was accepted")
	}
	if _, err := alice.Upload(t.Context(), "a.txt", "", 5, strings.NewReader(text)); err == nil {
		t.Error("a body longer than announced was accepted")
	}
}

// copies is a client that keeps the messages of one conversation, and applies updates to them.
type copies struct {
	*rialto.Client

	mu       sync.Mutex // guards the fields below
	cond     *sync.Cond
	messages map[uint64]*chatv1.Message
	last     uint64 // seq of the last event
	late     bool
}

func keepCopies(t *testing.T, h *Node, handle string) *copies {
	t.Helper()
	c := &copies{messages: map[uint64]*chatv1.Message{}}
	c.cond = sync.NewCond(&c.mu)
	var err error
	if c.Client, err = rialto.New(rialto.Config{URL: url(h), Handler: c.handle}); err != nil {
		t.Fatal(err)
	}
	if err := c.Register(t.Context(), handle, "a good password", handle); err != nil {
		t.Fatal(err)
	}
	running(t, c.Client)
	return c
}

func (c *copies) handle(e rialto.Event) {
	if e.Message == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if seq := rialto.UpdateTarget(e.Message); seq == 0 {
		c.messages[e.Message.Seq] = e.Message
	} else {
		c.messages[seq] = c.ApplyUpdate(c.messages[seq], e.Message)
	}
	c.last = e.Message.Seq
	c.cond.Broadcast()
}

// at returns the copy of a message once the event with a seq has arrived.
func (c *copies) at(t *testing.T, event, seq uint64) *chatv1.Message {
	t.Helper()
	watch := time.AfterFunc(time.Minute, func() { // reached only if the test hangs
		c.mu.Lock()
		defer c.mu.Unlock()
		c.late = true
		c.cond.Broadcast()
	})
	defer watch.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.last < event {
		if c.late {
			t.Fatalf("event %d does not arrive; the last one is %d", event, c.last)
		}
		c.cond.Wait()
	}
	return c.messages[seq]
}

// TestUpdatesBySDK: after each update, the copies that apply it equal what the server returns, for each user.
func TestUpdatesBySDK(t *testing.T) {
	h, _ := open(t)
	alice, bob := keepCopies(t, h, "alice"), keepCopies(t, h, "bob")
	direct, err := alice.OpenDirect(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	ctx, chat := t.Context(), direct.Id
	first, err := alice.SendText(ctx, chat, "first")
	if err != nil {
		t.Fatal(err)
	}
	reply, err := bob.Reply(ctx, chat, first.Seq, "a reply")
	if err != nil {
		t.Fatal(err)
	}
	if m := alice.at(t, reply.Seq, reply.Seq); m.Content.GetReplyTo().GetSeq() != first.Seq || m.Content.GetText() != "a reply" {
		t.Errorf("the reply is %v", m)
	}
	type method = func(context.Context) (*gatewayv1.Receipt, error)
	edit := func(c *copies, text string) method {
		return func(ctx context.Context) (*gatewayv1.Receipt, error) { return c.Edit(ctx, chat, first.Seq, text) }
	}
	with := func(f func(context.Context, uint64, uint64, string) (*gatewayv1.Receipt, error), emoji string) method {
		return func(ctx context.Context) (*gatewayv1.Receipt, error) { return f(ctx, chat, first.Seq, emoji) }
	}
	plain := func(f func(context.Context, uint64, uint64) (*gatewayv1.Receipt, error)) method {
		return func(ctx context.Context) (*gatewayv1.Receipt, error) { return f(ctx, chat, first.Seq) }
	}
	for _, step := range []struct {
		name string
		run  method
		done func(m *chatv1.Message) bool
	}{
		{"an edit", edit(alice, "second"), func(m *chatv1.Message) bool { return m.Content.GetText() == "second" && m.EditSeq != 0 }},
		{"another edit", edit(alice, "third"), func(m *chatv1.Message) bool { return m.Content.GetText() == "third" }},
		{"a reaction", with(bob.React, "👍"), func(m *chatv1.Message) bool { return m.Reactions.Counts[0].Count == 1 }},
		{"the same by another user", with(alice.React, "👍"), func(m *chatv1.Message) bool { return m.Reactions.Counts[0].Count == 2 }},
		{"another emoji", with(bob.React, "🎉"), func(m *chatv1.Message) bool { return len(m.Reactions.Counts) == 2 }},
		{"the first one again", with(bob.React, "👍"), func(m *chatv1.Message) bool { return m.Reactions.Counts[0].Count == 2 }},
		{"its removal", with(bob.Unreact, "👍"), func(m *chatv1.Message) bool { return m.Reactions.Counts[0].Count == 1 }},
		{"a pin", plain(bob.Pin), func(m *chatv1.Message) bool { return m.Pinned }},
		{"its removal", plain(alice.Unpin), func(m *chatv1.Message) bool { return !m.Pinned && m.PinSeq != 0 }},
		{"a recall", plain(alice.Recall), func(m *chatv1.Message) bool { return m.Content == nil && m.RecalledBy == alice.User() }},
	} {
		r, err := step.run(ctx)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		for user, c := range map[string]*copies{"alice": alice, "bob": bob} {
			got := c.at(t, r.Seq, first.Seq)
			if !step.done(got) {
				t.Errorf("after %s, %s has %v", step.name, user, got)
			}
			res, err := c.Chat().GetMessages(ctx, connect.NewRequest(&chatv1.GetMessagesRequest{Conversation: chat, Seqs: []uint64{first.Seq}}))
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Msg.Messages) != 1 || !proto.Equal(got, res.Msg.Messages[0]) {
				t.Errorf("after %s, %s has %v, and reads %v", step.name, user, got, res.Msg.Messages)
			}
		}
	}
	for want, run := range map[string]method{
		"recalled": edit(alice, "too late"),
		"not_sender": func(ctx context.Context) (*gatewayv1.Receipt, error) {
			return alice.Edit(ctx, chat, reply.Seq, "not mine")
		},
		"not_allowed": func(ctx context.Context) (*gatewayv1.Receipt, error) { return alice.Recall(ctx, chat, reply.Seq) },
		"bad_emoji":   func(ctx context.Context) (*gatewayv1.Receipt, error) { return alice.React(ctx, chat, reply.Seq, "") },
	} {
		if _, err := run(ctx); rialto.Reason(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
