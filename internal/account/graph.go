package account

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"unicode/utf8"

	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/news"
	"google.golang.org/protobuf/proto"
)

const relationColumns = `other, friend, requested, asked, blocked, following, remark, message`

func scanRelation(scan func(...any) error) (*chatv1.Relation, error) {
	r := &chatv1.Relation{}
	return r, scan(&r.User, &r.Friend, &r.Requested, &r.Asked, &r.Blocked, &r.Following, &r.Remark, &r.Message)
}

func getRelation(ctx context.Context, tx *sql.Tx, owner, other id.User) (*chatv1.Relation, error) {
	r, err := scanRelation(tx.QueryRowContext(ctx, `SELECT `+relationColumns+` FROM relations WHERE owner = $1 AND other = $2`, int64(owner), int64(other)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return &chatv1.Relation{User: uint64(other)}, nil
	}
	return r, err
}

func (s *Service) putRelation(ctx context.Context, tx *sql.Tx, owner id.User, r *chatv1.Relation) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO relations (owner, `+relationColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (owner, other) DO UPDATE SET friend = $3, requested = $4, asked = $5, blocked = $6, following = $7, remark = $8, message = $9`,
		int64(owner), int64(r.User), r.Friend, r.Requested, r.Asked, r.Blocked, r.Following, r.Remark, r.Message)
	if err != nil {
		return err
	}
	raw, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	return s.deps.Outbox.Put(ctx, tx, job.Event{User: owner, Body: message.AppendBody(nil, message.FieldRelation, raw)})
}

// change changes the relation of a to b (mine) and, where it was changed too, of b to a (theirs), with their events.
func (s *Service) change(ctx context.Context, a, b id.User, change func(mine, theirs *chatv1.Relation) error) (*chatv1.Relation, error) {
	if a == b {
		return nil, errs.New(errs.Invalid, "self", "this is yourself")
	}
	if _, err := s.GetUser(ctx, b); err != nil {
		return nil, err
	}
	var mine *chatv1.Relation
	friendship := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		var err error
		if mine, err = getRelation(ctx, tx, a, b); err != nil {
			return err
		}
		theirs, err := getRelation(ctx, tx, b, a)
		if err != nil {
			return err
		}
		mineBefore, theirsBefore := proto.CloneOf(mine), proto.CloneOf(theirs)
		if err := change(mine, theirs); err != nil {
			return err
		}
		friendship = mine.Friend != mineBefore.Friend
		if !proto.Equal(mine, mineBefore) {
			err = s.putRelation(ctx, tx, a, mine)
		}
		if err == nil && !proto.Equal(theirs, theirsBefore) {
			err = s.putRelation(ctx, tx, b, theirs)
		}
		if err == nil && friendship {
			err = s.put(ctx, tx, news.Item{Kind: friendshipNews, User: a, Other: uint64(b)})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.deps.Outbox.Wake()
	if friendship {
		s.sent()
	}
	return mine, nil
}

// enforce has a friendship that began or ended hold before that is answered. It is called where nothing changed as well: a call before
// this one may have stored the change, and failed here.
func (s *Service) enforce(ctx context.Context, a, b id.User) error {
	if s.deps.FriendshipChanged == nil {
		return nil
	}
	return s.deps.FriendshipChanged(ctx, a, b)
}

func beFriends(mine, theirs *chatv1.Relation) {
	for _, r := range []*chatv1.Relation{mine, theirs} {
		r.Friend, r.Requested, r.Asked, r.Message = true, false, false, ""
	}
}

// RequestFriend asks b to be a friend of a; where b has asked a, they are friends. One who is blocked sees his request wait.
func (s *Service) RequestFriend(ctx context.Context, a, b id.User, text string) (*chatv1.Relation, error) {
	if utf8.RuneCountInString(text) > 500 || !storable(text) {
		return nil, errs.New(errs.Invalid, "bad_message", "a request's message has at most 500 characters")
	}
	r, err := s.change(ctx, a, b, func(mine, theirs *chatv1.Relation) error {
		switch {
		case mine.Friend:
		case mine.Blocked:
			return errs.New(errs.Denied, "blocked", "you have blocked this user; unblock first")
		case mine.Asked && !theirs.Blocked:
			beFriends(mine, theirs)
		default:
			mine.Requested, mine.Message = true, text
			if !theirs.Blocked {
				theirs.Asked, theirs.Message = true, text
			}
		}
		return nil
	})
	if err == nil && r.Friend {
		err = s.enforce(ctx, a, b)
	}
	return r, err
}

// AnswerFriend accepts or declines what b asked.
func (s *Service) AnswerFriend(ctx context.Context, a, b id.User, accept bool) (*chatv1.Relation, error) {
	r, err := s.change(ctx, a, b, func(mine, theirs *chatv1.Relation) error {
		switch {
		case mine.Friend && accept:
		case !mine.Asked:
			return errs.New(errs.NotFound, "no_request", "there is no request of this user")
		case accept:
			beFriends(mine, theirs)
		default:
			mine.Asked, mine.Message = false, ""
			theirs.Requested, theirs.Message = false, ""
		}
		return nil
	})
	if err == nil && r.Friend {
		err = s.enforce(ctx, a, b)
	}
	return r, err
}

// RemarkFriend names a friend.
func (s *Service) RemarkFriend(ctx context.Context, a, b id.User, remark string) (*chatv1.Relation, error) {
	if remark != "" {
		var err error
		if remark, err = parseName(remark, 64); err != nil {
			return nil, err
		}
	}
	return s.change(ctx, a, b, func(mine, _ *chatv1.Relation) error {
		if !mine.Friend {
			return errs.New(errs.NotFound, "no_friend", "this user is not a friend of yours")
		}
		mine.Remark = remark
		return nil
	})
}

// DeleteFriend ends a friendship, or takes a request back.
func (s *Service) DeleteFriend(ctx context.Context, a, b id.User) (*chatv1.Relation, error) {
	r, err := s.change(ctx, a, b, func(mine, theirs *chatv1.Relation) error {
		unfriend(mine, theirs)
		return nil
	})
	if err == nil {
		err = s.enforce(ctx, a, b)
	}
	return r, err
}

func unfriend(mine, theirs *chatv1.Relation) {
	for _, r := range []*chatv1.Relation{mine, theirs} {
		r.Friend, r.Requested, r.Asked, r.Remark, r.Message = false, false, false, "", ""
	}
}

// SetBlock blocks or unblocks b. After it returned, no message of b to a is admitted. Blocking ends a friendship.
func (s *Service) SetBlock(ctx context.Context, a, b id.User, blocked bool) (*chatv1.Relation, error) {
	ended := false
	r, err := s.change(ctx, a, b, func(mine, theirs *chatv1.Relation) error {
		mine.Blocked, ended = blocked, blocked && mine.Friend
		if blocked {
			unfriend(mine, theirs)
			theirs.Following = false
		}
		return nil
	})
	if err == nil && ended {
		err = s.enforce(ctx, a, b)
	}
	if err == nil && s.deps.AccessChanged != nil {
		err = s.deps.AccessChanged(ctx, a, b)
	}
	return r, err
}

// SetFollow follows or unfollows b.
func (s *Service) SetFollow(ctx context.Context, a, b id.User, following bool) (*chatv1.Relation, error) {
	return s.change(ctx, a, b, func(mine, theirs *chatv1.Relation) error {
		if following && theirs.Blocked {
			return errs.New(errs.Denied, "blocked", "you cannot follow this user")
		}
		mine.Following = following
		return nil
	})
}

// ListRelations pages over the caller's relations that say anything.
func (s *Service) ListRelations(ctx context.Context, owner id.User, limit uint32, page string) (*accountv1.ListRelationsResponse, error) {
	if limit == 0 || limit > 200 {
		limit = 200
	}
	after := uint64(0)
	if page != "" {
		var err error
		if after, err = strconv.ParseUint(page, 10, 63); err != nil {
			return nil, errs.New(errs.Invalid, "bad_page", "this page token is not one of ours")
		}
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+relationColumns+` FROM relations WHERE owner = $1 AND other > $2
		AND (friend OR requested OR asked OR blocked OR following) ORDER BY other LIMIT $3`, int64(owner), int64(after), limit+1)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := &accountv1.ListRelationsResponse{}
	for rows.Next() {
		r, err := scanRelation(rows.Scan)
		if err != nil {
			return nil, err
		}
		if len(out.Relations) == int(limit) {
			out.Next = strconv.FormatUint(out.Relations[limit-1].User, 10)
			break
		}
		out.Relations = append(out.Relations, r)
	}
	return out, rows.Err()
}

// SuggestFriends by mutual friends.
func (s *Service) SuggestFriends(ctx context.Context, a id.User) (*accountv1.SuggestFriendsResponse, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT u.id, u.handle, u.display_name, u.avatar, u.bio, count(*) AS mutual
		FROM relations m JOIN relations f ON f.owner = m.other AND f.friend JOIN users u ON u.id = f.other
		WHERE m.owner = $1 AND m.friend AND u.id <> $1
		AND NOT EXISTS (SELECT 1 FROM relations r WHERE r.owner = $1 AND r.other = u.id AND (r.friend OR r.requested OR r.blocked))
		AND NOT EXISTS (SELECT 1 FROM relations r WHERE r.owner = u.id AND r.other = $1 AND r.blocked)
		GROUP BY u.id, u.handle, u.display_name, u.avatar, u.bio ORDER BY mutual DESC, u.id LIMIT 20`, int64(a))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := &accountv1.SuggestFriendsResponse{}
	for rows.Next() {
		u := &accountv1.User{}
		sug := &accountv1.SuggestFriendsResponse_Suggestion{User: u}
		if err := rows.Scan(&u.Id, &u.Handle, &u.DisplayName, &u.Avatar, &u.Bio, &sug.MutualFriends); err != nil {
			return nil, err
		}
		out.Suggestions = append(out.Suggestions, sug)
	}
	return out, rows.Err()
}

// Blocked tells whether either of two users has blocked the other.
func (s *Service) Blocked(ctx context.Context, a, b id.User) (bool, error) {
	return s.exists(ctx, `SELECT 1 FROM relations WHERE ((owner = $1 AND other = $2) OR (owner = $2 AND other = $1)) AND blocked`, a, b)
}

// Friends tells whether two users are friends.
func (s *Service) Friends(ctx context.Context, a, b id.User) (bool, error) {
	return s.exists(ctx, `SELECT 1 FROM relations WHERE owner = $1 AND other = $2 AND friend`, a, b)
}

func (s *Service) exists(ctx context.Context, query string, a, b id.User) (bool, error) {
	var one int
	err := s.deps.DB.Read().QueryRowContext(ctx, query, int64(a), int64(b)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// Exist fails with NotFound unless all users exist.
func (s *Service) Exist(ctx context.Context, users []id.User) error {
	for len(users) > 0 {
		n := min(len(users), 200)
		args := make([]any, n)
		for i, u := range users[:n] {
			args[i] = int64(u)
		}
		var count int
		if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM users WHERE id IN (`+marks(n, 1)+`)`, args...).Scan(&count); err != nil {
			return err
		}
		if count < n {
			return errs.New(errs.NotFound, "no_user", "one of these users does not exist")
		}
		users = users[n:]
	}
	return nil
}
