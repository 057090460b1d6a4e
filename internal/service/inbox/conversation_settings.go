package inbox

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// view is a user's row of a conversation.
type view struct {
	state        *chatv1.ConversationState
	delivered    uint64
	draftOmitted bool // the draft is long, and was not read
}

// getView reads a row, or returns the defaults.
func getView(ctx context.Context, q sqldb.Querier, u id.User, c id.Conversation) (view, error) {
	v := view{state: &chatv1.ConversationState{Conversation: uint64(c)}}
	err := q.QueryRowContext(ctx, `SELECT pinned, muted, archived, draft, read_seq, read_counted, delivered_seq, marked_unread FROM views WHERE owner = $1 AND conversation = $2`, int64(u), int64(c)).
		Scan(&v.state.Pinned, &v.state.Muted, &v.state.Archived, &v.state.Draft, &v.state.ReadSeq, &v.state.ReadCounted, &v.delivered, &v.state.MarkedUnread)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return v, err
}

// effectiveView is a view as its user sees it, in answers, lists and events alike. Expired messages, own messages, and messages before the
// join at from count as read.
func (s *Service) effectiveView(ctx context.Context, q sqldb.Querier, u id.User, c id.Conversation, from uint64) (view, error) {
	v, err := getView(ctx, q, u, c)
	if err != nil {
		return v, err
	}
	if err := s.applyOwnSends(ctx, v, u, c); err != nil || v.state.ReadSeq >= from {
		return v, err
	}
	for {
		entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: conversationKey(c), From: from, To: from}})
		if err != nil {
			return v, err
		}
		if len(entries) > 0 {
			v.raiseReadCursor(readBaseline(&entries[0]))
			return v, nil
		}
		tail, err := s.deps.Log.Tail(ctx, conversationKey(c))
		switch {
		case err != nil:
			return v, err
		case from > tail.Seq: // all messages have expired
			v.raiseReadCursor(from-1, tail.Counted)
			return v, nil
		case from >= tail.FirstSeq:
			return v, errCorrupt
		}
		from = tail.FirstSeq // it expired a moment ago
	}
}

const maxDraft = 100_000

// Configure sets the pin, mute, archive, draft and unread mark of a conversation. Absent fields are not changed.
func (s *Service) Configure(ctx context.Context, u id.User, r *chatv1.ConfigureRequest) (*chatv1.ConversationState, error) {
	c := id.Conversation(r.Conversation)
	from, _, err := s.deps.Conversations.ReadableRange(ctx, u, c)
	if err != nil {
		return nil, err
	}
	if d := r.GetDraft(); len(d) > 4*maxDraft || utf8.RuneCountInString(d) > maxDraft || strings.ContainsRune(d, 0) || !utf8.ValidString(d) {
		return nil, errs.New(errs.Invalid, "bad_draft", "a draft has at most 100,000 characters of valid UTF-8, without U+0000")
	}
	var now *chatv1.ConversationState
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		v, err := s.effectiveView(ctx, tx, u, c, from)
		if err != nil {
			return err
		}
		st := v.state
		now = st
		if r.GetPinned() && !st.Pinned {
			if err := checkPinLimit(ctx, tx, u); err != nil {
				return err
			}
		}
		if r.Pinned != nil {
			st.Pinned = *r.Pinned
		}
		if r.Muted != nil {
			st.Muted = *r.Muted
		}
		if r.Archived != nil {
			st.Archived = *r.Archived
		}
		if r.Draft != nil {
			st.Draft = *r.Draft
		}
		if r.MarkedUnread != nil {
			st.MarkedUnread = *r.MarkedUnread
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO views (owner, conversation, pinned, muted, archived, draft, marked_unread) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (owner, conversation) DO UPDATE SET pinned = $3, muted = $4, archived = $5, draft = $6, marked_unread = $7`,
			int64(u), int64(c), st.Pinned, st.Muted, st.Archived, st.Draft, st.MarkedUnread); err != nil {
			return err
		}
		return s.putEvent(ctx, tx, u, message.FieldConversation, st)
	})
	if err != nil {
		return nil, err
	}
	s.deps.Outbox.Wake()
	return now, nil
}

// checkPinLimit fails if a user has pinned the maximum of conversations.
func checkPinLimit(ctx context.Context, tx *sql.Tx, u id.User) error {
	var n int
	err := tx.QueryRowContext(ctx, `SELECT count(*) FROM views WHERE owner = $1 AND pinned`, int64(u)).Scan(&n)
	if err == nil && n >= maxPinned {
		err = errs.New(errs.Exhausted, "too_many_pinned", "at most 100 conversations are pinned; unpin one first")
	}
	return err
}
