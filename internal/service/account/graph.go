package account

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
	"github.com/rialto-im/rialto/internal/platform/job"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const relationColumns = `other, friend, requested, asked, blocked, following, remark, message, muted`

func scanRelation(scan func(...any) error) (*chatv1.Relation, error) {
	r := &chatv1.Relation{}
	return r, scan(&r.User, &r.Friend, &r.Requested, &r.Asked, &r.Blocked, &r.Following, &r.Remark, &r.Message, &r.Muted)
}

func getRelation(ctx context.Context, tx *sql.Tx, owner, other id.User) (*chatv1.Relation, error) {
	r, err := scanRelation(tx.QueryRowContext(ctx, `SELECT `+relationColumns+` FROM relations WHERE owner = $1 AND other = $2`, int64(owner), int64(other)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return &chatv1.Relation{User: uint64(other)}, nil
	}
	return r, err
}

// putRelation stores a relation with its event. An empty one has no row: others could fill a user's list with them, and pages would read past all.
func (s *Service) putRelation(ctx context.Context, tx *sql.Tx, owner id.User, r *chatv1.Relation) error {
	if err := storeRelation(ctx, tx, owner, r); err != nil {
		return err
	}
	raw, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	return s.deps.Outbox.Put(ctx, tx, job.Event{User: owner, Body: message.AppendBody(nil, message.FieldRelation, raw)})
}

func storeRelation(ctx context.Context, tx *sql.Tx, owner id.User, r *chatv1.Relation) error {
	if !(r.Friend || r.Requested || r.Asked || r.Blocked || r.Following || r.Muted) && r.Remark == "" {
		_, err := tx.ExecContext(ctx, `DELETE FROM relations WHERE owner = $1 AND other = $2`, int64(owner), int64(r.User))
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO relations (owner, `+relationColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (owner, other) DO UPDATE SET friend = $3, requested = $4, asked = $5, blocked = $6, following = $7, remark = $8, message = $9, muted = $10`,
		int64(owner), int64(r.User), r.Friend, r.Requested, r.Asked, r.Blocked, r.Following, r.Remark, r.Message, r.Muted)
	return err
}

// relationListener is what hears of a change in its transaction; nil: nobody.
type relationListener func(ctx context.Context, tx *sql.Tx, a, b id.User, mineBefore, theirsBefore, mine, theirs *chatv1.Relation) error

// change changes the relation of a to b (mine) and of b to a (theirs), and stores their events. An unchanged relation has no event.
func (s *Service) change(ctx context.Context, a, b id.User, change func(mine, theirs *chatv1.Relation) error) (*chatv1.Relation, error) {
	return s.changeTelling(ctx, a, b, s.relationChanged, change)
}

func (s *Service) changeTelling(ctx context.Context, a, b id.User, tell relationListener, change func(mine, theirs *chatv1.Relation) error) (*chatv1.Relation, error) {
	if a == b {
		return nil, errs.New(errs.Invalid, "self", "you cannot do this with yourself")
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
		if err == nil {
			err = countFollows(ctx, tx, a, b, mineBefore, mine)
		}
		if err == nil {
			err = countFollows(ctx, tx, b, a, theirsBefore, theirs)
		}
		if err == nil && tell != nil {
			err = tell(ctx, tx, a, b, mineBefore, theirsBefore, mine, theirs)
		}
		if err == nil && friendship {
			err = s.addEvents(ctx, tx, clusterevent.Event{Kind: friendshipEvent, User: a, Other: uint64(b)})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.deps.Outbox.Wake()
	if friendship {
		s.notifyNodes()
	}
	return mine, nil
}

// enforce applies a friendship that began or ended everywhere before the call returns. It also runs if nothing changed: an earlier
// call may have stored the change and then failed here.
func (s *Service) enforce(ctx context.Context, a, b id.User) error {
	if s.deps.FriendshipChanged == nil {
		return nil
	}
	return s.deps.FriendshipChanged(ctx, a, b)
}

func befriend(mine, theirs *chatv1.Relation) {
	for _, r := range []*chatv1.Relation{mine, theirs} {
		r.Friend, r.Requested, r.Asked, r.Message = true, false, false, ""
	}
}

// checkRequest checks the message of a request.
func checkRequest(text string) error {
	if utf8.RuneCountInString(text) > 500 || !message.IsParagraph(text) {
		return errs.New(errs.Invalid, "bad_message", "a request's message has at most 500 characters, no control characters but line breaks and tabs, no text-direction characters, and not more than six marks on one letter")
	}
	return nil
}

// RequestFriend requests that b be a friend of a. If b has requested it before, they are friends. For a blocked user the request is pending.
func (s *Service) RequestFriend(ctx context.Context, a, b id.User, text string) (*chatv1.Relation, error) {
	if err := checkRequest(text); err != nil {
		return nil, err
	}
	r, err := s.change(ctx, a, b, func(mine, theirs *chatv1.Relation) error {
		switch {
		case mine.Friend:
		case mine.Blocked:
			return errs.New(errs.Denied, "blocked", "you have blocked this user; unblock first")
		case mine.Asked && !theirs.Blocked:
			befriend(mine, theirs)
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

// AnswerFriend accepts or declines a request of b.
func (s *Service) AnswerFriend(ctx context.Context, a, b id.User, accept bool) (*chatv1.Relation, error) {
	r, err := s.change(ctx, a, b, func(mine, theirs *chatv1.Relation) error {
		switch {
		case mine.Friend && accept:
		case !mine.Asked:
			return errs.New(errs.NotFound, "no_request", "this user has no pending request")
		case accept:
			befriend(mine, theirs)
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

// RemarkFriend sets the caller's own name for a friend.
func (s *Service) RemarkFriend(ctx context.Context, a, b id.User, remark string) (*chatv1.Relation, error) {
	if remark != "" {
		var err error
		if remark, err = parseName(remark, 64); err != nil {
			return nil, err
		}
	}
	return s.change(ctx, a, b, func(mine, _ *chatv1.Relation) error {
		if !mine.Friend {
			return errs.New(errs.NotFound, "no_friend", "this user is not your friend")
		}
		mine.Remark = remark
		return nil
	})
}

// DeleteFriend ends a friendship, or withdraws a request.
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

// SetBlock blocks or unblocks b. Once a block returns, no message of b to a is accepted. Blocking ends a friendship.
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

// SetMute keeps the posts of b out of a's home timeline, or ends that.
func (s *Service) SetMute(ctx context.Context, a, b id.User, muted bool) (*chatv1.Relation, error) {
	return s.change(ctx, a, b, func(mine, _ *chatv1.Relation) error {
		mine.Muted = muted
		return nil
	})
}

// Relation returns the relation of a user with another one; an empty one if there is none.
func (s *Service) Relation(ctx context.Context, owner, other id.User) (*chatv1.Relation, error) {
	r := &chatv1.Relation{User: uint64(other)}
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT `+relationColumns+` FROM relations WHERE owner = $1 AND other = $2`, int64(owner), int64(other))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) (err error) {
		r, err = scanRelation(rows.Scan)
		return err
	})
	return r, err
}

// ListRelations returns a page of the caller's relations that are not empty.
func (s *Service) ListRelations(ctx context.Context, owner id.User, limit uint32, page string) (*accountv1.ListRelationsResponse, error) {
	if limit == 0 || limit > 200 {
		limit = 200
	}
	after := uint64(0)
	if page != "" {
		var err error
		if after, err = strconv.ParseUint(page, 10, 63); err != nil {
			return nil, pagetoken.ErrBad
		}
	}
	rows, err := s.deps.DB.ReadYourWrites(ctx).QueryContext(ctx, `SELECT `+relationColumns+` FROM relations WHERE owner = $1 AND other > $2
		AND (friend OR requested OR asked OR blocked OR following OR muted) ORDER BY other LIMIT $3`, int64(owner), int64(after), limit+1)
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

// Blocked reports whether either of two users has blocked the other.
func (s *Service) Blocked(ctx context.Context, a, b id.User) (bool, error) {
	return s.exists(ctx, `SELECT 1 FROM relations WHERE ((owner = $1 AND other = $2) OR (owner = $2 AND other = $1)) AND blocked`, a, b)
}

// Friends reports whether two users are friends.
func (s *Service) Friends(ctx context.Context, a, b id.User) (bool, error) {
	return s.exists(ctx, `SELECT 1 FROM relations WHERE owner = $1 AND other = $2 AND friend`, a, b)
}

// FriendsAmong returns those of some users who are friends of a user, with one query for each 200.
func (s *Service) FriendsAmong(ctx context.Context, u id.User, users []id.User) (map[id.User]bool, error) {
	friends := map[id.User]bool{}
	for batch := range slices.Chunk(users, idsPerQuery) {
		marks, args := sqldb.Placeholders(2, batch, func(u id.User) int64 { return int64(u) })
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT other FROM relations WHERE owner = $1 AND friend AND other IN (`+marks+`)`, append([]any{int64(u)}, args...)...)
		if err != nil {
			return nil, err
		}
		if err := eachID(rows, func(other int64) { friends[id.User(other)] = true }); err != nil {
			return nil, err
		}
	}
	return friends, nil
}

// BlockedAmong returns those of some users who have blocked a user, or whom the user has blocked, with two queries for each 200.
func (s *Service) BlockedAmong(ctx context.Context, u id.User, users []id.User) (map[id.User]bool, error) {
	blocked := map[id.User]bool{}
	add := func(other int64) { blocked[id.User(other)] = true }
	for batch := range slices.Chunk(users, idsPerQuery) {
		marks, args := sqldb.Placeholders(2, batch, func(u id.User) int64 { return int64(u) })
		args = append([]any{int64(u)}, args...)
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT other FROM relations WHERE owner = $1 AND blocked AND other IN (`+marks+`)`, args...)
		if err == nil {
			err = eachID(rows, add)
		}
		if err != nil {
			return nil, err
		}
		rows, err = s.deps.DB.Read().QueryContext(ctx, `SELECT owner FROM relations WHERE other = $1 AND blocked AND owner IN (`+marks+`)`, args...)
		if err == nil {
			err = eachID(rows, add)
		}
		if err != nil {
			return nil, err
		}
	}
	return blocked, nil
}

// idsPerQuery bounds the list of ids in a query.
const idsPerQuery = 200

func (s *Service) exists(ctx context.Context, query string, a, b id.User) (bool, error) {
	var one int
	err := s.deps.DB.Read().QueryRowContext(ctx, query, int64(a), int64(b)).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// RegisteredMs returns when a user registered, in milliseconds since 1970, or 0 for an unknown one.
func (s *Service) RegisteredMs(ctx context.Context, u id.User) (ms int64, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT created_ms FROM users WHERE id = $1`, int64(u)).Scan(&ms)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return ms, err
}

// Exist fails with NotFound unless all users exist.
func (s *Service) Exist(ctx context.Context, users []id.User) error {
	for batch := range slices.Chunk(users, idsPerQuery) {
		marks, args := sqldb.Placeholders(1, batch, func(u id.User) int64 { return int64(u) })
		var count int
		if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM users WHERE id IN (`+marks+`) AND erased_ms = 0`, args...).Scan(&count); err != nil {
			return err
		}
		if count < len(batch) {
			return errs.New(errs.NotFound, "no_user", "one of these users does not exist")
		}
	}
	return nil
}
