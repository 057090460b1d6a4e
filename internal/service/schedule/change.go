package schedule

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// maxScheduled bounds the messages of a user in a conversation, with those that failed.
	maxScheduled = 100
	// maxAhead is how far in the future a message may be sent.
	maxAhead = 366 * 24 * time.Hour
)

var (
	errTime     = errs.New(errs.Invalid, "bad_send_time", "sendMs is later than now, and at most a year from now, in milliseconds since 1970")
	errTooMany  = errs.New(errs.Exhausted, "too_many_scheduled", "you have 100 scheduled messages in this conversation: send or cancel some first")
	errNotFound = errs.New(errs.NotFound, "no_scheduled", "you have no such scheduled message; it may have been sent")
	errSending  = errs.New(errs.Conflict, "already_sending", "this message is being sent: edit or recall it in the conversation")
)

const columns = `id, owner, conversation, device, client_msg_id, content, send_ms, claimed, failed`

func scan(scan func(...any) error) (*scheduled, error) {
	r := &scheduled{}
	return r, scan(&r.id, &r.owner, &r.conversation, &r.device, &r.clientMsgID, &r.content, &r.sendMs, &r.claimed, &r.failed)
}

// view returns a row as its owner sees it.
func (r *scheduled) view() (*chatv1.ScheduledMessage, error) {
	v := &chatv1.ScheduledMessage{Id: r.id, Conversation: uint64(r.conversation), ClientMsgId: r.clientMsgID, Content: &chatv1.Content{}, SendMs: r.sendMs, Failed: r.failed}
	return v, proto.Unmarshal(r.content, v.Content)
}

// ScheduleMessage stores a message that is sent later.
func (s *Service) ScheduleMessage(ctx context.Context, c id.Caller, q *chatv1.ScheduleMessageRequest) (*chatv1.ScheduledMessage, error) {
	r := &scheduled{owner: c.User, conversation: id.Conversation(q.Conversation), device: c.Device, clientMsgID: q.ClientMsgId, sendMs: q.SendMs}
	if err := s.setContent(ctx, r, q.Content); err != nil {
		return nil, err
	}
	var err error
	if r.id, err = s.deps.IDs.Next(ctx); err != nil {
		return nil, err
	}
	stored := r
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		// The later one of two concurrent calls waits here, and then sees what the other has stored.
		n := 0
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM scheduled WHERE owner = $1 AND conversation = $2`, int64(r.owner), int64(r.conversation)).Scan(&n); err != nil {
			return err
		}
		before, err := scan(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM scheduled WHERE owner = $1 AND conversation = $2 AND device = $3 AND client_msg_id = $4`,
			int64(r.owner), int64(r.conversation), int64(r.device), r.clientMsgID).Scan)
		switch {
		case err == nil:
			stored = before
			return nil
		case !errors.Is(err, sql.ErrNoRows):
			return err
		case n >= maxScheduled:
			return errTooMany
		case !s.mayBeSentAt(r.sendMs):
			return errTime
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO scheduled (id, owner, conversation, device, client_msg_id, content, send_ms, due_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $7)`,
			int64(r.id), int64(r.owner), int64(r.conversation), int64(r.device), r.clientMsgID, r.content, r.sendMs)
		return err
	})
	if err != nil {
		return nil, err
	}
	return stored.view()
}

// setContent checks whether a row's owner may send a content, and sets it. The row has its time.
func (s *Service) setContent(ctx context.Context, r *scheduled, content *chatv1.Content) (err error) {
	switch content.GetKind().(type) {
	case *chatv1.Content_Text, *chatv1.Content_Image, *chatv1.Content_File, *chatv1.Content_Voice, *chatv1.Content_Video, *chatv1.Content_Album, *chatv1.Content_Location, *chatv1.Content_Card, *chatv1.Content_Custom:
	default: // what a forward or an update is about may change
		return errs.New(errs.Invalid, "bad_scheduled", "a scheduled message is a text, a file or an album, a location, a card or a custom message")
	}
	// A retry must have the same bytes.
	if r.content, err = (proto.MarshalOptions{Deterministic: true}).Marshal(content); err != nil {
		return errs.Wrap(errs.Invalid, "bad_content", "the content cannot be encoded", err)
	}
	d := r.draft()
	if err := s.deps.Chat.CheckScheduled(ctx, d); err != nil {
		return err
	}
	r.content = d.Content // in the form that is stored
	return s.keepUploads(ctx, d, r.sendMs)
}

// keepUploads keeps what a draft refers to until it is sent. A preview may lose its picture: the text matters more.
func (s *Service) keepUploads(ctx context.Context, d *message.Draft, sendMs int64) error {
	if s.deps.KeepUploads == nil || len(d.Uploads) == 0 || !s.mayBeSentAt(sendMs) {
		return nil
	}
	if err := s.deps.KeepUploads(ctx, d.Sender, d.Uploads, sendMs); err != nil && !d.LinkPreview {
		return err
	}
	return nil
}

func (s *Service) mayBeSentAt(ms int64) bool {
	now := s.nowMs()
	return ms > now && ms <= now+maxAhead.Milliseconds()
}

// UpdateScheduled changes what a request has, of a message that is not being sent. One that failed is tried again.
func (s *Service) UpdateScheduled(ctx context.Context, c id.Caller, q *chatv1.UpdateScheduledRequest) (*chatv1.ScheduledMessage, error) {
	r, err := scan(s.deps.DB.Read().QueryRowContext(ctx, `SELECT `+columns+` FROM scheduled WHERE id = $1 AND owner = $2`, int64(q.Id), int64(c.User)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNotFound
	}
	if err != nil {
		return nil, err
	}
	if q.SendMs != 0 {
		if r.sendMs = q.SendMs; !s.mayBeSentAt(r.sendMs) {
			return nil, errTime
		}
	}
	if q.Content != nil {
		err = s.setContent(ctx, r, q.Content)
	} else if d := r.draft(); s.deps.Chat.CheckDraft(d) == nil { // else the send says why it is not valid any more
		err = s.keepUploads(ctx, d, r.sendMs)
	}
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		// Another device may have changed the other half meanwhile.
		err := s.changeUnclaimed(ctx, tx, r.id, r.owner, `UPDATE scheduled SET content = CASE WHEN $3 THEN $4 ELSE content END,
			send_ms = CASE WHEN $5 THEN $6 ELSE send_ms END, due_ms = CASE WHEN $5 THEN $6 ELSE send_ms END, failed = ''
			WHERE id = $1 AND owner = $2 AND NOT claimed`, q.Content != nil, r.content, q.SendMs != 0, r.sendMs)
		if err != nil {
			return err
		}
		r, err = scan(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM scheduled WHERE id = $1`, int64(r.id)).Scan)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.view()
}

// CancelScheduled deletes a message that is not being sent.
func (s *Service) CancelScheduled(ctx context.Context, c id.Caller, scheduled uint64) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		return s.changeUnclaimed(ctx, tx, scheduled, c.User, `DELETE FROM scheduled WHERE id = $1 AND owner = $2 AND NOT claimed`)
	})
}

// changeUnclaimed runs a statement that changes a row unless it is claimed. It returns why no row was changed.
func (s *Service) changeUnclaimed(ctx context.Context, tx *sql.Tx, scheduled uint64, owner id.User, statement string, args ...any) error {
	done, err := tx.ExecContext(ctx, statement, append([]any{int64(scheduled), int64(owner)}, args...)...)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return err
	}
	exists := 0
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM scheduled WHERE id = $1 AND owner = $2`, int64(scheduled), int64(owner)).Scan(&exists); err != nil {
		return err
	}
	if exists > 0 {
		return errSending
	}
	return errNotFound
}
