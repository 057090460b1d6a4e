package account

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/id"
)

// ExternalIDs returns the ids of users in the app, "" for users without one.
func (s *Service) ExternalIDs(ctx context.Context, users []id.User) ([]string, error) {
	list := make([]string, len(users))
	for i, u := range users {
		var external sql.NullString
		err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT external_id FROM users WHERE id = $1`, int64(u)).Scan(&external)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		list[i] = external.String
	}
	return list, nil
}
