package account

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// UsersAfter returns the ids of at most limit users above one, ascending.
func (s *Service) UsersAfter(ctx context.Context, after uint64, limit int) ([]uint64, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id FROM users WHERE id > $1 ORDER BY id LIMIT $2`, int64(after), limit)
	return sqldb.Column[uint64](rows, err)
}

// UsersToIndex returns those of some users that exist, as the primary has them. The list is not empty, and has at most 200.
func (s *Service) UsersToIndex(ctx context.Context, list []uint64) ([]*accountv1.User, error) {
	marks, args := sqldb.Placeholders(1, list, func(u uint64) int64 { return int64(u) })
	return listUsers(ctx, s.deps.DB.Read(), `SELECT `+userColumns+` FROM users WHERE id IN (`+marks+`) AND erased_ms = 0`, args...)
}

// profileChanged calls OnProfile.
func (s *Service) profileChanged(ctx context.Context, tx *sql.Tx, u id.User) error {
	if s.deps.OnProfile == nil {
		return nil
	}
	return s.deps.OnProfile(ctx, tx, u)
}

// FriendIDs returns at most limit friends of a user, those with the highest ids first.
func (s *Service) FriendIDs(ctx context.Context, u id.User, limit int) (list []id.User, err error) {
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT other FROM relations WHERE owner = $1 AND friend ORDER BY other DESC LIMIT $2`, int64(u), limit)
	if err != nil {
		return nil, err
	}
	return scanIDs(rows, nil)
}

// BlockedIDs returns at most limit users whom a user has blocked, those with the highest ids first.
func (s *Service) BlockedIDs(ctx context.Context, u id.User, limit int) (list []id.User, err error) {
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT other FROM relations WHERE owner = $1 AND blocked ORDER BY other DESC LIMIT $2`, int64(u), limit)
	if err != nil {
		return nil, err
	}
	return scanIDs(rows, nil)
}
