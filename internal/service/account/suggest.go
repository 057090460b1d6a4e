package account

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
)

// SuggestFriends reads at most about 40,000 rows, whatever the number of relations.
const (
	suggestRelations       = 500 // relations of the caller that are searched for friends
	suggestFriends         = 200 // friends of the caller whose friends are read
	suggestFriendRelations = 200 // relations of each of these that are searched for friends
	suggestCandidates      = 200 // friends of friends that are checked: those with the most mutual friends
	maxSuggestions         = 20
)

// SuggestFriends suggests users by mutual friends. If a user has more relations than are read, those with the highest ids are read: the
// newest accounts.
func (s *Service) SuggestFriends(ctx context.Context, a id.User) (*accountv1.SuggestFriendsResponse, error) {
	friends, err := s.newestFriends(ctx, []id.User{a}, suggestRelations)
	if err != nil {
		return nil, err
	}
	ofFriends, err := s.newestFriends(ctx, friends[:min(len(friends), suggestFriends)], suggestFriendRelations)
	if err != nil {
		return nil, err
	}
	mutual := map[id.User]uint32{}
	for _, u := range ofFriends {
		mutual[u]++
	}
	delete(mutual, a)
	for _, u := range friends {
		delete(mutual, u)
	}
	candidates := make([]id.User, 0, len(mutual))
	for u := range mutual {
		candidates = append(candidates, u)
	}
	slices.SortFunc(candidates, func(x, y id.User) int {
		return cmp.Or(cmp.Compare(mutual[y], mutual[x]), cmp.Compare(x, y))
	})
	candidates = candidates[:min(len(candidates), suggestCandidates)]
	users, err := s.suggestable(ctx, a, candidates)
	if err != nil {
		return nil, err
	}
	out := &accountv1.SuggestFriendsResponse{}
	for _, u := range candidates {
		if found := users[u]; found != nil && len(out.Suggestions) < maxSuggestions {
			out.Suggestions = append(out.Suggestions, &accountv1.SuggestFriendsResponse_Suggestion{User: found, MutualFriends: mutual[u]})
		}
	}
	return out, nil
}

// newestFriends returns the friends of each of some users, found among a number of relations of each, in one list.
func (s *Service) newestFriends(ctx context.Context, users []id.User, relations int) (friends []id.User, err error) {
	const atOnce = 100 // SQLite takes up to 500 parts of a query
	for some := range slices.Chunk(users, atOnce) {
		parts, args := make([]string, len(some)), []any{relations}
		for i, u := range some {
			parts[i] = `SELECT other FROM (SELECT other, friend FROM relations WHERE owner = $` + strconv.Itoa(i+2) + ` ORDER BY other DESC LIMIT $1) AS r` + strconv.Itoa(i) + ` WHERE friend`
			args = append(args, int64(u))
		}
		rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, strings.Join(parts, " UNION ALL "), args...)
		if err != nil {
			return nil, err
		}
		if friends, err = scanIDs(rows, friends); err != nil {
			return nil, err
		}
	}
	return friends, nil
}

func scanIDs(rows *sql.Rows, list []id.User) ([]id.User, error) {
	defer rows.Close()
	for rows.Next() {
		var u id.User
		if err := rows.Scan(&u); err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	return list, rows.Err()
}

// suggestable returns the profiles of those users who may be suggested to a: not friends, not requested, and not blocked by either side.
func (s *Service) suggestable(ctx context.Context, a id.User, candidates []id.User) (map[id.User]*accountv1.User, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	marks, args := sqldb.Placeholders(2, candidates, func(u id.User) int64 { return int64(u) })
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT u.id, u.handle, u.display_name, u.avatar, u.bio, u.official FROM users u WHERE u.id IN (`+marks+`)
		AND NOT EXISTS (SELECT 1 FROM relations r WHERE r.owner = $1 AND r.other = u.id AND (r.friend OR r.requested OR r.blocked))
		AND NOT EXISTS (SELECT 1 FROM relations r WHERE r.owner = u.id AND r.other = $1 AND r.blocked)`, append([]any{int64(a)}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	users := map[id.User]*accountv1.User{}
	for rows.Next() {
		u := &accountv1.User{}
		if err := rows.Scan(&u.Id, &u.Handle, &u.DisplayName, &u.Avatar, &u.Bio, &u.Official); err != nil {
			return nil, err
		}
		users[id.User(u.Id)] = u
	}
	return users, rows.Err()
}
