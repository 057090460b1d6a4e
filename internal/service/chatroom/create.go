package chatroom

import (
	"context"
	"database/sql"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var (
	errTitle = errs.New(errs.Invalid, "bad_title", "a room's title has 1 to 100 characters in one line, at least one visible character, no control, text-direction or invisible characters, and not more than six marks on one letter")
	errOwned = errs.New(errs.Exhausted, "too_many_rooms", "you have 100 open rooms: close some first")
)

func checkTitle(title string) (string, error) {
	title = strings.TrimSpace(title)
	if len(title) > 4*maxTitle || utf8.RuneCountInString(title) > maxTitle || !message.IsName(title) {
		return "", errTitle
	}
	return title, nil
}

// CreateRoom makes a room that a user owns.
func (s *Service) CreateRoom(ctx context.Context, by id.User, q *chatv1.CreateRoomRequest) (*chatv1.Room, error) {
	title, err := checkTitle(q.Title)
	if err != nil {
		return nil, err
	}
	n, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return nil, err
	}
	r := &chatv1.Room{Id: n, Owner: uint64(by), Title: title, CreatedMs: s.nowMs(), Revision: 1}
	return r, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		count := 0
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM rooms WHERE owner = $1 AND NOT closed`, int64(by)).Scan(&count); err != nil {
			return err
		}
		if count >= maxOwned {
			return errOwned
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO rooms (id, owner, title, created_ms) VALUES ($1, $2, $3, $4)`, int64(n), int64(by), title, r.CreatedMs)
		return err
	})
}

// GetRoom returns a room.
func (s *Service) GetRoom(ctx context.Context, room id.Room) (*chatv1.Room, error) {
	return readRoom(ctx, s.deps.DB.Read(), room)
}
