package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// StartThread returns the thread under a message, which the caller follows then. The first call makes it: the row, then the entry that creates
// it, then an update of the root that tells the members of the parent. A later call completes what an interrupted one left.
func (s *Service) StartThread(ctx context.Context, u id.User, parent id.Conversation, seq uint64) (id.Conversation, error) {
	st, err := s.linearizableState(ctx, parent)
	if err != nil {
		return 0, err
	}
	if err := s.checkThreadParent(ctx, st, u, seq); err != nil {
		return 0, err
	}
	c, err := s.threadOf(ctx, parent, seq)
	if err != nil {
		return 0, err
	}
	root, err := s.target(ctx, st, u, seq)
	if err != nil && (c == 0 || !errs.Is(err, errs.NotFound)) { // a thread outlives its root
		return 0, err
	}
	if err == nil {
		if c = root.state.thread; c == 0 { // otherwise another user may have started it since the row was read
			if c, err = s.createThread(ctx, st, u, seq, root); err != nil {
				return 0, err
			}
		}
	}
	with, err := s.linearizableState(ctx, c)
	if err != nil {
		return 0, err
	}
	if err := s.followThread(ctx, with, u); !errors.Is(err, errThreadFull) {
		return c, err
	}
	return c, nil // the user reads and writes without following
}

// checkThreadParent returns why a user may not open a thread under a message. Whoever cannot read the conversation does not learn that it exists.
func (s *Service) checkThreadParent(ctx context.Context, st *state, u id.User, seq uint64) error {
	if st.channel || st.ticket != 0 {
		if _, _, err := s.readableRange(ctx, st, u); err != nil {
			return err
		}
		return errNoThreads
	}
	_, reads := st.replier(u)
	switch {
	case st.kind == thread && reads:
		return errThreadOfThread
	case st.role(u) == 0 || st.kind == thread:
		return errNoConversation
	case !st.mayReadRoot(u, seq):
		return errNoTarget
	}
	return nil
}

func (s *Service) createThread(ctx context.Context, parent *state, u id.User, seq uint64, root *target) (c id.Conversation, err error) {
	if err := parent.canSend(u, s.deps.Clock.Now().UnixMilli()); err != nil {
		return 0, err
	}
	if root.state.recallSeq != 0 {
		return 0, errRecalled
	}
	if c, err = s.insertThread(ctx, parent.id, seq); err != nil {
		return 0, err
	}
	users := []uint64{uint64(u)}
	if author := root.entry.Sender; author != u && parent.mayReadRoot(author, seq) {
		users = append(users, uint64(author))
	}
	if err := s.appendCreated(ctx, c, &chatv1.Control{Action: chatv1.Control_ACTION_CREATED, Actor: uint64(u), Users: users}); err != nil {
		return 0, err
	}
	return c, s.announceThread(ctx, parent.id, u, seq, c)
}

// insertThread returns the thread of the row for a message, which it inserts first where it is missing.
func (s *Service) insertThread(ctx context.Context, parent id.Conversation, seq uint64) (c id.Conversation, err error) {
	n, err := s.nextIDIn(ctx, logKey(parent).Partition())
	if err != nil {
		return 0, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		// The update makes a change of the parent's retention wait: it sets that of the rows of threads as well.
		if _, err := tx.ExecContext(ctx, `UPDATE conversations SET retention = retention WHERE id = $1`, int64(parent)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO conversations (id, kind, parent, root, retention) VALUES ($1, $2, $3, $4, (SELECT retention FROM conversations WHERE id = $3)) ON CONFLICT DO NOTHING`,
			int64(n), int64(thread), int64(parent), int64(seq)); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT id FROM conversations WHERE parent = $1 AND root = $2 AND parent <> 0`, int64(parent), int64(seq)).Scan(&c)
	})
	return c, err
}

// announceThread stores the update by which the members of the parent learn of a thread.
func (s *Service) announceThread(ctx context.Context, parent id.Conversation, u id.User, seq uint64, c id.Conversation) error {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(&chatv1.Content{Kind: &chatv1.Content_Thread{Thread: &chatv1.ThreadStart{Target: &chatv1.Ref{Seq: seq}, Conversation: uint64(c)}}})
	if err != nil {
		return err
	}
	// Longer than a client's own ids may be, so that it is none of them.
	key := fmt.Sprintf("%0*d", 2*maxClientID, seq)
	return send(ctx, &message.Draft{Conversation: parent, Sender: u, ClientMsgID: key, Content: content, Refers: true}, s.submitValid)
}

// applyThread sets the thread of the target.
func (u *update) applyThread(ctx context.Context, tx *sql.Tx, c uint64) error {
	return u.set(ctx, tx, `UPDATE message_updates SET thread = $4 WHERE conversation = $1 AND seq = $2 AND $3 > seq`, int64(c))
}
