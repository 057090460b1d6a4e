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
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	// maxEmoji is how many different ones a message may have.
	maxEmoji = 50
	// maxUserEmoji bounds the rows that a user has of a message: the different emoji with which the user reacted, those included that were taken back.
	maxUserEmoji = 20
)

const (
	userEmojiQuery = `SELECT COUNT(*) FROM reactions WHERE conversation = $1 AND member = $2 AND seq = $3 AND emoji <> $4`
	reactorsQuery  = `SELECT member FROM reactions WHERE conversation = $1 AND seq = $2 AND emoji = $3 AND active = TRUE AND member >= $4 ORDER BY member LIMIT $5`
)

var (
	errBadEmoji      = errs.New(errs.Invalid, "bad_emoji", "an emoji has 1 to 32 bytes, without spaces, control, text-direction and invisible characters, and not more than six combining marks on one letter")
	errTooManyEmojis = errs.New(errs.Exhausted, "too_many_emoji", "a message has at most 50 different reactions: use one of them")
	errTooManyOwn    = errs.New(errs.Exhausted, "too_many_own_emoji", "a user reacts to a message with at most 20 different emoji, those included that were taken back: use one of them")
)

// hasNoEffect reports whether an error is that of a reaction which is stored, and was refused when it was applied.
func hasNoEffect(err error) bool {
	return errors.Is(err, errTooManyEmojis) || errors.Is(err, errTooManyOwn)
}

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

// checkReaction returns why a message takes no such reaction of a user.
func (s *Service) checkReaction(ctx context.Context, u id.User, k messageKey, t *target, r *chatv1.Reaction) error {
	switch {
	case r.Remove || t.state.reactions == nil: // none was ever applied
		return nil
	case isFull(t.state.reactions.Counts, r.Emoji):
		return errTooManyEmojis
	}
	full, err := usedUp(ctx, s.deps.DB.Read(), u, k, r.Emoji)
	if err == nil && full {
		err = errTooManyOwn
	}
	return err
}

// usedUp reports whether a user has reacted to a message with as many other emoji as one may.
func usedUp(ctx context.Context, db sqldb.Querier, u id.User, k messageKey, emoji string) (bool, error) {
	var others int
	err := db.QueryRowContext(ctx, userEmojiQuery, int64(k.conversation), int64(u), int64(k.seq), emoji).Scan(&others)
	return others >= maxUserEmoji, err
}

// isFull reports whether a message has as many different emoji as it may have, and not this one.
func isFull(counts []*chatv1.ReactionCount, emoji string) bool {
	return len(counts) >= maxEmoji && !slices.ContainsFunc(counts, func(n *chatv1.ReactionCount) bool { return n.Emoji == emoji })
}

// applyReaction sets whether the user has reacted with the emoji, unless a later entry did, and counts. It refuses a new emoji beyond the
// limits: others that passed checkReaction may have been applied since. A reaction that was refused stays inactive.
func (u *update) applyReaction(ctx context.Context, tx *sql.Tx, r *chatv1.Reaction) (refused, err error) {
	var at int64
	var active bool
	err = tx.QueryRowContext(ctx, `SELECT at_seq, active FROM reactions WHERE conversation = $1 AND seq = $2 AND emoji = $3 AND member = $4`,
		int64(u.conversation), int64(u.target), r.Emoji, int64(u.by)).Scan(&at, &active)
	isNew := errors.Is(err, sql.ErrNoRows)
	if err != nil && !isNew {
		return nil, err
	}
	if at >= int64(u.seq) {
		if at == int64(u.seq) && !active && !r.Remove {
			return errTooManyEmojis, nil
		}
		return nil, nil
	}
	if isNew { // a reaction that was taken back keeps its row, since it may be applied after that
		full, err := usedUp(ctx, tx, u.by, messageKey{u.conversation, u.target}, r.Emoji)
		if err != nil || full && r.Remove {
			return nil, err
		}
		if full {
			return errTooManyOwn, nil
		}
	}
	return u.setReaction(ctx, tx, r, active)
}

// setReaction writes a reaction and the counts of its message. was: the user has reacted with this emoji before.
func (u *update) setReaction(ctx context.Context, tx *sql.Tx, r *chatv1.Reaction, was bool) (refused, err error) {
	var raw []byte
	err = tx.QueryRowContext(ctx, `SELECT reactions FROM message_updates WHERE conversation = $1 AND seq = $2`, int64(u.conversation), int64(u.target)).Scan(&raw)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	var sum chatv1.Reactions
	if err := proto.Unmarshal(raw, &sum); err != nil {
		return nil, err
	}
	if !r.Remove && !was && isFull(sum.Counts, r.Emoji) {
		refused = errTooManyEmojis
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO reactions (conversation, seq, emoji, member, at_seq, active) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (conversation, seq, emoji, member) DO UPDATE SET at_seq = $5, active = $6`,
		int64(u.conversation), int64(u.target), r.Emoji, int64(u.by), int64(u.seq), !r.Remove && refused == nil); err != nil {
		return nil, err
	}
	if refused != nil || was == !r.Remove {
		return refused, nil
	}
	count(&sum, r.Emoji, r.Remove)
	if raw, err = proto.Marshal(&sum); err != nil {
		return nil, err
	}
	return nil, u.set(ctx, tx, `UPDATE message_updates SET reactions = $4 WHERE conversation = $1 AND seq = $2 AND $3 > seq`, raw)
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
	users, err := s.querySeqs(ctx, reactorsQuery, int64(c), int64(r.Seq), r.Emoji, int64(from), limit+1)
	if err != nil {
		return nil, err
	}
	out := &chatv1.ListReactionsResponse{}
	out.Users, out.Next = cutPage(users, limit, func(u uint64) uint64 { return u })
	return out, nil
}
