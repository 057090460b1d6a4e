package officialaccount

import (
	"context"
	"database/sql"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"golang.org/x/sync/errgroup"
)

const (
	repliesPerRound = 200
	atOnce          = 8 // sends at the same time
	// sendTimeout bounds the wait for a message to be stored, so that conversations that do not answer hold up others for a short time only.
	sendTimeout = 5 * time.Second
)

// reply is a row of official_replies.
type reply struct {
	account, recipient id.User
	token              string // with the two users, it names the reply; it is the message's client_msg_id
	conversation       id.Conversation
	content            *chatv1.Content
	raw                []byte
	tries              int // that failed
}

// putReply stores a reply that is sent soon. One with the same token is left as it is.
func (s *Service) putReply(ctx context.Context, tx *sql.Tx, r *reply) (err error) {
	raw := []byte{}
	if r.content != nil {
		if raw, err = encode(r.content); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO official_replies (account, recipient, token, conversation, content, due_ms) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
		int64(r.account), int64(r.recipient), r.token, int64(r.conversation), raw, s.nowMs())
	return err
}

// SendReplies sends the replies that are due. Those of an account to one user are sent in order.
func (s *Service) SendReplies(ctx context.Context) error {
	type pair struct{ account, recipient id.User }
	for {
		due, err := s.dueReplies(ctx)
		if err != nil {
			return err
		}
		conversations := map[pair][]*reply{}
		for _, r := range due {
			p := pair{r.account, r.recipient}
			conversations[p] = append(conversations[p], r)
		}
		sends, ctx := errgroup.WithContext(ctx)
		sends.SetLimit(atOnce)
		for _, list := range conversations {
			sends.Go(func() error {
				for _, r := range list {
					if postponed, err := s.sendReply(ctx, r); err != nil || postponed {
						return err
					}
				}
				return nil
			})
		}
		if err := sends.Wait(); err != nil || len(due) < repliesPerRound {
			return err
		}
	}
}

func (s *Service) dueReplies(ctx context.Context) (list []*reply, err error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT account, recipient, token, conversation, content, tries FROM official_replies WHERE due_ms <= $1
		ORDER BY due_ms, account, recipient, token LIMIT $2`, s.nowMs(), repliesPerRound)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		r := &reply{}
		if err := rows.Scan(&r.account, &r.recipient, &r.token, &r.conversation, &r.raw, &r.tries); err != nil {
			return err
		}
		list = append(list, r)
		return nil
	})
	return list, err
}

// sendReply sends a reply and deletes its row. One that cannot be stored for now is tried again later, with those behind it; one that is refused, or
// failed too often, is dropped.
func (s *Service) sendReply(ctx context.Context, r *reply) (postponed bool, err error) {
	err = s.tryReply(ctx, r)
	if ctx.Err() != nil { // the outcome is unknown
		return false, ctx.Err()
	}
	if r.tries++; mayRetry(err) && r.tries < attemptsOf(err, maxAttempts) {
		s.deps.Logger.Warn("an automatic reply is sent later", "account", r.account, "attempts", r.tries, "error", err)
		return true, s.postponeReply(ctx, r)
	}
	if mayRetry(err) {
		s.abandoned.Replies.Add(1)
		s.deps.Logger.Error("an automatic reply failed too often, and is dropped", "account", r.account, "recipient", r.recipient, "attempts", r.tries, "error", err)
	}
	return false, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM official_replies WHERE account = $1 AND recipient = $2 AND token = $3`, int64(r.account), int64(r.recipient), r.token)
		return err
	})
}

// tryReply sends a reply.
func (s *Service) tryReply(ctx context.Context, r *reply) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := s.deps.Chat.FriendshipChanged(ctx, r.account, r.recipient); err != nil || len(r.raw) == 0 {
		return err
	}
	_, err := s.deliver(ctx, r.account, r.recipient, r.conversation, r.token, r.raw)
	return err
}

// postponeReply stores when a reply is tried again, and that those behind it, in the same conversation, wait for it.
func (s *Service) postponeReply(ctx context.Context, r *reply) error {
	dueMs := s.nowMs() + retryDelay(r.tries).Milliseconds()
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE official_replies SET due_ms = $4, tries = $5 WHERE account = $1 AND recipient = $2 AND token = $3`,
			int64(r.account), int64(r.recipient), r.token, dueMs, r.tries); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE official_replies SET due_ms = $3 WHERE account = $1 AND recipient = $2 AND due_ms < $3`, int64(r.account), int64(r.recipient), dueMs)
		return err
	})
}

// deliver sends a content to a user, in a conversation or, if it is 0, in the one that the two have. It opens that if there is none. If it is not stored
// in time, the outcome is unknown.
func (s *Service) deliver(ctx context.Context, account, to id.User, c id.Conversation, clientID string, content []byte) (*message.Draft, error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	var err error
	if c == 0 {
		if c, err = s.deps.Chat.OpenDirect(ctx, account, to); err != nil {
			return nil, err
		}
	}
	d := &message.Draft{Conversation: c, Sender: account, ClientMsgID: clientID, Content: append([]byte(nil), content...)}
	if err = s.deps.Chat.Send(ctx, d); err != nil && ctx.Err() != nil {
		return nil, err // the draft is still under way
	}
	return d, err
}
