package account

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// snapshotCaches keep rows of an embedded database. They are shared, and must not be changed.
type snapshotCaches struct {
	users     *sqldb.SnapshotCache[id.User, *accountv1.User]
	relations *sqldb.SnapshotCache[pair, relations]
}

const (
	userCacheBytes        = 8 << 20 // bytes
	userOverheadBytes     = 200
	relationCacheBytes    = 8 << 20
	relationOverheadBytes = 120
	relationsPerGet       = idsPerQuery
)

// pair is two users; low is the smaller id.
type pair struct{ low, high id.User }

func pairOf(a, b id.User) pair { return pair{min(a, b), max(a, b)} }

// relations of a pair: that of low to high, and that of high to low; nil if empty.
type relations [2]*chatv1.Relation

// of returns the relation of a user of the pair.
func (p pair) of(r relations, u id.User) *chatv1.Relation {
	if u == p.low {
		return r[0]
	}
	return r[1]
}

func (s *Service) openSnapshotCaches(ctx context.Context) (err error) {
	if s.cached.users, err = sqldb.NewSnapshotCache(ctx, s.deps.DB, sqldb.SnapshotCacheConfig[id.User, *accountv1.User]{Name: "users", Tables: map[string][]string{"users": {"id"}},
		Key: func(u id.User) []int64 { return []int64{int64(u)} }, Size: func(u *accountv1.User) int {
			return userOverheadBytes + len(u.Handle) + len(u.DisplayName) + len(u.Bio)
		}, MaxBytes: userCacheBytes}); err != nil {
		return err
	}
	s.cached.relations, err = sqldb.NewSnapshotCache(ctx, s.deps.DB, sqldb.SnapshotCacheConfig[pair, relations]{Name: "relations", Tables: map[string][]string{"relations": {"owner", "other"}},
		Key: func(p pair) []int64 { return []int64{int64(p.low), int64(p.high)} }, MaxBytes: relationCacheBytes, Size: func(r relations) (size int) {
			for _, of := range r {
				if of != nil {
					size += relationOverheadBytes + len(of.Remark) + len(of.Message)
				}
			}
			return size
		}})
	return err
}

// relationsWith returns the relations of a user with others, at most relationsPerGet, as of a snapshot of an embedded database; empty ones may be left out.
func (s *Service) relationsWith(ctx context.Context, tx *sql.Tx, u id.User, others []id.User) (map[pair]relations, error) {
	pairs := make([]pair, len(others))
	for i, other := range others {
		pairs[i] = pairOf(u, other)
	}
	return s.cached.relations.Get(tx, pairs, func(missing []pair) (map[pair]relations, error) {
		marks, args := sqldb.Placeholders(2, missing, func(p pair) int64 {
			if p.low == u {
				return int64(p.high)
			}
			return int64(p.low)
		})
		found := map[pair]relations{}
		rows, err := tx.QueryContext(ctx, `SELECT owner, `+relationColumns+` FROM relations WHERE owner = $1 AND other IN (`+marks+`)
			UNION ALL SELECT owner, `+relationColumns+` FROM relations WHERE other = $1 AND owner IN (`+marks+`)`, append([]any{int64(u)}, args...)...)
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var owner id.User
			r, err := scanRelation(func(dest ...any) error { return rows.Scan(append([]any{&owner}, dest...)...) })
			if err != nil {
				return err
			}
			p := pairOf(owner, id.User(r.User))
			both := found[p]
			if owner == p.low {
				both[0] = r
			} else {
				both[1] = r
			}
			found[p] = both
			return nil
		})
		return found, err
	})
}

// RelationAsOf is Relation as of a snapshot.
func (s *Service) RelationAsOf(ctx context.Context, tx *sql.Tx, owner, other id.User) (*chatv1.Relation, error) {
	if !s.cached.relations.Covers(tx) {
		return getRelation(ctx, tx, owner, other)
	}
	found, err := s.relationsWith(ctx, tx, owner, []id.User{other})
	if err != nil {
		return nil, err
	}
	p := pairOf(owner, other)
	if r := p.of(found[p], owner); r != nil {
		return proto.CloneOf(r), nil
	}
	return &chatv1.Relation{User: uint64(other)}, nil
}

// cachedFriendsAndBlocks is FriendsAndBlocks of a snapshot of an embedded database.
func (s *Service) cachedFriendsAndBlocks(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (friends, blocked map[id.User]bool, err error) {
	friends, blocked = map[id.User]bool{}, map[id.User]bool{}
	found, err := s.relationsWith(ctx, tx, u, among)
	if err != nil {
		return nil, nil, err
	}
	for p, r := range found {
		other := p.low
		if other == u {
			other = p.high
		}
		mine, theirs := p.of(r, u), p.of(r, other)
		if mine.GetFriend() {
			friends[other] = true
		}
		if mine.GetBlocked() || theirs.GetBlocked() {
			blocked[other] = true
		}
	}
	return friends, blocked, nil
}

// UserAsOf returns a user as of a snapshot; nil if there is none.
func (s *Service) UserAsOf(ctx context.Context, tx *sql.Tx, u id.User) (*accountv1.User, error) {
	found, err := s.cached.users.Get(tx, []id.User{u}, func(missing []id.User) (map[id.User]*accountv1.User, error) { return usersByID(ctx, tx, missing) })
	if err != nil || found[u] == nil {
		return nil, err
	}
	return proto.CloneOf(found[u]), nil
}

// usersByID returns those of some users who exist. The list is not empty.
func usersByID(ctx context.Context, q sqldb.Reader, users []id.User) (map[id.User]*accountv1.User, error) {
	marks, args := sqldb.Placeholders(1, users, func(u id.User) int64 { return int64(u) })
	list, err := listUsers(ctx, q, `SELECT `+userColumns+` FROM users WHERE id IN (`+marks+`)`, args...)
	found := make(map[id.User]*accountv1.User, len(list))
	for _, u := range list {
		found[id.User(u.Id)] = u
	}
	return found, err
}

// getUsersByID returns those of some users who exist, in the order of their ids.
func (s *Service) getUsersByID(ctx context.Context, ids []uint64) ([]*accountv1.User, error) {
	users := make([]id.User, len(ids))
	for i, u := range ids {
		users[i] = id.User(u)
	}
	slices.Sort(users)
	users = slices.Compact(users)
	found, err := s.cached.users.GetCurrent(users, func(missing []id.User) (map[id.User]*accountv1.User, error) {
		return usersByID(ctx, s.deps.DB.ReadYourWrites(ctx), missing)
	})
	if err != nil {
		return nil, err
	}
	list := make([]*accountv1.User, 0, len(found))
	for _, u := range users {
		if found[u] != nil {
			list = append(list, proto.CloneOf(found[u]))
		}
	}
	return list, nil
}
