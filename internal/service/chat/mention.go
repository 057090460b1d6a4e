package chat

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A mention names members of a group in a message. The rows of mentions are a projection of the log: one for each user who is mentioned, and
// one of everybody for all members. Unread mentions are those after the read cursor, so that nothing is counted. The rows of a message are
// written before its sender gets the answer, and before fan-out delivers it, as those of updates are.
//
// An edit has its own mentions, and rows of its own: those count that belong to the message's last edit, whatever the order in which rows are
// written. So an edit adds and removes mentions, but makes nothing unread that the user has read.

const (
	maxMentions  = 100
	maxRoleUsers = 100 // whom the mentions of a role name
	// maxUnreadMentions is the most seqs that UnreadMentions returns of a conversation.
	maxUnreadMentions = 100
	everybody         = id.User(0) // the row of a message that mentions all members
)

var (
	errMayNotMention = errs.New(errs.Denied, "not_allowed", "only admins and the owner mention everybody")
	errNotMentioned  = errs.New(errs.NotFound, "no_member", "mentions name members of the group only")
)

// validateMentions checks the form of a content's mentions.
func validateMentions(c *chatv1.Content) error {
	bad := func(what string) error { return errs.New(errs.Invalid, "bad_mention", what) }
	if len(c.Mentions) > maxMentions {
		return bad("a message has at most 100 mentions")
	}
	text := c.GetText()
	if caption := captionOf(c); caption != nil {
		text = *caption
	}
	if !message.AreRanges(text, c.Mentions) {
		return bad("mentions have ranges in the text or the caption that are in order and do not overlap")
	}
	for _, m := range c.Mentions {
		named := 0
		for _, yes := range []bool{m.User != 0, m.Role != 0, m.Everybody} {
			if yes {
				named++
			}
		}
		if named != 1 || m.Role != 0 && m.Role != roleAdmin || len(m.Users) != 0 {
			return bad("a mention has exactly one of user, role (admin) and everybody, and no users")
		}
	}
	return nil
}

// mentionsOf returns the mentions of a message, or of the new content of an edit.
func mentionsOf(c *chatv1.Content) []*chatv1.Mention {
	if e := c.GetEdit(); e != nil {
		return e.GetContent().GetMentions()
	}
	return c.GetMentions()
}

// checkMentions returns why a user may not mention these members, or writes into the first mention of a role whom it names: others would
// only repeat it, and a short text could be stored as a very large one.
func checkMentions(st *state, by id.User, mentions []*chatv1.Mention) error {
	listed, rules := false, st.rules()
	for _, m := range mentions {
		switch {
		case rules.kind == direct:
			return errs.New(errs.Invalid, "bad_mention", "mentions are in groups only")
		case m.Everybody && rules.role(by) < roleAdmin:
			return errMayNotMention
		case m.User != 0 && !st.mayBeMentioned(id.User(m.User)):
			return errNotMentioned
		case m.Role != 0:
			if m.Users = nil; !listed {
				m.Users, listed = st.mentionedAdmins(), true
			}
		}
	}
	return nil
}

// resolveMentions checks the mentions of a draft, and completes its content. Whoever may not write does not learn who the members are.
func resolveMentions(st *state, d *message.Draft, nowMs int64) error {
	var content chatv1.Content
	err := st.canSend(d.Sender, nowMs)
	if err == nil {
		err = proto.Unmarshal(d.Content, &content)
	}
	if err == nil {
		err = checkMentions(st, d.Sender, mentionsOf(&content))
	}
	if err == nil {
		d.Content, err = (proto.MarshalOptions{Deterministic: true}).Marshal(&content)
	}
	return err
}

// dropMentionedUsers removes what the server adds to mentions.
func dropMentionedUsers(c *chatv1.Content) {
	for _, m := range mentionsOf(c) {
		m.Users = nil
	}
}

// applyMentions writes the rows of the mentions in a message (editSeq 0) or in an edit of it.
func (u *update) applyMentions(ctx context.Context, tx *sql.Tx, editSeq uint64, mentions []*chatv1.Mention) error {
	if len(mentions) == 0 || u.limited {
		return nil
	}
	var users []id.User
	for _, m := range mentions {
		switch {
		case m.Everybody:
			users = append(users, everybody)
		case m.User != 0:
			users = append(users, id.User(m.User))
		}
		for _, n := range m.Users {
			users = append(users, id.User(n))
		}
	}
	if len(users) == 0 {
		return nil // mentions of a later version
	}
	slices.Sort(users)
	var outdated bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM message_updates WHERE conversation = $1 AND seq = $2 AND (recall_seq <> 0 OR edit_seq > $3))`,
		int64(u.conversation), int64(u.target), int64(editSeq)).Scan(&outdated); err != nil || outdated {
		return err // such rows are never read, and each retry would bring them back
	}
	users = slices.Compact(users)
	marks, members := sqldb.Placeholders(4, users, func(member id.User) int64 { return int64(member) })
	rows := "($1, " + strings.ReplaceAll(marks, ", ", ", $2, $3), ($1, ") + ", $2, $3)"
	if _, err := tx.ExecContext(ctx, `INSERT INTO mentions (conversation, member, seq, edit_seq) VALUES `+rows+` ON CONFLICT DO NOTHING`,
		append([]any{int64(u.conversation), int64(u.target), int64(editSeq)}, members...)...); err != nil || editSeq != 0 || u.onMentioned == nil {
		return err
	}
	var large bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM conversations WHERE id = $1 AND large > 0)`, int64(u.conversation)).Scan(&large); err != nil || !large {
		return err
	}
	return u.onMentioned(ctx, tx, u.conversation, u.target, users)
}

// deleteMentions deletes the rows of the target's contents before an edit.
func (u *update) deleteMentions(ctx context.Context, tx *sql.Tx, editSeq uint64) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM mentions WHERE conversation = $1 AND seq = $2 AND edit_seq < $3`, int64(u.conversation), int64(u.target), int64(editSeq))
	return err
}

// UnreadMentions returns, for each span, the seqs of the messages that mention a user, the lowest first, at most 100. Recalled messages are
// left out, and those that the user deleted. No two spans are of one conversation.
func (s *Service) UnreadMentions(ctx context.Context, u id.User, spans []Span) ([][]uint64, error) {
	mentions := make([][]uint64, len(spans))
	index := make(map[id.Conversation]int, len(spans))
	for i, span := range spans {
		index[span.Conversation] = i
	}
	for some := range slices.Chunk(spans, maxMessagesPerQuery/2) {
		args := []any{int64(u), maxUnreadMentions}
		terms := make([]string, len(some))
		for i, span := range some {
			at := len(args) + 1
			terms[i] = fmt.Sprintf("m.conversation = $%d AND m.member IN ($1, 0) AND m.seq > $%d AND m.seq <= $%d", at, at+1, at+2)
			args = append(args, int64(span.Conversation), int64(span.After), int64(min(span.Last, 1<<63-1)))
		}
		found, err := s.queryPairs(ctx, `SELECT DISTINCT conversation, seq FROM (
			SELECT m.conversation, m.seq, dense_rank() OVER (PARTITION BY m.conversation ORDER BY m.seq) AS place
			FROM mentions m LEFT JOIN message_updates p ON p.conversation = m.conversation AND p.seq = m.seq
			WHERE (`+strings.Join(terms, " OR ")+`) AND coalesce(p.recall_seq, 0) = 0 AND coalesce(p.edit_seq, 0) = m.edit_seq
				AND NOT EXISTS (SELECT 1 FROM deleted_messages d WHERE d.owner = $1 AND d.conversation = m.conversation AND d.seq = m.seq)) AS unread
			WHERE place <= $2 ORDER BY conversation, seq`, args...)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			i := index[id.Conversation(m[0])]
			mentions[i] = append(mentions[i], m[1])
		}
	}
	return mentions, nil
}
