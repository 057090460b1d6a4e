package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// maxFollowing bounds what a page of a home timeline reads.
const maxFollowing = 5000

var errFollowing = errs.New(errs.Exhausted, "too_many_followed", fmt.Sprintf("you follow %d users; unfollow somebody first", maxFollowing))

// countFollows counts a change of whether a follows b, and of whether a sees b's posts, in the transaction of the change.
func countFollows(ctx context.Context, tx *sql.Tx, a, b id.User, before, after *chatv1.Relation) error {
	if before.Following == after.Following && isShown(before) == isShown(after) {
		return nil
	}
	add, changes := 0, 0
	switch {
	case after.Following && !before.Following:
		add, changes = 1, 1
	case before.Following && !after.Following:
		add, changes = -1, 1
	}
	var following int
	err := tx.QueryRowContext(ctx, `INSERT INTO follow_counts AS c (owner, following, changes, version) VALUES ($1, $2, $3, 1)
		ON CONFLICT (owner) DO UPDATE SET following = c.following + $2, changes = c.changes + $3, version = c.version + 1 RETURNING following`, int64(a), add, changes).Scan(&following)
	if err != nil {
		return err
	}
	if add > 0 && following > maxFollowing {
		return errFollowing
	}
	if add == 0 {
		return nil
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO follow_counts AS c (owner, followers) VALUES ($1, $2) ON CONFLICT (owner) DO UPDATE SET followers = c.followers + $2`, int64(b), add)
	return err
}

// isShown reports whether posts of a relation's other user are in the owner's home timeline.
func isShown(r *chatv1.Relation) bool { return r.Following && !r.Muted && !r.Blocked }

// FollowCounts returns how many follow a user, and how many the user follows, as of a transaction.
func (s *Service) FollowCounts(ctx context.Context, tx *sql.Tx, u id.User) (followers, following uint64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT followers, following FROM follow_counts WHERE owner = $1`, int64(u)).Scan(&followers, &following)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return followers, following, err
}

// followed is whom a user follows.
type followed struct {
	version uint64           // rises with each change of what follows
	all     []id.User        // in the order of ids
	shown   map[id.User]bool // those who are neither muted nor blocked
}

const (
	followedBytes    = 16 << 20 // of the copies in memory
	followedEach     = 96       // bytes of a copy, and of each user in it: an id in a list and in a map
	followedLifetime = time.Minute
)

// newFollowed returns a cache of whom users follow. A copy is used only by a transaction that reads its version, which changes in the transactions that
// change the rows. Its lifetime is for a database that lost its last transactions when it failed over, and gives their versions to others.
func newFollowed() (*otter.Cache[id.User, *followed], error) {
	return otter.New(&otter.Options[id.User, *followed]{
		MaximumWeight:    followedBytes,
		Weigher:          func(_ id.User, f *followed) uint32 { return uint32(followedEach * (1 + len(f.all))) },
		ExpiryCalculator: otter.ExpiryWriting[id.User, *followed](followedLifetime),
	})
}

// Followed returns whom a user follows in the order of ids, and which of them are neither muted nor blocked, as of a transaction. Both are shared, and must
// not be changed. changes rises whenever the user begins or ceases to follow somebody.
func (s *Service) Followed(ctx context.Context, tx *sql.Tx, u id.User) (all []id.User, shown map[id.User]bool, changes uint64, err error) {
	f := &followed{shown: map[id.User]bool{}}
	err = tx.QueryRowContext(ctx, `SELECT changes, version FROM follow_counts WHERE owner = $1`, int64(u)).Scan(&changes, &f.version)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, f.shown, 0, nil
	}
	if err != nil {
		return nil, nil, 0, err
	}
	if have, ok := s.followed.GetIfPresent(u); ok && have.version == f.version {
		s.deps.FollowReads.Count(1, 0)
		return have.all, have.shown, changes, nil
	}
	s.deps.FollowReads.Count(0, 1)
	rows, err := tx.QueryContext(ctx, `SELECT other, muted OR blocked FROM relations WHERE owner = $1 AND following ORDER BY other`, int64(u))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var other id.User
		var silent bool
		err := rows.Scan(&other, &silent)
		if f.all = append(f.all, other); !silent {
			f.shown[other] = true
		}
		return err
	})
	if err != nil {
		return nil, nil, 0, err
	}
	s.followed.Set(u, f)
	return f.all, f.shown, changes, nil
}

// FriendsAndBlocks returns which of some users are friends of a user, and with which there is a block by either of the two, as of a transaction.
func (s *Service) FriendsAndBlocks(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (friends, blocked map[id.User]bool, err error) {
	if len(among) <= relationsPerGet && s.cached.relations.Covers(tx) {
		return s.cachedFriendsAndBlocks(ctx, tx, u, among)
	}
	friends, blocked = map[id.User]bool{}, map[id.User]bool{}
	for batch := range slices.Chunk(among, idsPerQuery) {
		marks, args := sqldb.Placeholders(2, batch, func(u id.User) int64 { return int64(u) })
		args = append([]any{int64(u)}, args...)
		rows, err := tx.QueryContext(ctx, `SELECT other, friend, blocked FROM relations WHERE owner = $1 AND (friend OR blocked) AND other IN (`+marks+`)
			UNION ALL SELECT owner, FALSE, blocked FROM relations WHERE other = $1 AND blocked AND owner IN (`+marks+`)`, args...)
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
	return friends, blocked, nil
}

// Followers returns at most limit followers of a user above one, in the order of their ids, and those of them to whom the user's posts are shown, as of a
// transaction: they have neither muted nor blocked the user. The user has blocked none of them, because a block ends the follow.
func (s *Service) Followers(ctx context.Context, tx *sql.Tx, u, after id.User, limit int) (list, shown []id.User, err error) {
	// One row with all of them: to return a row costs SQLite and its driver more than to read one. Those who have muted or blocked the user are negative.
	var text sql.NullString
	err = tx.QueryRowContext(ctx, `SELECT string_agg(CAST(CASE WHEN muted OR blocked THEN -owner ELSE owner END AS TEXT), ',')
		FROM (SELECT owner, muted, blocked FROM relations WHERE other = $1 AND following AND owner > $2 ORDER BY owner LIMIT $3) AS followers`, int64(u), int64(after), limit).Scan(&text)
	if err != nil || text.String == "" {
		return nil, nil, err
	}
	for one := range strings.SplitSeq(text.String, ",") {
		n, err := strconv.ParseInt(one, 10, 64)
		if err != nil {
			return nil, nil, err
		}
		if list = append(list, id.User(max(n, -n))); n > 0 {
			shown = append(shown, id.User(n))
		}
	}
	slices.Sort(list) // the databases do not promise an order
	slices.Sort(shown)
	return list, shown, nil
}

// ShownFollowersAmong returns those of some users who follow a user and have neither muted nor blocked the user, as of a transaction.
func (s *Service) ShownFollowersAmong(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (shown []id.User, err error) {
	for batch := range slices.Chunk(among, idsPerQuery) {
		marks, args := sqldb.Placeholders(2, batch, func(u id.User) int64 { return int64(u) })
		rows, err := tx.QueryContext(ctx, `SELECT owner FROM relations WHERE other = $1 AND following AND NOT muted AND NOT blocked AND owner IN (`+marks+`)`, append([]any{int64(u)}, args...)...)
		followers, err := sqldb.Column[id.User](rows, err)
		if err != nil {
			return nil, err
		}
		shown = append(shown, followers...)
	}
	return shown, nil
}
