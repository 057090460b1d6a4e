package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A streamed message is written in parts while others read it (docs/decisions/0118-streamed-messages.md). Its log has two entries: a message
// without a text, and later its end, an edit that has the whole text or is marked as broken off. The end has a token of its own, which
// follows from the message. So the log stores one end, whoever appends it first: the sender, a reader who stops it, or a node that finds
// that nobody goes on. The parts are none of this package's business, but of package streamedmessage.

var (
	errBeingWritten = errs.New(errs.Conflict, "being_written", "this message is still being written: wait for its end, or stop it")
	errNotStreamed  = errs.New(errs.NotFound, "not_streamed", "this message is not one that is written in parts")
	errMayNotStop   = errs.New(errs.Denied, "not_allowed", "you may not stop this message; an admin of the group may recall it")
)

// StartStreamed stores a message whose text its sender writes in parts.
func (s *Service) StartStreamed(ctx context.Context, c id.Caller, q *chatv1.StartStreamedMessageRequest) (*message.Draft, error) {
	d := &message.Draft{Conversation: id.Conversation(q.Conversation), Sender: c.User, Device: c.Device, ClientMsgID: q.ClientMsgId, Streamed: true}
	if d.ClientMsgID == "" || len(d.ClientMsgID) > maxClientID {
		return nil, errs.New(errs.Invalid, "no_client_id", "give clientMsgId (1 to 64 bytes), so that a retry is harmless")
	}
	if _, ok := chatv1.WhoMayStop_name[int32(q.WhoMayStop)]; !ok {
		return nil, badContent("who may stop a message is one of the values of WhoMayStop")
	}
	if q.ReplyTo != nil {
		if err := validateRef(d, q.ReplyTo); err != nil {
			return nil, err
		}
	}
	content := &chatv1.Content{Kind: &chatv1.Content_Streamed{Streamed: &chatv1.Streamed{WhoMayStop: q.WhoMayStop}}, ReplyTo: q.ReplyTo}
	var err error
	if d.Content, err = (proto.MarshalOptions{Deterministic: true}).Marshal(content); err != nil {
		return nil, err
	}
	return d, send(ctx, d, s.submitAsked)
}

// endDraft returns the draft of a streamed message's end, without its content. Its id is longer than a client's own may be, so that it is
// none of them.
func endDraft(c id.Conversation, seq uint64, sender id.User) *message.Draft {
	return &message.Draft{Conversation: c, Sender: sender, ClientMsgID: fmt.Sprintf("end of streamed message %0*d", 2*maxClientID, seq)}
}

// EndStreamed stores the whole text of a streamed message for its sender. If the message has ended with another content, it fails with
// id_reuse.
func (s *Service) EndStreamed(ctx context.Context, c id.Conversation, seq uint64, sender id.User, content *chatv1.Content) (editSeq uint64, err error) {
	if _, isText := content.GetKind().(*chatv1.Content_Text); !isText {
		return 0, errs.New(errs.Invalid, "bad_content", "a streamed message ends with a text")
	}
	d := endDraft(c, seq, sender)
	end := &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: content}
	clientID := d.ClientMsgID
	d.ClientMsgID = "end" // of a client's length while the content is checked as that of an edit
	if d.Content, err = proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Edit{Edit: end}}); err != nil {
		return 0, err
	}
	if err := s.validate(d); err != nil {
		return 0, err
	}
	if err := s.checkWords(d); err != nil {
		return 0, err
	}
	end, hold, err := s.askAboutEnd(d, end)
	switch {
	case err != nil:
		return 0, err
	case hold != "":
		if ended, err := s.holdEnd(ctx, d, seq, hold); !ended {
			return 0, err
		}
	}
	d.ClientMsgID = clientID
	return s.appendEnd(ctx, d, end)
}

// askAboutEnd asks the webhook before_send about the end of a streamed message. It returns the end, perhaps with another text, and why a moderator is to decide, "" if none is.
func (s *Service) askAboutEnd(d *message.Draft, end *chatv1.Edit) (_ *chatv1.Edit, hold string, err error) {
	if s.beforeSend == nil {
		return end, "", nil
	}
	if !s.beforeSend.asking.start() {
		return nil, "", busy(nil)
	}
	defer s.beforeSend.asking.end()
	hold, err = s.askBeforeSend(d)
	if err != nil {
		return nil, "", err
	}
	d.Asked = false // an end with another content is no retry of this one
	var c chatv1.Content
	if err := proto.Unmarshal(d.Content, &c); err != nil {
		return nil, "", err
	}
	return c.GetEdit(), hold, nil
}

// holdEnd puts the whole text of a streamed message into the queue of moderators, as an edit of it, and ends the message without a text: if the text is allowed, the edit is sent. It returns
// why the text is not stored now, or that the message has ended before: the log knows how.
func (s *Service) holdEnd(ctx context.Context, d *message.Draft, seq uint64, why string) (ended bool, err error) {
	m, err := s.Streamed(ctx, d.Sender, d.Conversation, seq)
	switch {
	case err != nil:
		return false, err
	case m.Sender != d.Sender: // nothing is held in the name of others
		return false, errNotSender
	case m.Ended:
		return true, nil
	}
	held := s.holdForModerators(d, why)
	if errs.Of(held).Reason != "held_for_review" {
		return false, held
	}
	if _, err := s.BreakOffStreamed(ctx, d.Conversation, seq, d.Sender, "", &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_HELD}); err != nil {
		return false, err
	}
	return false, held
}

// permittedText returns the text of a broken-off message that may be stored: none, if it has a word that is refused, or the webhook before_send refuses it. One that a moderator is to decide
// about is held as an edit.
func (s *Service) permittedText(c id.Conversation, seq uint64, sender id.User, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if s.deps.Words != nil {
		if _, err := s.deps.Words.CheckText(text); err != nil {
			return "", nil
		}
	}
	if s.beforeSend == nil {
		return text, nil
	}
	end := &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}}
	content, err := proto.Marshal(&chatv1.Content{Kind: &chatv1.Content_Edit{Edit: end}})
	if err != nil {
		return "", err
	}
	d := &message.Draft{Conversation: c, Sender: sender, ClientMsgID: "end", Content: content}
	end, hold, err := s.askAboutEnd(d, end)
	if err == nil && hold != "" {
		err = s.holdForModerators(d, hold)
	}
	if errs.Is(err, errs.Denied) || errs.Is(err, errs.Exhausted) { // too many wait for moderators
		return "", nil
	}
	return end.GetContent().GetText(), err
}

// BreakOffStreamed ends a streamed message for the server: its text is not whole. It does so also if the sender may no longer write. If the
// message has ended with another content, it fails with id_reuse.
func (s *Service) BreakOffStreamed(ctx context.Context, c id.Conversation, seq uint64, sender id.User, text string, why *chatv1.BrokenOff) (editSeq uint64, err error) {
	if text, err = s.permittedText(c, seq, sender, text); err != nil {
		return 0, err
	}
	d := endDraft(c, seq, sender)
	d.Refers, d.ByServer = true, true
	content := &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}, BrokenOff: why}
	return s.appendEnd(ctx, d, &chatv1.Edit{Target: &chatv1.Ref{Seq: seq}, Content: content})
}

func (s *Service) appendEnd(ctx context.Context, d *message.Draft, end *chatv1.Edit) (editSeq uint64, err error) {
	end.Ends = true
	if d.Content, err = (proto.MarshalOptions{Deterministic: true}).Marshal(&chatv1.Content{Kind: &chatv1.Content_Edit{Edit: end}}); err != nil {
		return 0, err
	}
	err = send(ctx, d, s.submitValid)
	return d.Seq, err
}

// StreamedEnd returns the content with which a streamed message ended, and the seq of that entry; 0 if it has not ended.
func (s *Service) StreamedEnd(ctx context.Context, c id.Conversation, seq uint64, sender id.User) (*chatv1.Content, uint64, error) {
	found := make(chan *timeline.AppendRequest, 1)
	s.lookUp(endDraft(c, seq, sender), func(a *timeline.AppendRequest) { found <- a })
	var a *timeline.AppendRequest
	select {
	case a = <-found:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	if errors.Is(a.Err, timeline.ErrStale) {
		return nil, 0, nil
	}
	if a.Err != nil {
		return nil, 0, a.Err
	}
	if a.StoredPayload == nil { // it has left the log, as that of an old message
		return &chatv1.Content{}, a.Seq, nil
	}
	var e message.Entry
	var content chatv1.Content
	if err := errors.Join(e.Decode(a.StoredPayload), proto.Unmarshal(e.Content, &content)); err != nil {
		return nil, 0, errors.Join(errCorrupt, err)
	}
	return content.GetEdit().GetContent(), a.Seq, nil
}

// Streamed returns a streamed message that a user may read. It fails for other messages, and for recalled ones.
func (s *Service) Streamed(ctx context.Context, u id.User, c id.Conversation, seq uint64) (*message.Streamed, error) {
	t, err := s.readTarget(ctx, u, c, seq)
	if err != nil {
		return nil, err
	}
	var content chatv1.Content
	if err := proto.Unmarshal(t.entry.Content, &content); err != nil {
		return nil, errors.Join(errCorrupt, err)
	}
	if content.GetStreamed() == nil {
		return nil, errNotStreamed
	}
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return nil, err
	}
	m := &message.Streamed{Sender: t.entry.Sender, Ended: t.state.editSeq != 0, HideParts: s.hidesParts()}
	if u != m.Sender {
		m.MayStop = st.mayStop(u, content.GetStreamed().GetWhoMayStop())
	}
	return m, nil
}

// mayStop returns why a user may not stop a streamed message of another one.
func (s *state) mayStop(u id.User, who chatv1.WhoMayStop) error {
	rules := s.rules()
	switch {
	case !s.mayBeMentioned(u): // a former member, or a follower of a channel
		return errMayNotStop
	case who == chatv1.WhoMayStop_WHO_MAY_STOP_UNSPECIFIED:
		return nil
	case who == chatv1.WhoMayStop_WHO_MAY_STOP_ADMINS && (rules.kind == direct || rules.role(u) >= roleAdmin):
		return nil
	}
	return errMayNotStop
}

// StreamedReaders returns who is shown the parts of a streamed message. It fails if the sender may not write now.
func (s *Service) StreamedReaders(ctx context.Context, c id.Conversation, seq uint64, sender id.User) (r message.StreamedReaders, err error) {
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return r, err
	}
	if err := st.canSend(sender, s.deps.Clock.Now().UnixMilli()); err != nil {
		return r, err
	}
	if limited, err := s.isLimitedNow(ctx, st, sender); err != nil || limited {
		return r, err
	}
	r.HideParts = s.hidesParts()
	if st.large != 0 {
		r.Large, r.Count = true, len(st.activeMembers)
		if st.channel {
			info, err := s.channelInfo(ctx, st)
			r.Count += int(info.Followers)
			return r, err
		}
		return r, nil
	}
	hidden := func(u id.User) bool { return u == sender || st.kind != thread && st.members[u].joinSeq > seq }
	r.Users = slices.DeleteFunc(slices.Clone(st.readers(st.activeMembers)), hidden)
	r.Count = len(r.Users)
	return r, nil
}

// hidesParts reports whether readers see no part of a streamed message before the webhook before_send has decided about its whole text.
func (s *Service) hidesParts() bool { return s.beforeSend != nil && s.config.BeforeSendParts != "show" }

// beginStreamed notes a streamed message, unless it has ended or was recalled.
func (u *update) beginStreamed(ctx context.Context, tx *sql.Tx) error {
	if u.onStreamed == nil {
		return nil
	}
	var over bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM message_updates WHERE conversation = $1 AND seq = $2 AND (recall_seq <> 0 OR edit_seq <> 0))`,
		int64(u.conversation), int64(u.target)).Scan(&over)
	if err != nil || over {
		return err
	}
	_, err = u.onStreamed(ctx, tx, message.StreamedChange{Conversation: u.conversation, Seq: u.target, Sender: u.by, StoredMs: u.storedMs})
	return err
}

// endStreamed reports whether the target was being written until now.
func (u *update) endStreamed(ctx context.Context, tx *sql.Tx) (was bool, err error) {
	if u.onStreamed == nil {
		return false, nil
	}
	return u.onStreamed(ctx, tx, message.StreamedChange{Conversation: u.conversation, Seq: u.target, Ended: true})
}

// stopParts returns when no node sends parts any more of a message that was recalled while it was written, and those that were sent have
// reached the connections.
func (s *Service) stopParts(ctx context.Context, wasWritten bool) error {
	if !wasWritten {
		return nil
	}
	timer := time.NewTimer(s.minTextAge)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
