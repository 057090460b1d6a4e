package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

var migrations = []string{
	`CREATE TABLE conversations (id BIGINT PRIMARY KEY, kind BIGINT NOT NULL, title TEXT NOT NULL DEFAULT '', announcement TEXT NOT NULL DEFAULT '',
		avatar BIGINT NOT NULL DEFAULT 0, join_policy BIGINT NOT NULL DEFAULT 1, muted_all_ms BIGINT NOT NULL DEFAULT 0, dissolved BOOLEAN NOT NULL DEFAULT FALSE,
		large BIGINT NOT NULL DEFAULT 0, lo BIGINT, hi BIGINT, creator BIGINT, create_key TEXT, link TEXT UNIQUE, applied BIGINT NOT NULL DEFAULT 0,
		UNIQUE (lo, hi), UNIQUE (creator, create_key))`,
	`CREATE TABLE members (conversation BIGINT NOT NULL, member BIGINT NOT NULL, role BIGINT NOT NULL, join_seq BIGINT NOT NULL, leave_seq BIGINT NOT NULL DEFAULT 0,
		muted_until_ms BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (conversation, member))`,
	`CREATE INDEX members_member ON members (member, conversation)`,
	`CREATE TABLE join_requests (conversation BIGINT NOT NULL, member BIGINT NOT NULL, message TEXT NOT NULL, time_ms BIGINT NOT NULL, PRIMARY KEY (conversation, member))`,
	`ALTER TABLE members ADD COLUMN first_seq BIGINT NOT NULL DEFAULT 1`,
	`ALTER TABLE members ADD COLUMN seen_last {bytes}`, // of a former member: the Conversation at that time
	`ALTER TABLE conversations ADD COLUMN retention BIGINT NOT NULL DEFAULT 0`,
	`CREATE INDEX conversations_retention ON conversations (id) WHERE retention > 0`,
	`CREATE INDEX conversations_large ON conversations (id) WHERE large > 0`, // few rows
	// For paged lists: the last activity, and whether the group is large. When the user's list is rebuilt, it replaces a 0 from before.
	`ALTER TABLE members ADD COLUMN active_ms BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE members ADD COLUMN large BOOLEAN NOT NULL DEFAULT FALSE`,
	`UPDATE members SET large = TRUE WHERE conversation IN (SELECT id FROM conversations WHERE large > 0)`,
	`CREATE INDEX members_active ON members (member, active_ms, conversation) WHERE leave_seq = 0`,
	`CREATE INDEX members_former ON members (member, active_ms, conversation) WHERE leave_seq > 0`,
	`CREATE INDEX members_large ON members (member, conversation) WHERE large AND leave_seq = 0`,
	`ALTER TABLE members ADD COLUMN removed BOOLEAN NOT NULL DEFAULT FALSE`,
	`CREATE TABLE bans (conversation BIGINT NOT NULL, member BIGINT NOT NULL, PRIMARY KEY (conversation, member))`,
	`ALTER TABLE conversations ADD COLUMN link_until_ms BIGINT NOT NULL DEFAULT 0`, // 0: never
	// What updates made of messages. Seq is the message's, edit_seq and so on that of the update.
	`CREATE TABLE message_updates (conversation BIGINT NOT NULL, seq BIGINT NOT NULL, edit_seq BIGINT NOT NULL DEFAULT 0, recall_seq BIGINT NOT NULL DEFAULT 0,
		recalled_by BIGINT NOT NULL DEFAULT 0, pin_seq BIGINT NOT NULL DEFAULT 0, pinned BOOLEAN NOT NULL DEFAULT FALSE, reactions {bytes}, PRIMARY KEY (conversation, seq))`,
	`CREATE INDEX message_updates_recalled ON message_updates (conversation, seq) WHERE recall_seq > 0`,
	`CREATE INDEX message_updates_pinned ON message_updates (conversation, pin_seq) WHERE pinned`,
	`CREATE TABLE message_edits (conversation BIGINT NOT NULL, seq BIGINT NOT NULL, edit_seq BIGINT NOT NULL, PRIMARY KEY (conversation, seq, edit_seq))`,
	// The key is for what one user has, such as to erase it, and the index for who reacted to a message: neither reads past those who took theirs back.
	`CREATE TABLE reactions (conversation BIGINT NOT NULL, seq BIGINT NOT NULL, emoji TEXT NOT NULL, member BIGINT NOT NULL, at_seq BIGINT NOT NULL, active BOOLEAN NOT NULL,
		PRIMARY KEY (conversation, member, seq, emoji))`,
	`CREATE INDEX reactions_message ON reactions (conversation, seq, emoji, active, member)`,
	`ALTER TABLE conversations ADD COLUMN controls BIGINT NOT NULL DEFAULT 0`, // too low in rows from before: their updates are looked up always
	// Member 0: everybody. Edit_seq is that of the edit with the mention; 0: the message itself.
	`CREATE TABLE mentions (conversation BIGINT NOT NULL, member BIGINT NOT NULL, seq BIGINT NOT NULL, edit_seq BIGINT NOT NULL, PRIMARY KEY (conversation, member, seq, edit_seq))`,
	`CREATE INDEX mentions_seq ON mentions (conversation, seq)`,
	// Channels: a follower is a row of members that has no control entry. Followers is their number.
	`ALTER TABLE conversations ADD COLUMN channel BOOLEAN NOT NULL DEFAULT FALSE`,
	`ALTER TABLE conversations ADD COLUMN followers BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE members ADD COLUMN follower BOOLEAN NOT NULL DEFAULT FALSE`,
	`CREATE INDEX members_follower ON members (conversation, follower)`, // a state loads without the followers
	// Of a follower who was a member before: where that membership ended. It has its leave_seq again when the user no longer follows.
	`ALTER TABLE members ADD COLUMN former_leave_seq BIGINT NOT NULL DEFAULT 0`,
	`CREATE INDEX members_returned ON members (conversation) WHERE former_leave_seq > 0`,
	`ALTER TABLE conversations ADD COLUMN handle TEXT`, // of a channel
	`CREATE UNIQUE INDEX conversations_handle ON conversations (handle)`,
	// Threads: the conversation and the message that a thread is under. Members.thread is true for a thread's members.
	`ALTER TABLE conversations ADD COLUMN parent BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE conversations ADD COLUMN root BIGINT NOT NULL DEFAULT 0`,
	`CREATE UNIQUE INDEX conversations_thread ON conversations (parent, root) WHERE parent <> 0`,
	`ALTER TABLE message_updates ADD COLUMN thread BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE members ADD COLUMN thread BOOLEAN NOT NULL DEFAULT FALSE`,
	`DROP INDEX members_active`,
	`CREATE INDEX members_active ON members (member, active_ms, conversation) WHERE leave_seq = 0 AND NOT thread`,
	`DROP INDEX members_former`,
	`CREATE INDEX members_former ON members (member, active_ms, conversation) WHERE leave_seq > 0 AND NOT thread`,
	`CREATE INDEX members_thread ON members (member, active_ms, conversation) WHERE leave_seq = 0 AND thread`,
	`UPDATE conversations SET retention = retention * 86400 WHERE retention > 0`, // seconds since then, days before
	`CREATE INDEX conversations_short_retention ON conversations (id) WHERE retention > 0 AND retention < 86400`,
	// What members, and former ones, deleted for themselves: the history up to through_seq. Deleted: the conversation is not on the list.
	`CREATE TABLE cleared (owner BIGINT NOT NULL, conversation BIGINT NOT NULL, through_seq BIGINT NOT NULL, through_counted BIGINT NOT NULL, deleted BOOLEAN NOT NULL,
		PRIMARY KEY (owner, conversation))`,
	// Messages that users deleted for themselves, at most maxDeletedMessages of a user in a conversation.
	`CREATE TABLE deleted_messages (owner BIGINT NOT NULL, conversation BIGINT NOT NULL, seq BIGINT NOT NULL, PRIMARY KEY (owner, conversation, seq))`,
	`CREATE INDEX deleted_messages_seq ON deleted_messages (conversation, seq)`, // to expire
	// A row with an inviter is an invitation: the group has agreed, and the user has to. With inviter 0 it is the other way round.
	`ALTER TABLE join_requests ADD COLUMN inviter BIGINT NOT NULL DEFAULT 0`,
	`CREATE INDEX join_requests_invited ON join_requests (member, time_ms) WHERE inviter <> 0`,
	// Channels of system notices, see notices.go: 1 is followed by everybody.
	`ALTER TABLE conversations ADD COLUMN notices BIGINT NOT NULL DEFAULT 0`,
	`CREATE UNIQUE INDEX conversations_notices ON conversations (notices) WHERE notices = 1 AND NOT dissolved`,
	`ALTER TABLE conversations ADD COLUMN ticket BIGINT NOT NULL DEFAULT 0`,         // see ticket.go
	`ALTER TABLE conversations ADD COLUMN importing BOOLEAN NOT NULL DEFAULT FALSE`, // see import.go
	// Authors of imported and of bridged entries who were no members then, and have no row of members, or a later one.
	`CREATE TABLE imported_authors (author BIGINT NOT NULL, conversation BIGINT NOT NULL, PRIMARY KEY (author, conversation))`,
	// Of a recalled message: it did not count as unread, since only its sender saw it.
	`ALTER TABLE message_updates ADD COLUMN limited BOOLEAN NOT NULL DEFAULT FALSE`,
	`CREATE INDEX conversations_importing ON conversations (id) WHERE importing`,
	`ALTER TABLE message_updates ADD COLUMN bridges {bytes}`, // a Message with bridge_deliveries
	`ALTER TABLE conversations ADD COLUMN revoked_link TEXT`, // the latest one
	`CREATE INDEX conversations_revoked_link ON conversations (revoked_link) WHERE revoked_link IS NOT NULL`,
}

// readState reads the rows of a conversation, and applies the control entries that the rows lack.
func (s *Service) readState(ctx context.Context, c id.Conversation) (*state, error) {
	st := &state{id: c, members: map[id.User]member{}}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT kind, title, announcement, avatar, join_policy, muted_all_ms, dissolved, large, retention, coalesce(lo, 0), coalesce(hi, 0), applied, controls, channel, parent, root, notices, ticket, importing
		FROM conversations WHERE id = $1`, int64(c)).Scan(&st.kind, &st.title, &st.announcement, &st.avatar, &st.policy, &st.mutedAllMs, &st.dissolved, &st.large, &st.retention, &st.lowUser, &st.highUser, &st.access, &st.controls, &st.channel, &st.parentID, &st.rootSeq, &st.notices, &st.ticket, &st.importing)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoConversation
	}
	if err != nil {
		return nil, err
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member, role, first_seq, join_seq, leave_seq, muted_until_ms, removed, seen_last FROM members WHERE conversation = $1 AND follower = FALSE
		UNION ALL SELECT member, role, first_seq, join_seq, former_leave_seq, muted_until_ms, removed, seen_last FROM members WHERE conversation = $1 AND former_leave_seq > 0`, int64(c))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var u id.User
		var m member
		var snapshot []byte
		if err := rows.Scan(&u, &m.role, &m.firstJoinSeq, &m.joinSeq, &m.leaveSeq, &m.mutedUntilMs, &m.removed, &snapshot); err != nil {
			return nil, err
		}
		if m.leaveSeq != 0 {
			m.snapshotAtLeave = &chatv1.Conversation{Id: uint64(c), Kind: st.kind}
			if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(snapshot, m.snapshotAtLeave); err != nil {
				return nil, err
			}
		}
		st.members[u] = m
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	st.deriveMembers()
	if st.bans, err = s.readBans(ctx, c); err != nil {
		return nil, err
	}
	if st, err = s.applyMissingControls(ctx, st); err != nil {
		return nil, err
	}
	if st.retention != 0 {
		s.customRetention.Store(true) // another node may have set it
	}
	return s.withCurrentRelation(ctx, st)
}

// applyMissingControls walks the control entries back from the log's access version to that of the rows, and applies them in order.
func (s *Service) applyMissingControls(ctx context.Context, st *state) (*state, error) {
	tail, err := s.deps.Log.Tail(ctx, logKey(st.id))
	if err != nil {
		return nil, err
	}
	st.firstSeq = tail.FirstSeq
	type step struct {
		seq     uint64
		ms      int64
		control *chatv1.Control
	}
	var missing []step
	for seq := tail.Access; seq > st.access; {
		control, ms, err := s.readControlAt(ctx, st.id, seq)
		if err != nil {
			return nil, err
		}
		missing = append(missing, step{seq, ms, control})
		seq = control.PrevAccess
	}
	for _, m := range slices.Backward(missing) {
		next, users := st.apply(m.seq, m.control)
		if err := s.project(ctx, next, m.control, users, m.ms); err != nil {
			return nil, err
		}
		st = next
	}
	return st, nil
}

// readControl reads the control entry at seq.
func (s *Service) readControl(ctx context.Context, c id.Conversation, seq uint64) (*chatv1.Control, error) {
	control, _, err := s.readControlAt(ctx, c, seq)
	return control, err
}

// readControlAt reads the control entry at seq, and its time.
func (s *Service) readControlAt(ctx context.Context, c id.Conversation, seq uint64) (control *chatv1.Control, ms int64, err error) {
	entries, err := s.deps.Log.Get(ctx, []timeline.Ref{{Key: logKey(c), From: seq, To: seq}})
	if err != nil {
		return nil, 0, err
	}
	if len(entries) == 0 {
		return nil, 0, fmt.Errorf("control entry %d is missing in the log: %w", seq, errCorrupt)
	}
	if control, ms, err = decodeControl(entries[0].Payload); err != nil {
		return nil, 0, fmt.Errorf("control entry %d cannot be read: %w", seq, errors.Join(errCorrupt, err))
	}
	return control, ms, nil
}

func decodeControl(stored []byte) (control *chatv1.Control, ms int64, err error) {
	var e message.Entry
	if err := e.Decode(stored); err != nil {
		return nil, 0, err
	}
	var content chatv1.Content
	if err := proto.Unmarshal(e.Content, &content); err != nil {
		return nil, 0, err
	}
	if content.GetControl() == nil {
		return nil, 0, errors.New("an entry that changed the access list is not a control entry; run rialto verify")
	}
	return content.GetControl(), e.ID.Ms(), nil
}

// readBans reads the banned users of a group.
func (s *Service) readBans(ctx context.Context, c id.Conversation) (map[id.User]struct{}, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT member FROM bans WHERE conversation = $1`, int64(c))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var bans map[id.User]struct{}
	for rows.Next() {
		var u id.User
		if err := rows.Scan(&u); err != nil {
			return nil, err
		}
		if bans == nil {
			bans = map[id.User]struct{}{}
		}
		bans[u] = struct{}{}
	}
	return bans, rows.Err()
}

// project writes the rows of a state after a control entry. It is idempotent.
func (s *Service) project(ctx context.Context, st *state, control *chatv1.Control, users []id.User, ms int64) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE conversations SET title = $1, announcement = $2, avatar = $3, join_policy = $4, muted_all_ms = $5, dissolved = $6, large = $7, applied = $8,
			retention = CASE WHEN parent = 0 THEN $10 ELSE retention END, controls = $11, ticket = $12, importing = $13 WHERE id = $9 AND applied < $8`, st.title, st.announcement, int64(st.avatar), st.policy, st.mutedAllMs, st.dissolved, st.large, int64(st.access), int64(st.id), st.retention, int64(st.controls), int64(st.ticket), st.importing)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err
		}
		switch control.Action {
		case chatv1.Control_ACTION_LARGE, chatv1.Control_ACTION_SMALL:
			_, err = tx.ExecContext(ctx, `UPDATE members SET large = $1 WHERE conversation = $2`, st.large != 0, int64(st.id))
		case chatv1.Control_ACTION_BANNED, chatv1.Control_ACTION_UNBANNED:
			err = projectBans(ctx, tx, st, control.Users)
		case chatv1.Control_ACTION_DISSOLVED: // others may use its handle
			_, err = tx.ExecContext(ctx, `UPDATE conversations SET handle = NULL WHERE id = $1`, int64(st.id))
		case chatv1.Control_ACTION_RETENTION: // its threads have the same
			_, err = tx.ExecContext(ctx, `UPDATE conversations SET retention = $1 WHERE parent = $2 AND parent <> 0`, st.retention, int64(st.id))
		}
		if err != nil {
			return err
		}
		for _, u := range users {
			if err := s.projectMember(ctx, tx, st, u, ms); err != nil {
				return err
			}
		}
		if control.Action == chatv1.Control_ACTION_JOINED {
			return deleteAnsweredInvitations(ctx, tx, st.id)
		}
		return nil
	})
	if err == nil && st.channel && s.deps.Outbox != nil {
		s.deps.Outbox.Wake() // for the cursors of projectFollower
	}
	return err
}

func projectBans(ctx context.Context, tx *sql.Tx, st *state, users []uint64) error {
	for _, u := range users {
		query := `DELETE FROM bans WHERE conversation = $1 AND member = $2`
		if st.banned(id.User(u)) {
			query = `INSERT INTO bans (conversation, member) VALUES ($1, $2) ON CONFLICT DO NOTHING`
		}
		if _, err := tx.ExecContext(ctx, query, int64(st.id), int64(u)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) projectMember(ctx context.Context, tx *sql.Tx, st *state, u id.User, ms int64) error {
	m := st.members[u]
	var snapshot []byte
	if m.snapshotAtLeave != nil {
		var err error
		if snapshot, err = proto.Marshal(m.snapshotAtLeave); err != nil {
			return err
		}
	}
	if st.channel {
		if err := s.projectFollower(ctx, tx, st, u); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO members (conversation, member, role, join_seq, leave_seq, muted_until_ms, first_seq, seen_last, large, active_ms, removed, thread) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (conversation, member) DO UPDATE SET role = $3, join_seq = $4, leave_seq = $5, muted_until_ms = $6, first_seq = $7, seen_last = $8, large = $9,
		active_ms = CASE WHEN members.active_ms < $10 THEN $10 ELSE members.active_ms END, removed = $11`,
		int64(st.id), int64(u), m.role, int64(m.joinSeq), int64(m.leaveSeq), m.mutedUntilMs, int64(m.firstJoinSeq), snapshot, st.large != 0, ms, m.removed, st.kind == thread)
	return err
}

// cachedState returns the state in memory, or loads it.
func (s *Service) cachedState(ctx context.Context, c id.Conversation) (*state, error) {
	r := s.conversation(c)
	r.mu.Lock()
	st := r.state
	r.mu.Unlock()
	if st != nil {
		return st, nil
	}
	r.changeMu.Lock()
	defer r.changeMu.Unlock()
	return s.loadState(ctx, r)
}

// loadState loads the state unless it is in memory. The caller holds changeMu.
func (s *Service) loadState(ctx context.Context, r *conversation) (*state, error) {
	r.mu.Lock()
	st := r.state
	r.mu.Unlock()
	if st != nil {
		return st, nil
	}
	st, err := s.readState(ctx, r.id)
	if err != nil {
		if errors.Is(err, errNoConversation) {
			s.mu.Lock()
			if s.conversations[r.id] == r {
				delete(s.conversations, r.id) // ids of no conversation take no memory
			}
			s.mu.Unlock()
			r.mu.Lock()
			r.detached = true
			r.mu.Unlock()
		}
		return nil, err
	}
	r.mu.Lock()
	r.state = st
	r.mu.Unlock()
	return st, nil
}
