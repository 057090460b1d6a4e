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
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
)

const (
	// accountsPerRead bounds the accounts whose streams are looked at at once, and eventsPerRead the events of one.
	accountsPerRead, eventsPerRead = 500, 200
	// pagesPerRound bounds the pages of an account in a round, so that one does not hold up the others.
	pagesPerRound = 10
	// readTimeout bounds the wait for a page, so that conversations that do not answer hold up others for a short time only.
	readTimeout = 5 * time.Second
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
	s.changed.Take()
	return s.eachAnswering(ctx, func(page []*official) error { return s.answerAccounts(ctx, page) })
}

// AnswerChanged stores replies to what came in the streams that were signalled.
func (s *Service) AnswerChanged(ctx context.Context) error {
	var accounts []*official
	for _, u := range s.changed.Take() {
		o, err := read(ctx, s.deps.DB.Read(), u)
		if errors.Is(err, errNoAccount) || err == nil && (!o.answers || o.disabled) {
			continue
		}
		if err != nil {
			return err
		}
		accounts = append(accounts, o)
	}
	var failures error
	for page := range slices.Chunk(accounts, accountsPerRead) {
		failures = errors.Join(failures, s.answerAccounts(ctx, page))
	}
	return failures
}

// eachAnswering calls do for pages of the accounts that answer, and then remembers which they are.
func (s *Service) eachAnswering(ctx context.Context, do func(page []*official) error) error {
	found := map[id.User]struct{}{}
	var failures error
	for after := id.User(0); ; {
		page, err := s.answeringAfter(ctx, after)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			s.answering.Store(&found)
			return failures
		}
		for _, o := range page {
			found[o.account] = struct{}{}
		}
		failures = errors.Join(failures, do(page))
		if ctx.Err() != nil {
			return ctx.Err()
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
	tails, failures := s.tailsOf(ctx, users)
	for i, o := range accounts {
		if failures[i] != nil || tails[i] == o.position {
			continue
		}
		if err := s.answerWithRetry(ctx, o); err != nil && !errors.Is(err, errOutrun) {
			return err
		}
	}
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}

// tailsOf returns the tails of users' streams. If they cannot be read together, it reads each.
func (s *Service) tailsOf(ctx context.Context, users []id.User) (tails []message.Position, failures []error) {
	tails, failures = make([]message.Position, len(users)), make([]error, len(users))
	if all, err := s.tailsInTime(ctx, users); err == nil {
		return all, failures
	}
	reads := errgroup.Group{}
	reads.SetLimit(atOnce)
	for i := range users {
		reads.Go(func() error {
			one, err := s.tailsInTime(ctx, users[i:i+1])
			if failures[i] = err; err == nil {
				tails[i] = one[0]
			}
			return nil
		})
	}
	_ = reads.Wait() // never fails
	return tails, failures
}

func (s *Service) tailsInTime(ctx context.Context, users []id.User) ([]message.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return s.deps.Streams.Tails(ctx, users)
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
func (s *Service) answerAccount(ctx context.Context, o *official) error {
	rules, err := o.matcherOf()
	if err != nil {
		return err
	}
	for range pagesPerRound {
		if more, err := s.answerPage(ctx, o, rules, eventsPerRead); err != nil || !more {
			return err
		}
	}
	return nil
}

// answerOneByOne answers the events of a page that failed one by one, and defers those that fail.
func (s *Service) answerOneByOne(ctx context.Context, o *official) error {
	rules, err := o.matcherOf()
	if err != nil {
		return err
	}
	for range eventsPerRead {
		more, err := s.answerPage(ctx, o, rules, 1)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errOutrun):
			return err
		case err != nil:
			if err := s.deferEvent(ctx, o, err); err != nil {
				return err
			}
		case !more:
			return nil
		}
	}
	return nil
}

func (o *official) matcherOf() (*matcher, error) {
	replies, err := o.repliesOf()
	if err != nil {
		return nil, err
	}
	return newMatcher(replies), nil
}

// matched is a message to an account, and the reply that a rule gave.
type matched struct {
	*chatv1.Message
	reply *chatv1.Content
}

// answerPage answers at most limit events after an account's position, moves that on, and reports whether there are more.
func (s *Service) answerPage(ctx context.Context, o *official, rules *matcher, limit int) (more bool, err error) {
	page, incoming, err := s.readPage(ctx, o, rules, o.position, limit)
	if err != nil {
		return false, err
	}
	next := message.Position(page.GetNext().GetSeq())
	if next == o.position {
		return false, nil
	}
	if err := s.storeReplies(ctx, o, rules.replies.Fallback, incoming, next); err != nil {
		return false, err
	}
	o.position = next
	return page.More, nil
}

// readPage reads at most limit events of an account's stream, and matches the messages among them: before the transaction, for which others wait.
func (s *Service) readPage(ctx context.Context, o *official, rules *matcher, after message.Position, limit int) (*chatv1.SyncResponse, []matched, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	page, err := s.readStream(ctx, o.account, after, limit)
	if err != nil {
		return nil, nil, err
	}
	incoming, err := s.incoming(ctx, o.account, page.Events)
	if err != nil {
		return nil, nil, err
	}
	list := make([]matched, len(incoming))
	for i, m := range incoming {
		list[i] = matched{m, rules.match(m.Content.GetText())}
	}
	return page, list, nil
}

func (s *Service) readStream(ctx context.Context, account id.User, after message.Position, limit int) (*chatv1.SyncResponse, error) {
	raw, err := s.deps.Streams.AppendSync(ctx, nil, account, after, limit)
	if err != nil {
		return nil, err
	}
	page := &chatv1.SyncResponse{}
	return page, proto.Unmarshal(raw, page)
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
func (s *Service) storeReplies(ctx context.Context, o *official, fallback *chatv1.Content, incoming []matched, next message.Position) error {
	stored := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		stored = false
		if err := movePosition(ctx, tx, o, next); err != nil {
			return err
		}
		for _, m := range incoming {
			is, err := s.storeReply(ctx, tx, o, m, fallback, false)
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

// movePosition moves an account's position on. It fails with errOutrun if another node has done so.
func movePosition(ctx context.Context, tx *sql.Tx, o *official, next message.Position) error {
	done, err := tx.ExecContext(ctx, `UPDATE official_accounts SET position = $2 WHERE account = $1 AND position = $3`, int64(o.account), int64(next), int64(o.position))
	if err != nil {
		return err
	}
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		err = errOutrun
	}
	return err
}

// storeReply stores the reply to a message, if it gets one. Later messages of the conversation may be answered before a deferred one.
func (s *Service) storeReply(ctx context.Context, tx *sql.Tx, o *official, m matched, fallback *chatv1.Content, deferred bool) (stored bool, err error) {
	u := id.User(m.Sender)
	if other, err := isOfficial(ctx, tx, u); err != nil || other { // two accounts would answer each other for ever
		return false, err
	}
	c, err := readContact(ctx, tx, o.account, u)
	if err != nil || m.Seq <= c.answeredSeq && !deferred {
		return false, err
	}
	c.answeredSeq = max(c.answeredSeq, m.Seq)
	now, content := s.nowMs(), m.reply
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
