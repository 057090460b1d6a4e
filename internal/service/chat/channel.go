package chat

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/job"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A channel is a large group in which only admins and the owner write, and that may have a million followers. Its members, who may become
// admins, are those of any group: control entries, which each node has in memory. A follower is a row only (members.follower), so that to
// follow costs one transaction whatever the size, and no entry. Followers read the whole channel, and are looked up in the database.
//
// The row of the conversation has the number of followers. Each change of a follower updates it first, so that changes of one channel follow
// each other, also those of its bans: nobody who is being banned can follow again in between.

var (
	errChannelMembers = errs.New(errs.Invalid, "bad_channel", "a channel begins without members, and its join policy is invite or open; followers join it")
	errFollows        = errors.New("the user follows already")
	errNotFollower    = errors.New("the user does not follow")
)

// followable reports whether a user joins by following: everybody but present members. A former member keeps that membership, see follow.
func (s *state) followable(u id.User) bool { return s.channel && s.role(u) == 0 }

// joinChannel makes a user a follower.
func (s *Service) joinChannel(ctx context.Context, st *state, u id.User, byLink bool) error {
	control, _, err := joinControl(st, u, byLink)
	if err != nil || control == nil { // nil: a member already
		return err
	}
	if st.large == 0 { // the creation did not finish
		if err := s.resizeGroup(ctx, st.id); err != nil {
			return err
		}
	}
	return s.addFollowerRow(ctx, st, u)
}

// addFollowerRow makes a user a follower who has read what was said so far. Who follows already is left alone.
func (s *Service) addFollowerRow(ctx context.Context, st *state, u id.User) error {
	tail, err := s.deps.Log.Tail(ctx, logKey(st.id))
	if err != nil {
		return err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := s.follow(ctx, tx, st.id, u, s.deps.Clock.Now().UnixMilli()); err != nil {
			return err
		}
		if err := s.putFollowChange(ctx, tx, st.id, u, true); err != nil || s.deps.MarkFollowed == nil {
			return err
		}
		return s.deps.MarkFollowed(ctx, tx, u, st.id, tail) // what was said before is not unread
	})
	if errors.Is(err, errFollows) {
		return nil
	}
	if err == nil {
		s.followersChanged(st.id, tail.Seq, u, true)
	}
	return err
}

// follow writes the row of a follower. That of a former member keeps the membership that ended, and says that the user follows.
func (s *Service) follow(ctx context.Context, tx *sql.Tx, c id.Conversation, u id.User, activeMs int64) error {
	if err := countFollowers(ctx, tx, c, 1); err != nil {
		return err
	}
	if err := insertFollower(ctx, tx, c, u, activeMs); err != nil {
		return err
	}
	var followers int
	var notices chatv1.Notices
	err := tx.QueryRowContext(ctx, `SELECT followers, notices FROM conversations WHERE id = $1`, int64(c)).Scan(&followers, &notices)
	if err == nil && followers > s.config.MaxFollowers && notices == 0 {
		err = errs.New(errs.Exhausted, "group_full", "the channel is full")
	}
	return err
}

// countFollowers adds to the number of followers of a channel.
func countFollowers(ctx context.Context, tx *sql.Tx, c id.Conversation, count int) error {
	n, err := rowsAffected(tx.ExecContext(ctx, `UPDATE conversations SET followers = followers + $2 WHERE id = $1 AND channel AND NOT dissolved`, int64(c), count))
	if err == nil && n == 0 {
		err = errDissolved
	}
	return err
}

// insertFollower writes the row of a follower, unless the user is banned or follows already.
func insertFollower(ctx context.Context, tx *sql.Tx, c id.Conversation, u id.User, activeMs int64) error {
	var banned bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM bans WHERE conversation = $1 AND member = $2)`, int64(c), int64(u)).Scan(&banned); err != nil {
		return err
	}
	if banned {
		return errBanned
	}
	done, err := tx.ExecContext(ctx, `INSERT INTO members (conversation, member, role, join_seq, large, active_ms, follower) VALUES ($1, $2, $3, 1, TRUE, $4, TRUE)
		ON CONFLICT (conversation, member) DO UPDATE SET follower = TRUE, former_leave_seq = members.leave_seq, leave_seq = 0, active_ms = $4 WHERE members.leave_seq > 0`,
		int64(c), int64(u), roleMember, activeMs)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, errFollows)
	}
	return nil
}

// unfollow ends what followers follow, and returns how many did. Others are left out.
func (s *Service) unfollow(ctx context.Context, c id.Conversation, users ...id.User) (ended int, err error) {
	for _, u := range users {
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `UPDATE conversations SET followers = followers - 1 WHERE id = $1`, int64(c)); err != nil {
				return err
			}
			if err := dropFollower(ctx, tx, c, u); err != nil {
				return err
			}
			return s.putFollowChange(ctx, tx, c, u, false)
		})
		if errors.Is(err, errNotFollower) {
			continue
		}
		if err != nil {
			return ended, err
		}
		s.followersChanged(c, 0, u, false)
		ended++
	}
	return ended, nil
}

// dropFollower ends that a user follows. Who was a member before is a former member again.
func dropFollower(ctx context.Context, tx *sql.Tx, c id.Conversation, u id.User) error {
	for _, query := range []string{
		`UPDATE members SET follower = FALSE, leave_seq = former_leave_seq, former_leave_seq = 0 WHERE conversation = $1 AND member = $2 AND former_leave_seq > 0`,
		`DELETE FROM members WHERE conversation = $1 AND member = $2 AND follower`,
	} {
		done, err := tx.ExecContext(ctx, query, int64(c), int64(u))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
	}
	return errNotFollower
}

// projectFollower changes the row of a follower who becomes a member, in the transaction of the member's row. Members read the whole channel,
// too: for one who did not follow before, what was said until then is not unread.
func (s *Service) projectFollower(ctx context.Context, tx *sql.Tx, st *state, u id.User) error {
	err := dropFollower(ctx, tx, st.id, u)
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE conversations SET followers = followers - 1 WHERE id = $1`, int64(st.id))
		return err
	}
	if !errors.Is(err, errNotFollower) {
		return err
	}
	if joined := st.members[u].joinSeq; joined != st.access || joined == 1 || s.deps.MarkFollowed == nil { // 1: the creator
		return nil
	}
	tail, err := s.deps.Log.Tail(ctx, logKey(st.id))
	if err != nil {
		return err
	}
	return s.deps.MarkFollowed(ctx, tx, u, st.id, tail)
}

// addFollower makes a follower whom the owner of a channel makes an admin a member. Whoever follows has agreed to be in the channel.
func (s *Service) addFollower(ctx context.Context, c id.Conversation, owner, u id.User) error {
	st, err := s.linearizableState(ctx, c)
	if err != nil || !st.followable(u) || st.role(owner) != roleOwner {
		return err
	}
	if m, ok, err := s.memberOf(ctx, st, u); err != nil || !ok || m.leaveSeq != 0 {
		return err
	}
	_, err = s.addMembers(ctx, c, owner, []id.User{u})
	return err
}

// putFollowChange adds an event to the user's stream, in the transaction of the follower's row. By it the user's devices learn of the
// change, and the connections of all nodes follow the channel, or end to follow it, also if the notice of followersChanged was lost.
func (s *Service) putFollowChange(ctx context.Context, tx *sql.Tx, c id.Conversation, u id.User, follows bool) error {
	if s.deps.FollowChanged != nil {
		if err := s.deps.FollowChanged(ctx, tx, c, u, follows); err != nil {
			return err
		}
	}
	if s.deps.Outbox == nil {
		return nil
	}
	raw, err := proto.Marshal(&chatv1.FollowChange{Conversation: uint64(c), Follows: follows})
	if err != nil {
		return err
	}
	return s.deps.Outbox.Put(ctx, tx, job.Event{User: u, Body: message.AppendBody(nil, message.FieldFollow, raw)})
}

// followersChanged notifies connections at once, without waiting for the event of putFollowChange.
func (s *Service) followersChanged(c id.Conversation, seq uint64, u id.User, follows bool) {
	if s.deps.Outbox != nil {
		s.deps.Outbox.Wake()
	}
	if s.deps.FollowersChanged != nil {
		s.deps.FollowersChanged(c, seq, u, follows)
	}
}

// follower is the membership of those who follow a channel.
var follower = member{role: roleMember, firstJoinSeq: 1, joinSeq: 1}

// memberOf returns a present or former member, or a follower.
func (s *Service) memberOf(ctx context.Context, st *state, u id.User) (m member, ok bool, err error) {
	if st.kind == thread {
		m, ok = st.replier(u)
		return m, ok, nil
	}
	if m, ok = st.members[u]; ok && m.leaveSeq == 0 || !st.channel {
		return m, ok, nil
	}
	var follows bool
	if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM members WHERE conversation = $1 AND member = $2 AND follower)`, int64(st.id), int64(u)).Scan(&follows); err != nil {
		return m, false, err
	}
	if !follows && st.notices == noticesEverybody && !st.dissolved {
		if err := s.followNoticesNow(ctx, st.id, u); err != nil {
			return m, false, err
		}
		follows = true
	}
	if follows {
		return follower, true, nil
	}
	return m, ok, nil
}

// ChannelInfo is what only the row of a channel has.
type ChannelInfo = message.ChannelInfo

// channelInfo reads the row of a channel. It is zero for other conversations.
func (s *Service) channelInfo(ctx context.Context, st *state) (i ChannelInfo, err error) {
	if st.channel {
		err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT followers, coalesce(handle, '') FROM conversations WHERE id = $1`, int64(st.id)).Scan(&i.Followers, &i.Handle)
	}
	return i, err
}

// memberCount is the number of members and followers.
func (s *state) memberCount(i ChannelInfo) uint32 { return uint32(len(s.activeMembers)) + i.Followers }

// listChannelMembers returns a page of members and followers, by user id. Only admins may see who follows.
func (s *Service) listChannelMembers(ctx context.Context, st *state, by id.User, limit int, from uint64) (*chatv1.ListMembersResponse, error) {
	if m, ok, err := s.memberOf(ctx, st, by); err != nil || !ok || m.leaveSeq != 0 {
		return nil, errors.Join(err, errNoConversation)
	}
	if st.role(by) < roleAdmin {
		return nil, errNotAllowed
	}
	if err := s.projections.wait(ctx); err != nil { // a client may ask as soon as it has the entry of a change
		return nil, err
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member, role, CASE WHEN follower THEN 1 ELSE join_seq END, muted_until_ms FROM members WHERE conversation = $1 AND member >= $2 AND leave_seq = 0 ORDER BY member LIMIT $3`,
		int64(st.id), int64(from), limit+1)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := &chatv1.ListMembersResponse{}
	for rows.Next() {
		m := &chatv1.Member{}
		if err := rows.Scan(&m.User, &m.Role, &m.JoinSeq, &m.MutedUntilMs); err != nil {
			return nil, err
		}
		out.Members = append(out.Members, m)
	}
	out.Members, out.Next = cutPage(out.Members, limit, (*chatv1.Member).GetUser)
	return out, rows.Err()
}

// channelAudiencePage is AudiencePage of a channel: all who follow it now can read the entry, whenever they began.
func (s *Service) channelAudiencePage(ctx context.Context, c id.Conversation, after id.User, limit int) (users []id.User, next id.User, err error) {
	list, err := s.querySeqs(ctx, `SELECT member FROM members WHERE conversation = $1 AND member > $2 AND leave_seq = 0 ORDER BY member LIMIT $3`, int64(c), int64(after), limit)
	for _, u := range list {
		users = append(users, id.User(u))
	}
	if len(users) == limit {
		next = users[limit-1]
	}
	return users, next, err
}
