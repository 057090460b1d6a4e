package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
	"google.golang.org/protobuf/proto"
)

var steps = []string{
	`CREATE TABLE conversations (id BIGINT PRIMARY KEY, kind BIGINT NOT NULL, title TEXT NOT NULL DEFAULT '', announcement TEXT NOT NULL DEFAULT '',
		avatar BIGINT NOT NULL DEFAULT 0, join_policy BIGINT NOT NULL DEFAULT 1, muted_all_ms BIGINT NOT NULL DEFAULT 0, dissolved BOOLEAN NOT NULL DEFAULT FALSE,
		large BIGINT NOT NULL DEFAULT 0, lo BIGINT, hi BIGINT, creator BIGINT, create_key TEXT, link TEXT UNIQUE, applied BIGINT NOT NULL DEFAULT 0,
		UNIQUE (lo, hi), UNIQUE (creator, create_key))`,
	`CREATE TABLE members (conversation BIGINT NOT NULL, member BIGINT NOT NULL, role BIGINT NOT NULL, join_seq BIGINT NOT NULL, leave_seq BIGINT NOT NULL DEFAULT 0,
		muted_until_ms BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (conversation, member))`,
	`CREATE INDEX members_member ON members (member, conversation)`,
	`CREATE TABLE join_requests (conversation BIGINT NOT NULL, member BIGINT NOT NULL, message TEXT NOT NULL, time_ms BIGINT NOT NULL, PRIMARY KEY (conversation, member))`,
	`ALTER TABLE members ADD COLUMN first_seq BIGINT NOT NULL DEFAULT 1`,
	`ALTER TABLE members ADD COLUMN seen_last {bytes}`, // of one who left: a Conversation, as it was then
	`ALTER TABLE conversations ADD COLUMN retention BIGINT NOT NULL DEFAULT 0`,
	`CREATE INDEX conversations_retention ON conversations (id) WHERE retention > 0`,
	`CREATE INDEX conversations_large ON conversations (id) WHERE large > 0`, // they are few
}

// load reads a conversation's projection, and applies the control entries that it has not yet.
func (s *Service) load(ctx context.Context, c id.Conversation) (*state, error) {
	st := &state{id: c, members: map[id.User]member{}}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT kind, title, announcement, avatar, join_policy, muted_all_ms, dissolved, large, retention, coalesce(lo, 0), coalesce(hi, 0), applied
		FROM conversations WHERE id = $1`, int64(c)).Scan(&st.kind, &st.title, &st.announcement, &st.avatar, &st.policy, &st.mutedAllMs, &st.dissolved, &st.large, &st.retention, &st.lo, &st.hi, &st.access)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoConversation
	}
	if err != nil {
		return nil, err
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member, role, first_seq, join_seq, leave_seq, muted_until_ms, seen_last FROM members WHERE conversation = $1`, int64(c))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var u id.User
		var m member
		var left []byte
		if err := rows.Scan(&u, &m.role, &m.first, &m.join, &m.leave, &m.mutedUntilMs, &left); err != nil {
			return nil, err
		}
		if m.leave != 0 {
			m.left = &chatv1.Conversation{Id: uint64(c), Kind: st.kind}
			if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(left, m.left); err != nil {
				return nil, err
			}
		}
		st.members[u] = m
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	st.settle()
	if st, err = s.catchUp(ctx, st); err != nil {
		return nil, err
	}
	if st.retention != 0 {
		s.some.Store(true) // another node may have set it
	}
	return s.withRelation(ctx, st)
}

// withRelation looks up whether the two of a one-to-one conversation may write.
func (s *Service) withRelation(ctx context.Context, st *state) (*state, error) {
	if st.kind != chatv1.ConversationKind_CONVERSATION_KIND_DIRECT {
		return st, nil
	}
	blocked, err := s.deps.Relations.Blocked(ctx, st.lo, st.hi)
	if err != nil {
		return nil, err
	}
	if !blocked && s.config.WhoMayWrite == "friends" {
		friends, err := s.deps.Relations.Friends(ctx, st.lo, st.hi)
		if err != nil {
			return nil, err
		}
		blocked = !friends
	}
	n := *st
	n.blocked, n.unknown, n.relatedMs = blocked, nil, 0
	if s.hook != nil && !blocked {
		n.relatedMs = s.deps.Clock.Now().UnixMilli()
		n.blocked, n.unknown = s.askRelation(ctx, st.lo, st.hi)
	}
	return &n, nil
}

// catchUp walks the control entries back from the log's access version to the projection's, and applies them.
func (s *Service) catchUp(ctx context.Context, st *state) (*state, error) {
	tail, err := s.deps.Log.Tail(ctx, key(st.id))
	if err != nil {
		return nil, err
	}
	st.head = tail.Head
	type step struct {
		seq     uint64
		control *chatv1.Control
	}
	var missing []step
	for seq := tail.Access; seq > st.access; {
		control, err := s.control(ctx, st.id, seq)
		if err != nil {
			return nil, err
		}
		missing = append(missing, step{seq, control})
		seq = control.PrevAccess
	}
	for _, m := range slices.Backward(missing) {
		next, users := st.apply(m.seq, m.control)
		if err := s.project(ctx, next, users); err != nil {
			return nil, err
		}
		st = next
	}
	return st, nil
}

// control reads the control entry at seq.
func (s *Service) control(ctx context.Context, c id.Conversation, seq uint64) (*chatv1.Control, error) {
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: key(c), From: seq, To: seq}})
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("control entry %d is missing in the log: %w", seq, errDamaged)
	}
	control, err := controlOf(entries[0].Payload)
	if err != nil {
		return nil, fmt.Errorf("control entry %d cannot be read: %w", seq, errors.Join(errDamaged, err))
	}
	return control, nil
}

func controlOf(stored []byte) (*chatv1.Control, error) {
	var e message.Entry
	if err := e.Decode(stored); err != nil {
		return nil, err
	}
	var content chatv1.Content
	if err := proto.Unmarshal(e.Content, &content); err != nil {
		return nil, err
	}
	if content.GetControl() == nil {
		return nil, errors.New("an entry that changed the access list is not a control entry; run rialto verify")
	}
	return content.GetControl(), nil
}

// project writes the rows of a state; repeated, it changes nothing.
func (s *Service) project(ctx context.Context, st *state, users []id.User) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE conversations SET title = $1, announcement = $2, avatar = $3, join_policy = $4, muted_all_ms = $5, dissolved = $6, large = $7, applied = $8,
			retention = $10 WHERE id = $9 AND applied < $8`, st.title, st.announcement, int64(st.avatar), st.policy, st.mutedAllMs, st.dissolved, st.large, int64(st.access), int64(st.id), st.retention)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err
		}
		for _, u := range users {
			m := st.members[u]
			var left []byte
			if m.left != nil {
				var err error
				if left, err = proto.Marshal(m.left); err != nil {
					return err
				}
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO members (conversation, member, role, join_seq, leave_seq, muted_until_ms, first_seq, seen_last) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
				ON CONFLICT (conversation, member) DO UPDATE SET role = $3, join_seq = $4, leave_seq = $5, muted_until_ms = $6, first_seq = $7, seen_last = $8`,
				int64(st.id), int64(u), m.role, int64(m.join), int64(m.leave), m.mutedUntilMs, int64(m.first), left); err != nil {
				return err
			}
		}
		return nil
	})
}

// get gives a conversation's state, loading it where needed.
func (s *Service) get(ctx context.Context, c id.Conversation) (*state, error) {
	r := s.room(c)
	r.mu.Lock()
	st := r.state
	r.mu.Unlock()
	if st != nil {
		return st, nil
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	return s.fill(ctx, r)
}

// fill loads the room's state unless it is there. The caller holds changing.
func (s *Service) fill(ctx context.Context, r *room) (*state, error) {
	r.mu.Lock()
	st := r.state
	r.mu.Unlock()
	if st != nil {
		return st, nil
	}
	st, err := s.load(ctx, r.id)
	if err != nil {
		if errors.Is(err, errNoConversation) {
			s.mu.Lock()
			if s.rooms[r.id] == r {
				delete(s.rooms, r.id) // names that nobody has take no memory
			}
			s.mu.Unlock()
			r.mu.Lock()
			r.gone = true
			r.mu.Unlock()
		}
		return nil, err
	}
	r.mu.Lock()
	r.state = st
	r.mu.Unlock()
	return st, nil
}
