package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// maxFollowing bounds what a page of a home timeline reads.
const maxFollowing = 5000

var errFollowing = errs.New(errs.Exhausted, "too_many_followed", fmt.Sprintf("you follow %d users; unfollow somebody first", maxFollowing))

// countFollows counts a change of whether a follows b, in the transaction of the change.
func countFollows(ctx context.Context, tx *sql.Tx, a, b id.User, before, after *chatv1.Relation) error {
	if before.Following == after.Following {
		return nil
	}
	add := -1
	if after.Following {
		add = 1
	}
	var following int
	err := tx.QueryRowContext(ctx, `INSERT INTO follow_counts AS c (owner, following, changes) VALUES ($1, $2, 1)
		ON CONFLICT (owner) DO UPDATE SET following = c.following + $2, changes = c.changes + 1 RETURNING following`, int64(a), add).Scan(&following)
	if err != nil {
		return err
	}
	if after.Following && following > maxFollowing {
		return errFollowing
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO follow_counts AS c (owner, followers) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET followers = c.followers + $2`, int64(b), add)
	return err
}

// FollowCounts returns how many follow a user, and how many the user follows, as of a transaction.
func (s *Service) FollowCounts(ctx context.Context, tx *sql.Tx, u id.User) (followers, following uint64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT followers, following FROM follow_counts WHERE owner = $1`, int64(u)).Scan(&followers, &following)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return followers, following, err
}

// Followed returns whom a user follows, as of a transaction, and whether their posts are shown: neither muted nor blocked. changes rises whenever the
// user begins or ceases to follow somebody.
func (s *Service) Followed(ctx context.Context, tx *sql.Tx, u id.User) (shown map[id.User]bool, changes uint64, err error) {
	shown = map[id.User]bool{}
	rows, err := tx.QueryContext(ctx, `SELECT other, muted OR blocked FROM relations WHERE owner = $1 AND following`, int64(u))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var other id.User
		var silent bool
		err := rows.Scan(&other, &silent)
		shown[other] = !silent
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	err = tx.QueryRowContext(ctx, `SELECT changes FROM follow_counts WHERE owner = $1`, int64(u)).Scan(&changes)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return shown, changes, err
}

// FriendsAndBlocks returns which of some users are friends of a user, and with which there is a block by either of the two, as of a transaction.
func (s *Service) FriendsAndBlocks(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (friends, blocked map[id.User]bool, err error) {
	friends, blocked = map[id.User]bool{}, map[id.User]bool{}
	for batch := range slices.Chunk(among, idsPerQuery) {
		marks, args := sqldb.Placeholders(2, batch, func(u id.User) int64 { return int64(u) })
		args = append([]any{int64(u)}, args...)
		for _, query := range []string{`SELECT other, friend, blocked FROM relations WHERE owner = $1 AND (friend OR blocked) AND other IN (` + marks + `)`,
			`SELECT owner, FALSE, blocked FROM relations WHERE other = $1 AND blocked AND owner IN (` + marks + `)`} {
			rows, err := tx.QueryContext(ctx, query, args...)
			err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
				var other id.User
				var friend, block bool
				err := rows.Scan(&other, &friend, &block)
				friends[other], blocked[other] = friends[other] || friend, blocked[other] || block
				return err
			})
			if err != nil {
				return nil, nil, err
			}
		}
	}
	return friends, blocked, nil
}

// Followers returns at most limit followers of a user above one, in the order of their ids, and those of them to whom the user's posts are shown: they have
// neither muted nor blocked the user.
func (s *Service) Followers(ctx context.Context, u, after id.User, limit int) (list, shown []id.User, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT owner, muted OR blocked FROM relations WHERE other = $1 AND following AND owner > $2 ORDER BY owner LIMIT $3`, int64(u), int64(after), limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var follower id.User
		var silent bool
		err := rows.Scan(&follower, &silent)
		if list = append(list, follower); !silent {
			shown = append(shown, follower)
		}
		return err
	})
	return list, shown, err
}

// ShownFollowersAmong returns those of some users who follow a user and have neither muted nor blocked the user, as of a transaction.
func (s *Service) ShownFollowersAmong(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (shown []id.User, err error) {
	for batch := range slices.Chunk(among, idsPerQuery) {
		marks, args := sqldb.Placeholders(2, batch, func(u id.User) int64 { return int64(u) })
		rows, err := tx.QueryContext(ctx, `SELECT owner FROM relations WHERE other = $1 AND following AND NOT muted AND NOT blocked AND owner IN (`+marks+`)`, append([]any{int64(u)}, args...)...)
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var follower id.User
			err := rows.Scan(&follower)
			shown = append(shown, follower)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return shown, nil
}
