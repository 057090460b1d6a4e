package officialaccount

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// accountsPerRead bounds the accounts whose streams are looked at at once, and eventsPerRead the events of one.
	accountsPerRead, eventsPerRead = 500, 200
	// pagesPerRound bounds the pages of an account in a round, so that one does not hold up the others.
	pagesPerRound = 10
	// matchedBytes is how much of a text rules are compared with.
	matchedBytes = 16 << 10

	fallbackInterval = time.Hour
	welcomeInterval  = 24 * time.Hour
	// Automatic replies to one user: maxReplyBurst in replyWindow.
	replyWindow   = time.Minute
	maxReplyBurst = 10
)

// errOutrun: another node has answered meanwhile.
var errOutrun = errors.New("another node has answered this page")

// AnswerMessages stores replies to what came in the streams of all accounts that answer.
func (s *Service) AnswerMessages(ctx context.Context) error {
	s.takeChanged()
	return s.eachAnswering(ctx, func(page []*official) error { return s.answerAccounts(ctx, page) })
}

// AnswerChanged stores replies to what came in the streams that were signalled.
func (s *Service) AnswerChanged(ctx context.Context) error {
	var accounts []*official
	for _, u := range s.takeChanged() {
		o, err := read(ctx, s.deps.DB.Read(), u)
		if errors.Is(err, errNoAccount) || err == nil && (!o.answers || o.disabled) {
			continue
		}
		if err != nil {
			return err
		}
		accounts = append(accounts, o)
	}
	for page := range slices.Chunk(accounts, accountsPerRead) {
		if err := s.answerAccounts(ctx, page); err != nil {
			return err
		}
	}
	return nil
}

// eachAnswering calls do for pages of the accounts that answer, and then remembers which they are.
func (s *Service) eachAnswering(ctx context.Context, do func(page []*official) error) error {
	found := map[id.User]struct{}{}
	for after := id.User(0); ; {
		page, err := s.answeringAfter(ctx, after)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			s.answering.Store(&found)
			return nil
		}
		for _, o := range page {
			found[o.account] = struct{}{}
		}
		if err := do(page); err != nil {
			return err
		}
		after = page[len(page)-1].account
	}
}

// answerAccounts answers accounts. What fails for one does not keep others from answering.
func (s *Service) answerAccounts(ctx context.Context, accounts []*official) error {
	users := make([]id.User, len(accounts))
	for i, o := range accounts {
		users[i] = o.account
	}
	tails, err := s.deps.Streams.Tails(ctx, users)
	if err != nil {
		return err
	}
	for i, o := range accounts {
		if tails[i] == o.position {
			continue
		}
		if err := s.answerWithRetry(ctx, o); err != nil && !errors.Is(err, errOutrun) {
			return err
		}
	}
	return nil
}

// answeringAfter returns a page of the accounts that answer.
func (s *Service) answeringAfter(ctx context.Context, after id.User) (list []*official, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+accountColumns+` FROM official_accounts WHERE answers AND NOT disabled AND account > $1 ORDER BY account LIMIT $2`,
		int64(after), accountsPerRead)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		o, err := scanAccount(rows.Scan)
		if err != nil {
			return err
		}
		list = append(list, o)
		return nil
	})
	return list, err
}

// answerAccount answers what came since an account's position, and moves that on.
func (s *Service) answerAccount(ctx context.Context, o *official, limit int) error {
	replies, err := o.repliesOf()
	if err != nil {
		return err
	}
	rules := newMatcher(replies)
	for range pagesPerRound {
		raw, err := s.deps.Streams.AppendSync(ctx, nil, o.account, o.position, limit)
		if err != nil {
			return err
		}
		page := &chatv1.SyncResponse{}
		if err := proto.Unmarshal(raw, page); err != nil {
			return err
		}
		next := message.Position(page.GetNext().GetSeq())
		if next == o.position {
			return nil
		}
		incoming, err := s.incoming(ctx, o.account, page.Events)
		if err != nil {
			return err
		}
		matches := make([]*chatv1.Content, len(incoming)) // before the transaction, for which others wait
		for i, m := range incoming {
			matches[i] = rules.match(m.Content.GetText())
		}
		if err := s.storeReplies(ctx, o, replies.Fallback, incoming, matches, next); err != nil {
			return err
		}
		o.position = next
		if !page.More {
			return nil
		}
	}
	return nil
}

// incoming returns the messages of users to an account among events.
func (s *Service) incoming(ctx context.Context, account id.User, events []*chatv1.Event) (list []*chatv1.Message, err error) {
	for _, e := range events {
		m := e.GetMessage()
		if m == nil || m.Sender == 0 || id.User(m.Sender) == account || m.RecallSeq != 0 || !isAnswered(m.Content) {
			continue
		}
		peer, _, err := s.deps.Chat.Peer(ctx, account, id.Conversation(m.Conversation))
		if err != nil {
			return nil, err
		}
		if peer == id.User(m.Sender) {
			list = append(list, m)
		}
	}
	return list, nil
}

// isAnswered reports whether a content is a message that a person wrote.
func isAnswered(c *chatv1.Content) bool {
	switch c.GetKind().(type) {
	case *chatv1.Content_Text, *chatv1.Content_Image, *chatv1.Content_File, *chatv1.Content_Voice, *chatv1.Content_Video, *chatv1.Content_Album,
		*chatv1.Content_Location, *chatv1.Content_Card, *chatv1.Content_Custom, *chatv1.Content_Forward:
		return true
	}
	return false
}

// storeReplies stores the replies to messages, which rules gave or else the fallback, and the position behind them, in one transaction.
func (s *Service) storeReplies(ctx context.Context, o *official, fallback *chatv1.Content, incoming []*chatv1.Message, matches []*chatv1.Content, next message.Position) error {
	stored := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		stored = false
		done, err := tx.ExecContext(ctx, `UPDATE official_accounts SET position = $2 WHERE account = $1 AND position = $3`, int64(o.account), int64(next), int64(o.position))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return orElse(err, errOutrun)
		}
		for i, m := range incoming {
			is, err := s.storeReply(ctx, tx, o, m, matches[i], fallback)
			if err != nil {
				return err
			}
			stored = stored || is
		}
		return nil
	})
	if err == nil && stored {
		s.signal()
	}
	return err
}

// storeReply stores the reply to a message, if it gets one.
func (s *Service) storeReply(ctx context.Context, tx *sql.Tx, o *official, m *chatv1.Message, content, fallback *chatv1.Content) (stored bool, err error) {
	u := id.User(m.Sender)
	if other, err := isOfficial(ctx, tx, u); err != nil || other { // two accounts would answer each other for ever
		return false, err
	}
	c, err := readContact(ctx, tx, o.account, u)
	if err != nil || m.Seq <= c.answeredSeq {
		return false, err
	}
	c.answeredSeq = m.Seq
	now := s.nowMs()
	if content == nil && fallback != nil && now-c.fallbackMs >= fallbackInterval.Milliseconds() {
		content = fallback
		c.fallbackMs = now
	}
	ok := content != nil && c.mayReply(now)
	if ok { // replies of one moment are sent in the order of their tokens
		err = s.putReply(ctx, tx, &reply{account: o.account, recipient: u, token: fmt.Sprintf("reply.%020d", m.Seq), conversation: id.Conversation(m.Conversation), content: content})
	}
	if err != nil {
		return false, err
	}
	return ok, c.store(ctx, tx)
}
