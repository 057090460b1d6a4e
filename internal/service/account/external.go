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

// UsersByExternalID returns the users that have some of the app's own ids, with one query for each.
func (s *Service) UsersByExternalID(ctx context.Context, ids []string) (map[string]id.User, error) {
	users := make(map[string]id.User, len(ids))
	for _, external := range ids {
		var u id.User
		err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM users WHERE external_id = $1`, external).Scan(&u)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		users[external] = u
	}
	return users, nil
}
