package moderation

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/excerpt"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
	"google.golang.org/protobuf/proto"
)

// Content that the word filter flags is put into the moderators' queue soon after it is stored. No call waits for that. Waiting flags are lost when a node is killed. If flags
// arrive faster than the database stores them, some are dropped and counted.

// maxFlagged bounds the flags that wait for the database.
const maxFlagged = 1000

// flag is stored content with a word of a list.
type flag struct {
	of      subject
	about   id.User
	text    string
	word    string
	content *moderationv1.CaseContent
	// once: a case that was decided is not opened again. Otherwise the thing may have changed since.
	once bool
}

func (s *Service) flag(f flag) {
	select {
	case s.flags <- f:
	default:
		s.dropped.Add(1)
	}
}

// FlagMessage puts a message into the queue, as it was stored. Like the functions below, it does not block.
func (s *Service) FlagMessage(m *chatv1.Message, word string) {
	s.flag(flag{of: subject{ofMessage, m.Conversation, m.Seq}, about: id.User(m.Sender), text: textOf(m.Content), word: word, content: &moderationv1.CaseContent{Messages: []*chatv1.Message{m}}})
}

// FlagPost puts a post into the queue.
func (s *Service) FlagPost(p *feedv1.Post, word string) {
	s.flag(flag{of: subject{ofPost, p.Id, 0}, about: id.User(p.Author), text: p.Content.GetText(), word: word, content: &moderationv1.CaseContent{Post: p}})
}

// FlagComment puts a comment into the queue.
func (s *Service) FlagComment(c *commentv1.Comment, word string) {
	s.flag(flag{of: subject{ofComment, c.Id, 0}, about: id.User(c.Author), text: c.Content.GetText(), word: word, content: &moderationv1.CaseContent{Comment: c}})
}

// FlagUser puts a user into the queue, because of the name or the bio.
func (s *Service) FlagUser(u *accountv1.User, word string) {
	s.flag(flag{of: subject{ofUser, u.Id, 0}, about: id.User(u.Id), text: u.DisplayName, word: word, content: &moderationv1.CaseContent{User: u}})
}

// FlagGroup puts a group into the queue, because of its title.
func (s *Service) FlagGroup(c id.Conversation, title, word string) {
	group := &chatv1.Conversation{Id: uint64(c), Kind: chatv1.ConversationKind_CONVERSATION_KIND_GROUP, Title: title}
	s.flag(flag{of: subject{ofGroup, uint64(c), 0}, about: 0, text: title, word: word, content: &moderationv1.CaseContent{Group: group}})
}

// DroppedFlags counts what was flagged and not put into the queue.
func (s *Service) DroppedFlags() uint64 { return s.dropped.Load() }

// queueFlags puts what is flagged into the queue until ctx ends, and then what waits.
func (s *Service) queueFlags(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			s.queueRemaining()
			return
		case f := <-s.flags:
			s.queueFlag(ctx, f)
		}
	}
}

func (s *Service) queueRemaining() {
	ctx, cancel := context.WithTimeout(context.Background(), reloadTimeout)
	defer cancel()
	for {
		select {
		case f := <-s.flags:
			s.queueFlag(ctx, f)
		default:
			return
		}
	}
}

func (s *Service) queueFlag(ctx context.Context, f flag) {
	if err := s.storeFlag(context.WithoutCancel(ctx), f, func(*sql.Tx) error { return nil }); err != nil {
		s.dropped.Add(1)
		s.deps.Logger.Warn("content with a word of a list was not put into the moderators' queue", "kind", f.of.kind, "id", f.of.item, "seq", f.of.seq, "error", err)
	}
}

// storeFlag reports something in the name of the word filter, or of a webhook, once for each case. A new one is admitted first.
func (s *Service) storeFlag(ctx context.Context, f flag, admit func(tx *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	encoded, err := proto.Marshal(f.content)
	if err != nil {
		return err
	}
	var ids [2]uint64 // of the case and of the report
	for i := range ids {
		if ids[i], err = s.deps.IDs.Next(ctx); err != nil {
			return err
		}
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		var known bool
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM moderation_cases c JOIN moderation_reports r ON r.subject_case = c.id AND r.reporter = 0
			WHERE c.kind = $1 AND c.item = $2 AND c.seq = $3 AND (c.state = 1 OR $4))`, int64(f.of.kind), int64(f.of.item), int64(f.of.seq), f.once).Scan(&known)
		if err != nil || known {
			return err
		}
		if err := admit(tx); err != nil {
			return err
		}
		n, err := openCase(ctx, tx, ids[0], f.of, copied{about: f.about, excerpt: excerpt.Of(f.text, maxExcerpt), content: encoded}, s.nowMs())
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO moderation_reports (id, subject_case, reporter, reason, note, time_ms) VALUES ($1, $2, 0, $3, $4, $5)`,
			int64(ids[1]), int64(n), int64(moderationv1.ReportReason_REPORT_REASON_OTHER), f.word, s.nowMs())
		return err
	})
}
