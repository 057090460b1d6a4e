package streamedmessage

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// A row is there while a message is written. Node is the holder, "" for none. It is renewed until due_ms, and text is that of the last renewal.
var migrations = []string{
	`CREATE TABLE streamed_messages (conversation BIGINT NOT NULL, seq BIGINT NOT NULL, sender BIGINT NOT NULL, node TEXT NOT NULL DEFAULT '',
		due_ms BIGINT NOT NULL, text TEXT NOT NULL DEFAULT '', PRIMARY KEY (conversation, seq))`,
	`CREATE INDEX streamed_messages_due ON streamed_messages (due_ms)`,
}

// row of a message that is written.
type row struct {
	key
	sender id.User
	node   string
	dueMs  int64
	text   string
}

// OnStreamed notes that a streamed message begins, or has ended, in the transaction in which chat makes that visible. From then on this node
// adds nothing to one that has ended. If the transaction fails, the sender's next part makes the message held again.
func (s *Service) OnStreamed(ctx context.Context, tx *sql.Tx, change message.StreamedChange) (was bool, err error) {
	k := key{change.Conversation, change.Seq}
	if !change.Ended {
		_, err := tx.ExecContext(ctx, `INSERT INTO streamed_messages (conversation, seq, sender, due_ms) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			int64(k.conversation), int64(k.seq), int64(change.Sender), change.StoredMs+lease.Milliseconds())
		return false, err
	}
	done, err := tx.ExecContext(ctx, `DELETE FROM streamed_messages WHERE conversation = $1 AND seq = $2`, int64(k.conversation), int64(k.seq))
	if err != nil {
		return false, err
	}
	if h := s.find(k); h != nil {
		s.drop(h)
	}
	n, err := done.RowsAffected()
	return n > 0, err
}

// read returns the row of a message, nil if it is not being written.
func (s *Service) read(ctx context.Context, k key) (*row, error) {
	r := &row{key: k}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT sender, node, due_ms, text FROM streamed_messages WHERE conversation = $1 AND seq = $2`,
		int64(k.conversation), int64(k.seq)).Scan(&r.sender, &r.node, &r.dueMs, &r.text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return r, err
}

// claim makes this node the holder of a row, unless another has become it since the row was read.
func (s *Service) claim(ctx context.Context, r *row) (claimed bool, err error) {
	return claimed, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE streamed_messages SET node = $3, due_ms = $4 WHERE conversation = $1 AND seq = $2 AND node = $5`,
			int64(r.conversation), int64(r.seq), s.deps.Node, s.now().Add(lease).UnixMilli(), r.node)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		claimed = n > 0
		return err
	})
}

// renewal is what the holder writes into a row.
type renewal struct {
	*held
	text    string
	changed bool // since the last renewal
}

// renewRows renews rows of this node, and gives them to node next. It returns those of messages that this node does not hold any more.
func (s *Service) renewRows(ctx context.Context, list []renewal, next string) (lost []*held, err error) {
	due := s.now().Add(lease).UnixMilli()
	return lost, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		lost = nil
		for _, r := range list {
			done, err := tx.ExecContext(ctx, `UPDATE streamed_messages SET due_ms = $4, node = $5, text = CASE WHEN $6 THEN $7 ELSE text END WHERE conversation = $1 AND seq = $2 AND node = $3`,
				int64(r.conversation), int64(r.seq), s.deps.Node, due, next, r.changed, r.text)
			if err != nil {
				return err
			}
			if n, err := done.RowsAffected(); err != nil {
				return err
			} else if n == 0 {
				lost = append(lost, r.held)
			}
		}
		return nil
	})
}

// dueRows returns rows whose time has passed, the longest ago first.
func (s *Service) dueRows(ctx context.Context) (list []*row, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT conversation, seq, sender, node, due_ms, text FROM streamed_messages WHERE due_ms < $1 ORDER BY due_ms LIMIT $2`, s.now().UnixMilli(), perSweep)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r := &row{}
		if err := rows.Scan(&r.conversation, &r.seq, &r.sender, &r.node, &r.dueMs, &r.text); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// postpone makes a row due later, unless its holder has renewed it.
func (s *Service) postpone(ctx context.Context, r *row) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE streamed_messages SET due_ms = $4 WHERE conversation = $1 AND seq = $2 AND due_ms = $3`,
			int64(r.conversation), int64(r.seq), r.dueMs, s.now().Add(renewInterval).UnixMilli())
		return err
	})
}

// forget deletes the row of a message that has ended, or is gone.
func (s *Service) forget(ctx context.Context, k key) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM streamed_messages WHERE conversation = $1 AND seq = $2`, int64(k.conversation), int64(k.seq))
		return err
	})
}

// heldRows returns which rows name this node.
func (s *Service) heldRows(ctx context.Context) (map[key]struct{}, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT conversation, seq FROM streamed_messages WHERE node = $1`, s.deps.Node)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[key]struct{}{}
	for rows.Next() {
		var k key
		if err := rows.Scan(&k.conversation, &k.seq); err != nil {
			return nil, err
		}
		found[k] = struct{}{}
	}
	return found, rows.Err()
}
