package chat

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/errs"
	"github.com/rialto-im/rialto/internal/id"
)

const (
	direct = chatv1.ConversationKind_CONVERSATION_KIND_DIRECT
	group  = chatv1.ConversationKind_CONVERSATION_KIND_GROUP
)

// inviteMost bounds the users of one call.
const inviteMost = 500

func (s *Service) findDirect(ctx context.Context, a, b id.User) (c id.Conversation, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT id FROM conversations WHERE lo = $1 AND hi = $2`, int64(min(a, b)), int64(max(a, b))).Scan(&c)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return c, err
}

// OpenDirect gives the one-to-one conversation of two users, made at the first call.
func (s *Service) OpenDirect(ctx context.Context, a, b id.User) (id.Conversation, error) {
	if a == b {
		return 0, errs.New(errs.Invalid, "self", "this is yourself")
	}
	if err := s.deps.Relations.Exist(ctx, []id.User{b}); err != nil {
		return 0, err
	}
	c, err := s.findDirect(ctx, a, b)
	if err != nil {
		return 0, err
	}
	if c == 0 {
		if blocked, err := s.deps.Relations.Blocked(ctx, a, b); err != nil || blocked {
			return 0, errors.Join(err, errBlocked)
		}
		n, err := s.deps.IDs.Next(ctx)
		if err != nil {
			return 0, err
		}
		err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `INSERT INTO conversations (id, kind, lo, hi) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, int64(n), direct, int64(min(a, b)), int64(max(a, b))); err != nil {
				return err
			}
			return tx.QueryRowContext(ctx, `SELECT id FROM conversations WHERE lo = $1 AND hi = $2`, int64(min(a, b)), int64(max(a, b))).Scan(&c)
		})
		if err != nil {
			return 0, err
		}
	}
	return c, s.create(ctx, c, created(a, b))
}

// created is the first entry of a one-to-one conversation.
func created(a, b id.User) *chatv1.Control {
	return &chatv1.Control{Action: chatv1.Control_ACTION_CREATED, Actor: uint64(a), Users: []uint64{uint64(a), uint64(b)}}
}

// create appends the first entry, unless it is there.
func (s *Service) create(ctx context.Context, c id.Conversation, control *chatv1.Control) error {
	if st, err := s.get(ctx, c); err != nil || st.access != 0 {
		return err
	}
	seq, err := s.change(ctx, c, func(st *state) (*chatv1.Control, error) {
		if st.access != 0 {
			return nil, nil
		}
		return control, nil
	})
	s.resizeAfter(ctx, c, seq)
	return err
}

// storable tells whether a text can be in the records: PostgreSQL takes neither U+0000 nor what is not UTF-8.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func parseTitle(title string) (string, error) {
	title = strings.TrimSpace(title)
	if n := utf8.RuneCountInString(title); n < 1 || n > 100 || checkText([]byte(title)) != nil {
		return "", errs.New(errs.Invalid, "bad_title", "a group's title has 1 to 100 characters")
	}
	return title, nil
}

// CreateGroup makes a group with its owner and first members. With a key, a retry gives the first group.
func (s *Service) CreateGroup(ctx context.Context, owner id.User, r *chatv1.CreateGroupRequest) (id.Conversation, error) {
	title, err := parseTitle(r.Title)
	if err != nil {
		return 0, err
	}
	if len(r.Key) > 64 || !storable(r.Key) {
		return 0, errs.New(errs.Invalid, "bad_key", "a key has at most 64 bytes")
	}
	members, err := s.invited(ctx, owner, r.Members)
	if err != nil {
		return 0, err
	}
	if err := s.full(&state{}, len(members)+1); err != nil {
		return 0, err
	}
	policy := r.JoinPolicy
	if policy == 0 {
		policy = chatv1.JoinPolicy_JOIN_POLICY_INVITE
	}
	if policy < 1 || policy > 3 {
		return 0, errJoinPolicy
	}
	n, err := s.deps.IDs.Next(ctx)
	if err != nil {
		return 0, err
	}
	c := id.Conversation(n)
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO conversations (id, kind, creator, create_key) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			int64(n), group, int64(owner), sql.NullString{String: r.Key, Valid: r.Key != ""}); err != nil {
			return err
		}
		if r.Key == "" {
			return nil
		}
		return tx.QueryRowContext(ctx, `SELECT id FROM conversations WHERE creator = $1 AND create_key = $2`, int64(owner), r.Key).Scan(&c)
	})
	if err != nil {
		return 0, err
	}
	return c, s.create(ctx, c, &chatv1.Control{Action: chatv1.Control_ACTION_CREATED, Actor: uint64(owner), Users: raw(members), Text: title, JoinPolicy: policy})
}

func raw(users []id.User) []uint64 {
	list := make([]uint64, len(users))
	for i, u := range users {
		list[i] = uint64(u)
	}
	return list
}

// invited checks a list of users whom by brings in: they exist, and none has blocked by.
func (s *Service) invited(ctx context.Context, by id.User, list []uint64) ([]id.User, error) {
	if len(list) > inviteMost {
		return nil, errs.New(errs.Invalid, "too_many_users", "bring in at most 500 users at once")
	}
	users := make([]id.User, 0, len(list))
	for _, u := range list {
		if id.User(u) != by {
			users = append(users, id.User(u))
		}
	}
	slices.Sort(users)
	users = slices.Compact(users)
	if err := s.deps.Relations.Exist(ctx, users); err != nil {
		return nil, err
	}
	for _, u := range users {
		if blocked, err := s.deps.Relations.Blocked(ctx, by, u); err != nil || blocked {
			return nil, errors.Join(err, errs.New(errs.Denied, "blocked", "one of these users cannot be brought in by you"))
		}
	}
	return users, nil
}
