package chat

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	direct = chatv1.ConversationKind_CONVERSATION_KIND_DIRECT
	group  = chatv1.ConversationKind_CONVERSATION_KIND_GROUP
	thread = chatv1.ConversationKind_CONVERSATION_KIND_THREAD
)

// maxUsersPerCall bounds the users of one call.
const maxUsersPerCall = 500

var errGroupKey = errs.New(errs.Invalid, "bad_key", "a key has at most 64 bytes, and begins with no control character")

func (s *Service) findDirect(ctx context.Context, a, b id.User) (c id.Conversation, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM conversations WHERE lo = $1 AND hi = $2`, int64(min(a, b)), int64(max(a, b))).Scan(&c)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return c, err
}

// OpenDirect returns the one-to-one conversation of two users. The first call creates it. A user's conversation with oneself has the
// messages that the user saved.
func (s *Service) OpenDirect(ctx context.Context, a, b id.User) (id.Conversation, error) {
	if err := s.deps.Relations.Exist(ctx, []id.User{b}); err != nil {
		return 0, err
	}
	c, err := s.findDirect(ctx, a, b)
	if err != nil {
		return 0, err
	}
	if c == 0 {
		blocked, err := s.deps.Relations.Blocked(ctx, a, b)
		if err != nil {
			return 0, err
		}
		if blocked {
			return 0, errBlocked
		}
		if c, err = s.insertDirect(ctx, a, b); err != nil {
			return 0, err
		}
	}
	return c, s.appendCreated(ctx, c, directCreatedControl(a, b))
}

// insertDirect returns the one-to-one conversation of the row of two users, which it inserts first where it is missing.
func (s *Service) insertDirect(ctx context.Context, a, b id.User) (c id.Conversation, err error) {
	n, err := s.nextIDIn(ctx, partitionOf(max(a, b)))
	if err != nil {
		return 0, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO conversations (id, kind, lo, hi) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, int64(n), direct, int64(min(a, b)), int64(max(a, b))); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT id FROM conversations WHERE lo = $1 AND hi = $2`, int64(min(a, b)), int64(max(a, b))).Scan(&c)
	})
	return c, err
}

// placementTries bounds the ids that nextIDIn discards. On average it needs one for each partition.
const placementTries = 16 * timeline.Partitions

// nextIDIn returns a new id in a partition, or in any if none of placementTries ids is in it.
//
// The node that dispatches the messages of a one-to-one conversation then also owns the inbox of one of the two users, and has to send
// the messages to one other node only. The conversation is in the partition of the newer user: those who have many conversations, such
// as bots, are usually older than most of their peers, so that their conversations are in all partitions.
func (s *Service) nextIDIn(ctx context.Context, partition uint16) (n uint64, err error) {
	for range placementTries {
		if n, err = s.deps.IDs.Next(ctx); err != nil || logKey(id.Conversation(n)).Partition() == partition {
			break
		}
	}
	return n, err
}

// partitionOf returns the partition of a user's inbox.
func partitionOf(u id.User) uint16 {
	return timeline.Key{Kind: timeline.Inbox, ID: uint64(u)}.Partition()
}

// directCreatedControl is the first entry of a one-to-one conversation.
func directCreatedControl(a, b id.User) *chatv1.Control {
	users := []uint64{uint64(a), uint64(b)}
	return &chatv1.Control{Action: chatv1.Control_ACTION_CREATED, Actor: uint64(a), Users: slices.Compact(users)}
}

// appendCreated appends the first entry, unless the log has it.
func (s *Service) appendCreated(ctx context.Context, c id.Conversation, control *chatv1.Control) error {
	if st, err := s.cachedState(ctx, c); err != nil || st.access != 0 {
		return err
	}
	seq, err := s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		if st.access != 0 {
			return nil, nil
		}
		return control, nil
	})
	s.resizeGroupAfter(ctx, c, seq)
	return err
}

// isStorableText reports whether the database can store a text: PostgreSQL accepts neither U+0000 nor invalid UTF-8.
func isStorableText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func parseTitle(title string) (string, error) {
	title = strings.TrimSpace(title)
	if utf8.RuneCountInString(title) > 100 || !message.IsName(title) {
		return "", errs.New(errs.Invalid, "bad_title", "a group's title has 1 to 100 characters in one line, at least one visible character, no control, text-direction or invisible characters, and not more than six marks on one letter")
	}
	return title, nil
}

// CreateGroup creates a group with its owner and first members. With a key, a retry returns the first group.
func (s *Service) CreateGroup(ctx context.Context, owner id.User, r *chatv1.CreateGroupRequest) (id.Conversation, error) {
	return s.CreateGroupBy(ctx, id.Caller{User: owner}, r)
}

// serviceKey begins the keys of groups that services make in a user's name. Otherwise a user could make a group under such a key, hand it over to
// others, and let the service take it from them.
const serviceKey = "\x01"

// CreateGroupBy is CreateGroup by a caller. A server may add users who do not let others add them.
func (s *Service) CreateGroupBy(ctx context.Context, by id.Caller, r *chatv1.CreateGroupRequest) (id.Conversation, error) {
	if strings.HasPrefix(r.Key, serviceKey) {
		return 0, errGroupKey
	}
	return s.createGroupBy(ctx, by, r)
}

// CreateGroupFor is CreateGroupBy for a service of this server. Its keys are apart from those of users and of other services.
func (s *Service) CreateGroupFor(ctx context.Context, service string, by id.Caller, r *chatv1.CreateGroupRequest) (id.Conversation, error) {
	r = proto.CloneOf(r)
	r.Key = serviceKey + service + " " + r.Key
	return s.createGroupBy(ctx, by, r)
}

func (s *Service) createGroupBy(ctx context.Context, by id.Caller, r *chatv1.CreateGroupRequest) (id.Conversation, error) {
	owner := by.User
	title, err := parseTitle(r.Title)
	if err != nil {
		return 0, err
	}
	word, err := s.checkTitle(title)
	if err != nil {
		return 0, err
	}
	if len(r.Key) > 64 || !isStorableText(r.Key) {
		return 0, errGroupKey
	}
	if err := s.checkOwner(ctx, owner); err != nil {
		return 0, err
	}
	members, err := s.checkInvitees(ctx, owner, r.Members)
	if err != nil {
		return 0, err
	}
	var invited []id.User
	refund := func() {}
	if !by.Server {
		if invited, refund, err = s.checkAdd(ctx, owner, members); err != nil {
			return 0, err
		}
	}
	if r.Notices != 0 && !by.Server {
		return 0, errNoticesKey
	}
	c, err := s.createGroup(ctx, owner, title, without(members, invited), r)
	if errs.IsRefusal(err) {
		refund()
	}
	if err == nil {
		s.flagTitle(c, title, word)
	}
	if err == nil && len(invited) > 0 {
		err = s.inviteAtCreation(ctx, c, owner, invited)
	}
	return c, err
}

// inviteAtCreation invites users to a group that its creator has just made, or that a retry found. Who is no longer an admin of it invites nobody.
func (s *Service) inviteAtCreation(ctx context.Context, c id.Conversation, creator id.User, invited []id.User) error {
	st, err := s.linearizableState(ctx, c)
	if err != nil || st.role(creator) < roleAdmin {
		return err
	}
	return s.storeInvitations(ctx, c, creator, invited)
}

func (s *Service) createGroup(ctx context.Context, owner id.User, title string, members []id.User, r *chatv1.CreateGroupRequest) (id.Conversation, error) {
	if err := s.checkCapacity(&state{}, len(members)+1); err != nil {
		return 0, err
	}
	policy := r.JoinPolicy
	if policy == 0 {
		policy = chatv1.JoinPolicy_JOIN_POLICY_INVITE
	}
	if policy < 1 || policy > 3 {
		return 0, errJoinPolicy
	}
	if r.Channel && (len(r.Members) > 0 || policy == chatv1.JoinPolicy_JOIN_POLICY_APPROVAL) {
		return 0, errChannelMembers
	}
	if r.Notices != 0 && (!r.Channel || policy != chatv1.JoinPolicy_JOIN_POLICY_INVITE || r.Notices < 0 || r.Notices > noticesSegment || r.Key == "") {
		return 0, errBadNotices
	}
	c, err := s.insertGroup(ctx, owner, r)
	if err != nil {
		return 0, err
	}
	return c, s.appendCreated(ctx, c, &chatv1.Control{Action: chatv1.Control_ACTION_CREATED, Actor: uint64(owner), Users: userNumbers(members), Text: title, JoinPolicy: policy})
}

// insertGroup returns the group of the row with a key, which it inserts first where it is missing.
func (s *Service) insertGroup(ctx context.Context, owner id.User, r *chatv1.CreateGroupRequest) (id.Conversation, error) {
	n, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return 0, err
	}
	c := id.Conversation(n)
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `INSERT INTO conversations (id, kind, creator, create_key, channel, notices) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
			int64(n), group, int64(owner), sql.NullString{String: r.Key, Valid: r.Key != ""}, r.Channel, r.Notices)
		if err != nil {
			return err
		}
		if created, err := done.RowsAffected(); err != nil || created > 0 {
			return err
		}
		err = tx.QueryRowContext(ctx, `SELECT id FROM conversations WHERE creator = $1 AND create_key = $2`, int64(owner), r.Key).Scan(&c)
		if errors.Is(err, sql.ErrNoRows) {
			return errNoticesExist
		}
		return err
	})
	return c, err
}

func userNumbers(users []id.User) []uint64 {
	list := make([]uint64, len(users))
	for i, u := range users {
		list[i] = uint64(u)
	}
	return list
}
