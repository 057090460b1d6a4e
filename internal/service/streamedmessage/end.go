package streamedmessage

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

var errEnd = errs.New(errs.Invalid, "bad_end", "end a message with its whole text, as content or by its length; with failed, give neither")

// End ends a message for its sender: whole, or with failed broken off.
func (s *Service) End(ctx context.Context, c id.Caller, q *chatv1.EndStreamedMessageRequest) (*chatv1.EndStreamedMessageResponse, error) {
	k := key{id.Conversation(q.Conversation), q.Seq}
	switch {
	case q.Failed && (q.Content != nil || q.Length != 0), !q.Failed && q.Content == nil && q.Length == 0:
		return nil, errEnd
	case q.Failed:
		return s.breakOffAsked(ctx, c.User, askEnd, k, q)
	case q.Content != nil:
		return s.endWhole(ctx, k, c.User, q.Content)
	}
	h := s.find(k)
	if h == nil || h.sender != c.User {
		var node string
		var err error
		if h, node, err = s.holderFor(ctx, c.User, k); err != nil {
			return s.endOf(ctx, k, c.User, err)
		}
		if h == nil {
			a := &chatv1.EndStreamedMessageResponse{}
			return a, s.ask(ctx, node, askEnd, c.User, q, a)
		}
	}
	return s.endHeld(ctx, h, c.User, q.Length)
}

// endHeld ends a message with the text that this node holds, if that has the length that its sender names.
func (s *Service) endHeld(ctx context.Context, h *held, u id.User, length uint32) (*chatv1.EndStreamedMessageResponse, error) {
	h.mu.Lock()
	text, same, gone := string(h.text), h.length == int(length), h.gone
	h.mu.Unlock()
	switch {
	case h.sender != u:
		return nil, s.notSender(ctx, u, h.key)
	case gone:
		return s.endOf(ctx, h.key, u, errEnded)
	case !same:
		return nil, errOffset
	}
	return s.endWhole(ctx, h.key, u, &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}})
}

// endWhole stores the end of a message with its whole text. Chat checks that the user is its sender, and may still write.
func (s *Service) endWhole(ctx context.Context, k key, u id.User, content *chatv1.Content) (*chatv1.EndStreamedMessageResponse, error) {
	seq, err := s.deps.Chat.EndStreamed(ctx, k.conversation, k.seq, u, content)
	if err == nil {
		return &chatv1.EndStreamedMessageResponse{EditSeq: seq}, nil
	}
	if h := s.find(k); h != nil && h.sender == u && isRefused(err) {
		s.setChanged(h) // the next push finds out that the sender may not write, and breaks the message off
	}
	a, found := s.endOf(ctx, k, u, err)
	if found == nil && a.BrokenOff == nil { // the sender has ended it with another text
		return nil, err
	}
	return a, found
}

// endOf returns how a message has ended, or why it could not be ended.
func (s *Service) endOf(ctx context.Context, k key, sender id.User, why error) (*chatv1.EndStreamedMessageResponse, error) {
	if reason := errs.Of(why).Reason; reason != "id_reuse" && reason != errEnded.Reason {
		return nil, why
	}
	content, seq, err := s.deps.Chat.StreamedEnd(ctx, k.conversation, k.seq, sender)
	switch {
	case err != nil:
		return nil, err
	case seq == 0:
		return nil, why
	}
	return &chatv1.EndStreamedMessageResponse{EditSeq: seq, BrokenOff: content.GetBrokenOff()}, nil
}

// isRefused reports whether an error says that a user may not write, or does not see the conversation.
func isRefused(err error) bool {
	kind := errs.Of(err).Kind
	return kind == errs.Denied || kind == errs.NotFound
}

// Stop breaks a message off for a reader who may do so, or for its sender.
func (s *Service) Stop(ctx context.Context, c id.Caller, q *chatv1.StopStreamedMessageRequest) (*chatv1.EndStreamedMessageResponse, error) {
	return s.breakOffAsked(ctx, c.User, askStop, key{id.Conversation(q.Conversation), q.Seq}, q)
}

// breakOffAsked breaks a message off for a user who has asked for it: at its holder, or here if there is none.
func (s *Service) breakOffAsked(ctx context.Context, u id.User, ask byte, k key, q proto.Message) (*chatv1.EndStreamedMessageResponse, error) {
	m, err := s.deps.Chat.Streamed(ctx, u, k.conversation, k.seq)
	switch {
	case err != nil:
		return nil, err
	case ask == askEnd && m.Sender != u:
		return nil, errSender
	case m.MayStop != nil:
		return nil, m.MayStop
	case m.Ended:
		return s.endOf(ctx, k, m.Sender, errEnded)
	}
	why := &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_STOPPED, By: uint64(u)}
	if ask == askEnd {
		why = &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_FAILED}
	}
	if h := s.find(k); h != nil {
		return s.breakOffHeld(ctx, h, why)
	}
	r, err := s.read(ctx, k)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return s.endOf(ctx, k, m.Sender, errEnded)
	case !s.isGone(r.node):
		a := &chatv1.EndStreamedMessageResponse{}
		return a, s.ask(ctx, r.node, ask, u, q, a)
	}
	return s.breakOff(ctx, k, m.Sender, r.text, why)
}

// breakOffHeld breaks off a message that this node holds. It keeps the text that its sender wrote while being allowed to.
func (s *Service) breakOffHeld(ctx context.Context, h *held, why *chatv1.BrokenOff) (*chatv1.EndStreamedMessageResponse, error) {
	h.mu.Lock()
	written := len(h.text)
	h.mu.Unlock()
	_, err := s.deps.Chat.StreamedReaders(ctx, h.conversation, h.seq, h.sender)
	if err != nil && !isRefused(err) {
		return nil, err
	}
	h.mu.Lock()
	if err == nil {
		h.allowed = max(h.allowed, written)
	}
	text := string(h.text[:h.allowed])
	h.mu.Unlock()
	return s.breakOff(ctx, h.key, h.sender, text, why)
}

// breakOff stores the end of a message whose text is not whole, and tells its sender.
func (s *Service) breakOff(ctx context.Context, k key, sender id.User, text string, why *chatv1.BrokenOff) (*chatv1.EndStreamedMessageResponse, error) {
	seq, err := s.deps.Chat.BreakOffStreamed(ctx, k.conversation, k.seq, sender, text, why)
	if err != nil {
		return s.endOf(ctx, k, sender, err)
	}
	if why.By != uint64(sender) && why.Cause != chatv1.BrokenOff_CAUSE_FAILED {
		s.push(message.StreamedReaders{Users: []id.User{sender}}, k, &chatv1.StreamedText{Conversation: uint64(k.conversation), Seq: k.seq, Ended: true})
	}
	return &chatv1.EndStreamedMessageResponse{EditSeq: seq, BrokenOff: why}, nil
}

// push sends a frame to users, or to the followers of a large conversation.
func (s *Service) push(to message.StreamedReaders, k key, text *chatv1.StreamedText) {
	frame, err := proto.Marshal(&gatewayv1.ServerFrame{Streamed: []*chatv1.StreamedText{text}})
	switch {
	case err != nil: // no part has a text that is not UTF-8
		s.deps.Logger.Error("a part of a streamed message cannot be encoded", "conversation", k.conversation, "seq", k.seq, "error", err)
	case to.Large && s.deps.SendLarge != nil:
		s.deps.SendLarge(k.conversation, frame)
	case len(to.Users) > 0 && s.deps.Send != nil:
		s.deps.Send(to.Users, frame)
	}
}

// Get returns the text so far of a message that a user may read.
func (s *Service) Get(ctx context.Context, c id.Caller, q *chatv1.GetStreamedMessageRequest) (*chatv1.StreamedText, error) {
	k := key{id.Conversation(q.Conversation), q.Seq}
	m, err := s.deps.Chat.Streamed(ctx, c.User, k.conversation, k.seq)
	if err != nil {
		return nil, err
	}
	if m.Ended {
		return &chatv1.StreamedText{Conversation: q.Conversation, Seq: q.Seq, Ended: true}, nil
	}
	a, err := s.getFrom(ctx, c.User, k, q)
	if err == nil && m.HideParts {
		a.Text, a.Note = "", ""
	}
	return a, err
}

// getFrom returns the text so far of its holder, or of the row if there is none.
func (s *Service) getFrom(ctx context.Context, u id.User, k key, q *chatv1.GetStreamedMessageRequest) (*chatv1.StreamedText, error) {
	if h := s.find(k); h != nil {
		return s.textOf(h), nil
	}
	r, err := s.read(ctx, k)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return &chatv1.StreamedText{Conversation: q.Conversation, Seq: q.Seq, Ended: true}, nil
	case !s.isGone(r.node):
		a := &chatv1.StreamedText{}
		return a, s.ask(ctx, r.node, askGet, u, q, a)
	}
	return &chatv1.StreamedText{Conversation: q.Conversation, Seq: q.Seq, Text: r.text}, nil
}

// textOf returns what readers may see of a message that this node holds.
func (s *Service) textOf(h *held) *chatv1.StreamedText {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.soFar()
	t.Ended = h.gone
	return t
}
