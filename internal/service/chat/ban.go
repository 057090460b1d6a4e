package chat

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// maxBans bounds the bans of a group, since they are in memory with its state.
const maxBans = 10_000

// Ban keeps users out of a group, and removes those who are members. Admins ban members and non-members; the owner bans anyone.
//
// It appends two entries, so that a client that does not support bans receives the removal. The ban comes first, so that nobody can
// rejoin in between. If the second entry fails, repeat the call.
func (s *Service) Ban(ctx context.Context, c id.Conversation, by id.User, list []uint64) (uint64, error) {
	users, err := uniqueUsers(list)
	if err != nil {
		return 0, err
	}
	if err := s.deps.Relations.Exist(ctx, users); err != nil {
		return 0, err
	}
	banned, err := s.changeGroup(ctx, c, by, roleAdmin, func(st *state) (*chatv1.Control, error) {
		if st.notices != 0 {
			return nil, errNotices
		}
		var added []id.User
		for _, u := range users {
			if st.role(u) >= st.role(by) {
				return nil, errNotAllowed
			}
			if !st.banned(u) {
				added = append(added, u)
			}
		}
		if len(st.bans)+len(added) > maxBans {
			return nil, errs.New(errs.Exhausted, "too_many_bans", "a group has at most 10,000 bans; unban some users first")
		}
		if len(added) == 0 {
			return nil, nil
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_BANNED, Users: userNumbers(added)}, s.checkMembers(ctx, c, nil)
	})
	if err != nil {
		return 0, err
	}
	removed, err := s.Remove(ctx, c, by, list)
	if err != nil {
		return 0, err
	}
	return max(banned, removed), s.dropRequests(ctx, c, users)
}

// dropRequests deletes the join requests and the invitations of banned users.
func (s *Service) dropRequests(ctx context.Context, c id.Conversation, users []id.User) error {
	if len(users) == 0 {
		return nil
	}
	st, err := s.linearizableState(ctx, c)
	if err != nil {
		return err
	}
	marks, args := sqldb.Placeholders(2, users, func(u id.User) int64 { return int64(u) })
	return s.changeJoinRequests(ctx, st, 0, func(tx *sql.Tx) (sql.Result, error) {
		return tx.ExecContext(ctx, `DELETE FROM join_requests WHERE conversation = $1 AND member IN (`+marks+`)`, append([]any{int64(c)}, args...)...)
	})
}

// Unban lets users be invited, or ask to join, again. It does not add them.
func (s *Service) Unban(ctx context.Context, c id.Conversation, by id.User, list []uint64) (uint64, error) {
	users, err := uniqueUsers(list)
	if err != nil {
		return 0, err
	}
	return s.changeGroup(ctx, c, by, roleAdmin, func(st *state) (*chatv1.Control, error) {
		there := slices.DeleteFunc(slices.Clone(users), func(u id.User) bool { return !st.banned(u) })
		if len(there) == 0 {
			return nil, nil
		}
		return &chatv1.Control{Action: chatv1.Control_ACTION_UNBANNED, Users: userNumbers(there)}, nil
	})
}

// uniqueUsers returns the users of one call, sorted and without duplicates.
func uniqueUsers(list []uint64) ([]id.User, error) {
	if len(list) > maxUsersPerCall {
		return nil, errs.New(errs.Invalid, "too_many_users", "give at most 500 users at once")
	}
	users := make([]id.User, len(list))
	for i, u := range list {
		users[i] = id.User(u)
	}
	slices.Sort(users)
	return slices.Compact(users), nil
}

// ListBans returns a page of bans, by user id.
func (s *Service) ListBans(ctx context.Context, c id.Conversation, by id.User, limit uint32, page string) (*chatv1.ListBansResponse, error) {
	st, err := s.requireAdmin(ctx, c, by)
	if err != nil {
		return nil, err
	}
	from, err := pagetoken.Start(page, uint64(0))
	if err != nil {
		return nil, err
	}
	banned := slices.Sorted(maps.Keys(st.bans))
	i, _ := slices.BinarySearch(banned, id.User(from))
	out := &chatv1.ListBansResponse{}
	for _, u := range banned[i:] {
		if len(out.Users) == outputlimit.PageSize(limit) {
			out.Next = u.String()
			break
		}
		out.Users = append(out.Users, uint64(u))
	}
	return out, nil
}
