package inbox

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"unicode/utf8"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// view is a user's row of a conversation.
type view struct {
	state     *chatv1.ConversationState
	delivered uint64
	left      bool // its draft is long, and was left where it is
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// getView reads a row; one that is not there is that of somebody who did nothing yet.
func getView(ctx context.Context, q querier, u id.User, c id.Conversation) (view, error) {
	v := view{state: &chatv1.ConversationState{Conversation: uint64(c)}}
	err := q.QueryRowContext(ctx, `SELECT pinned, muted, archived, draft, read_seq, read_counted, delivered_seq FROM views WHERE owner = $1 AND conversation = $2`, int64(u), int64(c)).
		Scan(&v.state.Pinned, &v.state.Muted, &v.state.Archived, &v.state.Draft, &v.state.ReadSeq, &v.state.ReadCounted, &v.delivered)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return v, err
}

// ahead moves a view's read cursor to the user's own last message.
func (s *Service) ahead(ctx context.Context, v view, u id.User, c id.Conversation) error {
	seq, counted, err := s.deps.Log.LastBy(ctx, logOf(c), uint64(u))
	if err != nil {
		return err
	}
	if seq > v.state.ReadSeq {
		v.state.ReadSeq, v.state.ReadCounted = seq, counted
	}
	return nil
}

// shown is a view as its user sees it, in answers, lists and events alike: joining at from is the first that one has read, what is
// before the first that is kept counts as read, and so does what one sent.
func (s *Service) shown(ctx context.Context, q querier, u id.User, c id.Conversation, from uint64) (view, error) {
	v, err := getView(ctx, q, u, c)
	if err != nil {
		return v, err
	}
	if err := s.ahead(ctx, v, u, c); err != nil || v.state.ReadSeq >= from {
		return v, err
	}
	for {
		entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logOf(c), From: from, To: from}})
		if err != nil {
			return v, err
		}
		if len(entries) > 0 {
			v.raise(start(&entries[0]))
			return v, nil
		}
		tail, err := s.deps.Log.Tail(ctx, logOf(c))
		switch {
		case err != nil:
			return v, err
		case from > tail.Seq: // all has expired
			v.raise(from-1, tail.Counted)
			return v, nil
		case from >= tail.Head:
			return v, errDamaged
		}
		from = tail.Head // has expired a moment ago
	}
}

// start gives what counts as read for one who may read from an entry on: the entry itself where it counts nothing, as the one by
// which one joined.
func start(e *timeline.Entry) (seq, counted uint64) {
	switch {
	case !message.IsControl(e.Payload):
		return e.Seq - 1, e.Counted - 1
	case isAccess(e.Payload): // is not told
		return e.Seq - 1, e.Counted
	}
	return e.Seq, e.Counted
}

// raise moves the read cursor to at least seq.
func (v view) raise(seq, counted uint64) {
	if v.state.ReadSeq < seq {
		v.state.ReadSeq, v.state.ReadCounted = seq, counted
	}
}

const maxDraft = 100_000

// Configure sets pin, mute, archive and draft of a conversation; absent fields stay.
func (s *Service) Configure(ctx context.Context, u id.User, r *chatv1.ConfigureRequest) (*chatv1.ConversationState, error) {
	c := id.Conversation(r.Conversation)
	from, _, err := s.deps.Conversations.May(ctx, u, c)
	if err != nil {
		return nil, err
	}
	if d := r.GetDraft(); len(d) > 4*maxDraft || utf8.RuneCountInString(d) > maxDraft || strings.ContainsRune(d, 0) || !utf8.ValidString(d) {
		return nil, errs.New(errs.Invalid, "bad_draft", "a draft has at most 100,000 characters of valid UTF-8, without U+0000")
	}
	var now *chatv1.ConversationState
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		v, err := s.shown(ctx, tx, u, c, from)
		if err != nil {
			return err
		}
		st := v.state
		now = st
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
		if _, err := tx.ExecContext(ctx, `INSERT INTO views (owner, conversation, pinned, muted, archived, draft) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (owner, conversation) DO UPDATE SET pinned = $3, muted = $4, archived = $5, draft = $6`,
			int64(u), int64(c), st.Pinned, st.Muted, st.Archived, st.Draft); err != nil {
			return err
		}
		return s.put(ctx, tx, u, message.FieldConversation, st)
	})
	if err != nil {
		return nil, err
	}
	s.deps.Outbox.Wake()
	return now, nil
}
