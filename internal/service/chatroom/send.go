package chatroom

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errRoomText  = errs.New(errs.Invalid, "bad_room_text", "a text in a room has 1 to 500 characters, at least one visible, without control and text-direction characters, and without more than six marks on one letter")
	errRoomKind  = errs.New(errs.Invalid, "bad_room_message", "a message in a room is a text, or a signal with a type in one line, at most 4 KiB of data, and no fallback")
	errRoomMuted = errs.New(errs.Denied, "muted", "you are muted in this room, or only moderators may write")
	errKicked    = errs.New(errs.Denied, "kicked", "a moderator took you out of this room; you may come back when the time is over")
)

// validateMessage checks what a user wants to send.
func validateMessage(q *chatv1.SendRoomMessageRequest) error {
	switch kind := q.Kind.(type) {
	case *chatv1.SendRoomMessageRequest_Text:
		if kind.Text == "" || !message.IsText(kind.Text, maxText, message.IsParagraph) {
			return errRoomText
		}
	case *chatv1.SendRoomMessageRequest_Signal:
		c := kind.Signal
		if c.GetType() == "" || len(c.Type) > maxTitle || !message.IsLine(c.Type) || len(c.Data) > maxSignal || c.Fallback != "" {
			return errRoomKind
		}
	default:
		return errRoomKind
	}
	return nil
}

// SendMessage sends a message to all who are in a room. The sender need not be.
func (s *Service) SendMessage(ctx context.Context, by id.User, q *chatv1.SendRoomMessageRequest) (*chatv1.SendRoomMessageResponse, error) {
	if err := validateMessage(q); err != nil {
		return nil, err
	}
	r := &chatv1.SendRoomMessageResponse{}
	return r, s.askCall(ctx, askSend, id.Room(q.Room), by, q, r)
}

// send accepts a message as the owner of its room.
func (h *hosted) send(ctx context.Context, s *Service, by id.User, q *chatv1.SendRoomMessageRequest) (*chatv1.SendRoomMessageResponse, error) {
	if err := validateMessage(q); err != nil {
		return nil, err
	}
	n, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone {
		return nil, errGone
	}
	now := s.nowMs()
	moderates := h.isModerator(by)
	if err := h.maySend(by, now); err != nil {
		return nil, err
	}
	if err := s.limitMessage(h.room(), by, moderates); err != nil {
		return nil, err
	}
	h.seq++
	m := &chatv1.RoomMessage{Id: n, Seq: h.seq, Sender: uint64(by), TimeMs: now, Moderator: moderates}
	switch kind := q.Kind.(type) {
	case *chatv1.SendRoomMessageRequest_Text:
		m.Kind = &chatv1.RoomMessage_Text{Text: kind.Text}
	case *chatv1.SendRoomMessageRequest_Signal:
		m.Kind = &chatv1.RoomMessage_Signal{Signal: kind.Signal}
	}
	h.recent.add(m)
	h.pending = append(h.pending, m)
	h.used = time.Now()
	if time.Since(h.flushed) >= flushInterval {
		h.flush(s)
	} else {
		s.host.setDirty(h)
	}
	return &chatv1.SendRoomMessageResponse{Id: n, Seq: h.seq}, nil
}

// maySend returns why a user may not write. The caller holds mu.
func (h *hosted) maySend(by id.User, nowMs int64) error {
	x := h.restrictions[by].at(nowMs)
	switch {
	case !h.grant.Held():
		return errMoving
	case h.Closed:
		return errClosed
	case h.isModerator(by):
		return nil
	case x.kickedMs > 0:
		return denied(errKicked, x.kickedMs-nowMs)
	case h.Muted:
		return errRoomMuted
	case x.mutedMs > 0:
		return denied(errRoomMuted, x.mutedMs-nowMs)
	}
	return nil
}

// denied is a refusal that ends after a time.
func denied(err *errs.Error, forMs int64) error {
	return &errs.Error{Kind: err.Kind, Reason: err.Reason, Message: err.Message, Retry: time.Duration(forMs) * time.Millisecond}
}

// limitMessage counts a message, or refuses it.
func (s *Service) limitMessage(room id.Room, by id.User, moderates bool) error {
	if wait := s.messages.Allow(roomUser{room, by}, 1); wait > 0 {
		return &errs.Error{Kind: errs.Exhausted, Reason: "too_fast", Message: "at most a message a second in a room; wait a moment", Retry: wait}
	}
	all := s.ordinary
	if moderates {
		all = s.moderated
	}
	if wait := all.Allow(room, 1); wait > 0 {
		return &errs.Error{Kind: errs.Exhausted, Reason: "room_busy", Message: "too many write in this room at the moment; the message was not sent", Retry: wait}
	}
	return nil
}

// ring is the last messages of a room.
type ring struct {
	list  []*chatv1.RoomMessage
	bytes int
}

func (r *ring) add(m *chatv1.RoomMessage) {
	r.list, r.bytes = append(r.list, m), r.bytes+proto.Size(m)
	drop := 0
	for len(r.list)-drop > maxRecent || r.bytes > maxRecentBytes {
		r.bytes -= proto.Size(r.list[drop])
		r.list[drop] = nil
		drop++
	}
	if r.list = r.list[drop:]; cap(r.list) > 4*maxRecent {
		r.list = append(make([]*chatv1.RoomMessage, 0, 2*maxRecent), r.list...)
	}
}
