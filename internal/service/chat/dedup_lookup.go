package chat

import (
	"context"
	"errors"
	"math"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// impossibleAccess is not the access version of any conversation: the log finds the token, or stores nothing.
const impossibleAccess = math.MaxUint64

// lookUp finds the message that is stored with the ids of a draft. It stores nothing: done gets ErrStale if there is no such message.
func (s *Service) lookUp(d *message.Draft, done func(*timeline.AppendRequest)) {
	s.lookUpToken(d.Conversation, dedupToken(d), done)
}

func (s *Service) lookUpToken(c id.Conversation, t timeline.Token, done func(*timeline.AppendRequest)) {
	s.deps.Log.Append(&timeline.AppendRequest{Key: logKey(c), Token: t, CheckAccess: true, ExpectedAccess: impossibleAccess, Done: done})
}

// storedSeq returns the seq of the message that is stored with the ids of a draft, 0 if there is none. If ctx ends first, it fails with its error.
func (s *Service) storedSeq(ctx context.Context, d *message.Draft) (uint64, error) {
	return s.seqOfToken(ctx, d.Conversation, dedupToken(d))
}

// seqOfToken returns the seq of the entry that is stored with a token, 0 if there is none.
func (s *Service) seqOfToken(ctx context.Context, c id.Conversation, t timeline.Token) (uint64, error) {
	found := make(chan *timeline.AppendRequest, 1)
	s.lookUpToken(c, t, func(a *timeline.AppendRequest) { found <- a })
	select {
	case a := <-found:
		if errors.Is(a.Err, timeline.ErrStale) {
			return 0, nil
		}
		return a.Seq, a.Err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
