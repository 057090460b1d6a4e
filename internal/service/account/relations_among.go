package account

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// RelationChange is what Actor changed of the relation to Other.
type RelationChange struct {
	Actor, Other id.User
	Followed     bool // Actor follows Other
	Requested    bool // Actor wants to be a friend of Other
	Answered     bool // Actor answered the request of Other
}

// relationChanged calls OnRelation with what a changed of the relation to b, in the transaction of the change.
func (s *Service) relationChanged(ctx context.Context, tx *sql.Tx, a, b id.User, mineBefore, theirsBefore, mine, theirs *chatv1.Relation) error {
	c := RelationChange{Actor: a, Other: b, Followed: mine.Following && !mineBefore.Following, Requested: theirs.Asked && !theirsBefore.Asked, Answered: mineBefore.Asked && !mine.Asked}
	if s.deps.OnRelation == nil || !c.Followed && !c.Requested && !c.Answered {
		return nil
	}
	return s.deps.OnRelation(ctx, tx, c)
}

// MutedOrBlockedAmong returns those of some users whom a user has muted, and with whom there is a block by either of the two, as of a transaction.
func (s *Service) MutedOrBlockedAmong(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (map[id.User]bool, error) {
	found := map[id.User]bool{}
	for batch := range slices.Chunk(among, idsPerQuery) {
		marks, args := sqldb.Placeholders(2, batch, func(u id.User) int64 { return int64(u) })
		args = append([]any{int64(u)}, args...)
		mine, err := tx.QueryContext(ctx, `SELECT other FROM relations WHERE owner = $1 AND (muted OR blocked) AND other IN (`+marks+`)`, args...)
		if err := scanUsers(mine, err, found); err != nil {
			return nil, err
		}
		theirs, err := tx.QueryContext(ctx, `SELECT owner FROM relations WHERE other = $1 AND blocked AND owner IN (`+marks+`)`, args...)
		if err := scanUsers(theirs, err, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// FollowersAmong returns those of some users who follow a user, as of a transaction.
func (s *Service) FollowersAmong(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (map[id.User]bool, error) {
	found := map[id.User]bool{}
	for batch := range slices.Chunk(among, idsPerQuery) {
		marks, args := sqldb.Placeholders(2, batch, func(u id.User) int64 { return int64(u) })
		rows, err := tx.QueryContext(ctx, `SELECT owner FROM relations WHERE other = $1 AND following AND owner IN (`+marks+`)`, append([]any{int64(u)}, args...)...)
		if err := scanUsers(rows, err, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// RequestersAmong returns those of some users who want to be friends of a user, as of a transaction.
func (s *Service) RequestersAmong(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (map[id.User]bool, error) {
	found := map[id.User]bool{}
	for batch := range slices.Chunk(among, idsPerQuery) {
		marks, args := sqldb.Placeholders(2, batch, func(u id.User) int64 { return int64(u) })
		rows, err := tx.QueryContext(ctx, `SELECT other FROM relations WHERE owner = $1 AND asked AND other IN (`+marks+`)`, append([]any{int64(u)}, args...)...)
		if err := scanUsers(rows, err, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// scanUsers adds the users of rows to a set.
func scanUsers(rows *sql.Rows, err error, to map[id.User]bool) error {
	return sqldb.EachRow(rows, err, func(r *sql.Rows) error {
		var u id.User
		err := r.Scan(&u)
		to[u] = true
		return err
	})
}
