package chat

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// maxEmoji is how many different ones a message may have.
const maxEmoji = 50

var (
	errBadEmoji      = errs.New(errs.Invalid, "bad_emoji", "an emoji has 1 to 32 bytes, without spaces, control, text-direction and invisible characters, and not more than six combining marks on one letter")
	errTooManyEmojis = errs.New(errs.Exhausted, "too_many_emoji", "a message has at most 50 different reactions: use one of them")
)

func validateReaction(r *chatv1.Reaction) error {
	r.Reactions = nil // the server's own
	return validateEmoji(r.Emoji)
}

func validateEmoji(emoji string) error {
	if !message.IsEmoji(emoji) {
		return errBadEmoji
	}
	return nil
}

// checkReaction returns why a message takes no such reaction.
func checkReaction(t *target, r *chatv1.Reaction) error {
	if !r.Remove && isFull(t.state.reactions.GetCounts(), r.Emoji) {
		return errTooManyEmojis
	}
	return nil
}

// isFull reports whether a message has as many different emoji as it may have, and not this one.
func isFull(counts []*chatv1.ReactionCount, emoji string) bool {
	return len(counts) >= maxEmoji && !slices.ContainsFunc(counts, func(n *chatv1.ReactionCount) bool { return n.Emoji == emoji })
}

// applyReaction sets whether the user has reacted with the emoji, unless a later entry did, and counts. It refuses a new emoji beyond the
// limit: others that passed checkReaction may have been applied since. A reaction that was refused stays inactive.
func (u *update) applyReaction(ctx context.Context, tx *sql.Tx, r *chatv1.Reaction) (refused bool, err error) {
	var at int64
	var active bool
	err = tx.QueryRowContext(ctx, `SELECT at_seq, active FROM reactions WHERE conversation = $1 AND seq = $2 AND emoji = $3 AND member = $4`,
		int64(u.conversation), int64(u.target), r.Emoji, int64(u.by)).Scan(&at, &active)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	if at >= int64(u.seq) {
		return at == int64(u.seq) && !active && !r.Remove, nil
	}
	var raw []byte
	err = tx.QueryRowContext(ctx, `SELECT reactions FROM message_updates WHERE conversation = $1 AND seq = $2`, int64(u.conversation), int64(u.target)).Scan(&raw)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	var sum chatv1.Reactions
	if err := proto.Unmarshal(raw, &sum); err != nil {
		return false, err
	}
	refused = !r.Remove && !active && isFull(sum.Counts, r.Emoji)
	if _, err := tx.ExecContext(ctx, `INSERT INTO reactions (conversation, seq, emoji, member, at_seq, active) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (conversation, seq, emoji, member) DO UPDATE SET at_seq = $5, active = $6`,
		int64(u.conversation), int64(u.target), r.Emoji, int64(u.by), int64(u.seq), !r.Remove && !refused); err != nil {
		return false, err
	}
	if refused || active == !r.Remove {
		return refused, nil
	}
	count(&sum, r.Emoji, r.Remove)
	if raw, err = proto.Marshal(&sum); err != nil {
		return false, err
	}
	return false, u.set(ctx, tx, `UPDATE message_updates SET reactions = $4 WHERE conversation = $1 AND seq = $2 AND $3 > seq`, raw)
}

// count adds or removes one user's emoji.
func count(sum *chatv1.Reactions, emoji string, remove bool) {
	sum.Version++
	i := slices.IndexFunc(sum.Counts, func(n *chatv1.ReactionCount) bool { return n.Emoji == emoji })
	switch {
	case i < 0 && !remove:
		sum.Counts = append(sum.Counts, &chatv1.ReactionCount{Emoji: emoji, Count: 1})
	case i >= 0 && !remove:
		sum.Counts[i].Count++
	case i >= 0:
		if sum.Counts[i].Count--; sum.Counts[i].Count == 0 {
			sum.Counts = slices.Delete(sum.Counts, i, i+1)
		}
	}
}

// ListReactions returns the users who reacted to a message with an emoji, by user id.
func (s *Service) ListReactions(ctx context.Context, u id.User, r *chatv1.ListReactionsRequest) (*chatv1.ListReactionsResponse, error) {
	if err := validateEmoji(r.Emoji); err != nil {
		return nil, err
	}
	c := id.Conversation(r.Conversation)
	from, err := pagetoken.Start(r.Page, uint64(0))
	if err != nil {
		return nil, err
	}
	if _, err := s.readTarget(ctx, u, c, r.Seq); err != nil {
		return nil, err
	}
	limit := outputlimit.PageSize(r.Limit)
	users, err := s.querySeqs(ctx, `SELECT member FROM reactions WHERE conversation = $1 AND seq = $2 AND emoji = $3 AND active AND member >= $4 ORDER BY member LIMIT $5`,
		int64(c), int64(r.Seq), r.Emoji, int64(from), limit+1)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListReactionsResponse{}
	out.Users, out.Next = cutPage(users, limit, func(u uint64) uint64 { return u })
	return out, nil
}
