package officialaccount

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errAction        = errs.New(errs.Invalid, "bad_action", "pause, resume, cancel, recall or edit a broadcast")
	errBroadcastOver = errs.New(errs.Conflict, "broadcast_over", "this broadcast is over; it can only be edited or recalled, and a recalled one cannot be changed")
	errEdit          = errs.New(errs.Invalid, "bad_edit", "a text is replaced by a text; of other broadcasts only those that were not sent yet are replaced: cancel and make another")
)

// ChangeBroadcast pauses, resumes, cancels, recalls or edits a broadcast. An action that is done already changes nothing.
func (s *Service) ChangeBroadcast(ctx context.Context, by id.User, r *chatv1.ChangeBroadcastRequest) (*chatv1.Broadcast, error) {
	b, err := operatedBroadcast(ctx, s.deps.DB.Read(), r.Broadcast, by)
	if err != nil {
		return nil, err
	}
	var content []byte
	if r.Action == chatv1.ChangeBroadcastRequest_ACTION_EDIT {
		stored, err := s.checkContent(b.account, r.Content)
		if err != nil {
			return nil, err
		}
		if stored.GetText() == "" {
			return nil, errEdit
		}
		if content, err = encode(stored); err != nil {
			return nil, err
		}
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		// First, so that two changes, and a step of sending, follow each other.
		if _, err := tx.ExecContext(ctx, `UPDATE official_broadcasts SET changed_by = $2 WHERE id = $1`, int64(b.id), int64(by)); err != nil {
			return err
		}
		if b, err = operatedBroadcast(ctx, tx, r.Broadcast, by); err != nil {
			return err
		}
		if err := b.change(r.Action, content); err != nil {
			return err
		}
		again, err := retryAll(ctx, tx, b)
		if err != nil {
			return err
		}
		b.failed -= again
		// Whatever changed, the next step looks at it.
		_, err = tx.ExecContext(ctx, `UPDATE official_broadcasts SET state = $2, content = $3, revision = $4, pending = TRUE, work_ms = $5, faults = 0, failed = $6 WHERE id = $1`,
			int64(b.id), b.state, b.content, b.revision, s.nowMs(), b.failed)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.viewBroadcast(ctx, b)
}

// change applies an action to a row.
func (b *broadcast) change(action chatv1.ChangeBroadcastRequest_Action, content []byte) error {
	over := b.state != running && b.state != paused
	switch action {
	case chatv1.ChangeBroadcastRequest_ACTION_PAUSE, chatv1.ChangeBroadcastRequest_ACTION_RESUME:
		if over {
			return errBroadcastOver
		}
		if b.state = running; action == chatv1.ChangeBroadcastRequest_ACTION_PAUSE {
			b.state = paused
		}
	case chatv1.ChangeBroadcastRequest_ACTION_CANCEL:
		if over && b.state != cancelled {
			return errBroadcastOver
		}
		b.state = cancelled
	case chatv1.ChangeBroadcastRequest_ACTION_RECALL:
		if b.state != recalled {
			b.state = recalled
			b.revision++
		}
	case chatv1.ChangeBroadcastRequest_ACTION_EDIT:
		return b.edit(content)
	default:
		return errAction
	}
	return nil
}

func (b *broadcast) edit(content []byte) error {
	if b.state == recalled {
		return errBroadcastOver
	}
	before := &chatv1.Content{}
	if err := proto.Unmarshal(b.content, before); err != nil {
		return err
	}
	if before.GetText() == "" {
		return errEdit
	}
	if string(content) != string(b.content) {
		b.content = content
		b.revision++
	}
	return nil
}
