package chat

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// eraseReactions takes a user's reactions in a conversation back, and deletes in which messages the user was mentioned.
func (s *Service) eraseReactions(ctx context.Context, u id.User, c id.Conversation) error {
	for more := true; more; {
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
			more, err = takeReactionsBack(ctx, tx, u, c)
			return err
		})
		if err != nil {
			return err
		}
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM mentions WHERE conversation = $1 AND member = $2`, int64(c), int64(u))
		return err
	})
}

// takeReactionsBack takes some reactions of a user back. more: there may be others.
func takeReactionsBack(ctx context.Context, tx *sql.Tx, u id.User, c id.Conversation) (more bool, err error) {
	type reaction struct {
		seq    uint64
		emoji  string
		active bool
	}
	var list []reaction
	rows, err := tx.QueryContext(ctx, `SELECT seq, emoji, active FROM reactions WHERE conversation = $1 AND member = $2 ORDER BY seq LIMIT $3`, int64(c), int64(u), erasedReactions)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var r reaction
		err := rows.Scan(&r.seq, &r.emoji, &r.active)
		list = append(list, r)
		return err
	})
	if err != nil {
		return false, err
	}
	for _, r := range list {
		if _, err := tx.ExecContext(ctx, `DELETE FROM reactions WHERE conversation = $1 AND seq = $2 AND emoji = $3 AND member = $4`, int64(c), int64(r.seq), r.emoji, int64(u)); err != nil {
			return false, err
		}
		if !r.active {
			continue
		}
		var raw []byte
		if err := tx.QueryRowContext(ctx, `SELECT reactions FROM message_updates WHERE conversation = $1 AND seq = $2`, int64(c), int64(r.seq)).Scan(&raw); err != nil {
			if errors.Is(err, sql.ErrNoRows) { // the message has expired
				continue
			}
			return false, err
		}
		var sum chatv1.Reactions
		if err := proto.Unmarshal(raw, &sum); err != nil {
			return false, err
		}
		count(&sum, r.emoji, true)
		if raw, err = proto.Marshal(&sum); err != nil {
			return false, err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE message_updates SET reactions = $3 WHERE conversation = $1 AND seq = $2`, int64(c), int64(r.seq), raw); err != nil {
			return false, err
		}
	}
	return len(list) == erasedReactions, nil
}
