package officialaccount

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/id"
)

// FollowChanged stores a welcome for a user who begins to follow an account, in the transaction of the follower's row. Where following decides who
// may write, by the server's rule or that of an organization, all nodes then check that again.
func (s *Service) FollowChanged(ctx context.Context, tx *sql.Tx, c id.Conversation, u id.User, follows bool) error {
	o, err := scanAccount(tx.QueryRowContext(ctx, `SELECT `+accountColumns+` FROM official_accounts WHERE channel = $1`, int64(c)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	r := &reply{account: o.account, recipient: u, token: fmt.Sprintf("follow.%d.%t", s.nowMs(), follows)}
	if follows && !o.disabled {
		replies, err := o.repliesOf()
		if err != nil {
			return err
		}
		c, err := readContact(ctx, tx, o.account, u)
		if err != nil {
			return err
		}
		if now := s.nowMs(); replies.Welcome != nil && (c.welcomedMs == 0 || now-c.welcomedMs >= welcomeInterval.Milliseconds()) {
			r.content, c.welcomedMs = replies.Welcome, now
			if err := c.store(ctx, tx); err != nil {
				return err
			}
		}
	}
	return s.putReply(ctx, tx, r)
}

// Follows reports whether one of two users is an official account that is not disabled, and the other follows it.
func (s *Service) Follows(ctx context.Context, a, b id.User) (bool, error) {
	for _, pair := range [][2]id.User{{a, b}, {b, a}} {
		o, err := read(ctx, s.deps.DB.Read(), pair[0])
		if errors.Is(err, errNoAccount) || err == nil && o.disabled {
			continue
		}
		if err != nil {
			return false, err
		}
		following, err := s.deps.Chat.FollowersAmong(ctx, o.channel, []id.User{pair[1]})
		if err != nil || len(following) > 0 {
			return len(following) > 0, err
		}
	}
	return false, nil
}
