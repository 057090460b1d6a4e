package rialto_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// streamedOf is the text of the one streamed message of a server.
type streamedOf struct {
	mu     sync.Mutex // guards all below
	text   []rune
	states []chatv1.WritingState
	lost   int // parts, the next ones, whose answers are lost
	ended  bool
	end    *chatv1.EndStreamedMessageRequest
	broken *chatv1.BrokenOff
}

func (s *server) StartStreamedMessage(_ context.Context, r *connect.Request[chatv1.StartStreamedMessageRequest]) (*connect.Response[chatv1.StartStreamedMessageResponse], error) {
	if r.Msg.ClientMsgId == "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("no_client_id"))
	}
	return connect.NewResponse(&chatv1.StartStreamedMessageResponse{Seq: 9}), nil
}

func (s *server) WriteStreamedMessages(_ context.Context, r *connect.Request[chatv1.WriteStreamedMessagesRequest]) (*connect.Response[chatv1.WriteStreamedMessagesResponse], error) {
	m := &s.streamed
	m.mu.Lock()
	defer m.mu.Unlock()
	a := &chatv1.WriteStreamedMessagesResponse{}
	for _, p := range r.Msg.Parts {
		result := &chatv1.WriteResult{Ended: m.ended}
		if m.ended {
			result.Reason = "ended"
		} else if int(p.Offset) > len(m.text) {
			result.Reason = "bad_offset"
		} else {
			m.text = append(m.text[:p.Offset:p.Offset], []rune(p.Text)...)
			m.states = append(m.states, p.State)
		}
		result.Length = uint32(len(m.text))
		a.Results = append(a.Results, result)
	}
	if m.lost > 0 {
		m.lost--
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("lost"))
	}
	return connect.NewResponse(a), nil
}

func (s *server) EndStreamedMessage(_ context.Context, r *connect.Request[chatv1.EndStreamedMessageRequest]) (*connect.Response[chatv1.EndStreamedMessageResponse], error) {
	s.streamed.mu.Lock()
	defer s.streamed.mu.Unlock()
	s.streamed.end = r.Msg
	return connect.NewResponse(&chatv1.EndStreamedMessageResponse{EditSeq: 10, BrokenOff: s.streamed.broken}), nil
}

// set changes what the server has.
func (m *streamedOf) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// until waits for a condition of what the server has.
func (m *streamedOf) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		m.mu.Lock()
		done, text := is(), string(m.text)
		m.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: the server has %q", what, text)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// A message reaches the server in parts, also where answers are lost and another node has less; the end has all of it.
func TestAMessageIsWrittenInParts(t *testing.T) {
	s := start(t, &server{script: func(_ int, c *conn) { c.untilGone() }})
	c := streamedClient(t, s)
	m, err := c.StartStreamed(t.Context(), 7, rialto.StreamedOptions{})
	if err != nil || m.Seq() != 9 {
		t.Fatalf("the message does not have the seq 9; error %v", err)
	}
	m.SetState(chatv1.WritingState_WRITING_STATE_THINKING, "")
	s.streamed.until(t, "the state", func() bool { return slices.Contains(s.streamed.states, chatv1.WritingState_WRITING_STATE_THINKING) })
	s.streamed.set(func() { s.streamed.lost = 1 })
	write := func(text string) {
		if _, err := m.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("Héllo")
	write(", world")
	s.streamed.until(t, "the parts", func() bool { return string(s.streamed.text) == "Héllo, world" && s.streamed.lost == 0 })
	s.streamed.set(func() { s.streamed.text = s.streamed.text[:2] }) // another node goes on from its copy
	write("!\xff")
	s.streamed.until(t, "the rest", func() bool { return string(s.streamed.text) == "Héllo, world!\ufffd" })
	if err := m.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := s.streamed.end.Content.GetText(); text != "Héllo, world!\ufffd" || s.streamed.end.Failed {
		t.Errorf("the end has %q", text)
	}
	if _, err := m.WriteString("more"); !errors.Is(err, rialto.ErrBrokenOff) {
		t.Errorf("after the end, a part is answered %v", err)
	}
}

// Its writer learns that a message was stopped, and that an end came too late.
func TestAMessageIsStopped(t *testing.T) {
	s := start(t, &server{script: func(_ int, c *conn) { c.untilGone() }})
	c := streamedClient(t, s)
	m, err := c.StartStreamed(t.Context(), 7, rialto.StreamedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.streamed.set(func() {
		s.streamed.ended, s.streamed.broken = true, &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_STOPPED}
	})
	if _, err := m.WriteString("too late"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-m.Ended():
	case <-time.After(time.Minute):
		t.Fatal("the writer was not told")
	}
	if err := m.End(t.Context()); !errors.Is(err, rialto.ErrBrokenOff) {
		t.Errorf("the end is answered %v", err)
	}
	if err := m.Fail(t.Context()); err != nil || !s.streamed.end.Failed {
		t.Errorf("a failure is answered %v", err)
	}
}

func TestAddStreamed(t *testing.T) {
	for _, c := range []struct {
		text   string
		offset uint32
		added  string
		want   string
		ok     bool
	}{
		{"", 0, "a", "a", true}, {"é𝄞", 2, "x", "é𝄞x", true}, {"é𝄞", 1, "x", "éx", true}, {"é𝄞", 3, "x", "é𝄞", false}, {"abc", 3, "", "abc", true},
	} {
		if got, ok := rialto.AddStreamed(c.text, &chatv1.StreamedText{Offset: c.offset, Text: c.added}); got != c.want || ok != c.ok {
			t.Errorf("%q and %q at %d are %q, %v", c.text, c.added, c.offset, got, ok)
		}
	}
}

func streamedClient(t *testing.T, s *server) *rialto.Client {
	t.Helper()
	c, err := rialto.New(rialto.Config{URL: s.url})
	if err == nil {
		err = c.Adopt(s.session())
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}
