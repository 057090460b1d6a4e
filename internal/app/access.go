package app

import (
	"context"
	"net/netip"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/service/account"
	"github.com/rialto-im/rialto/internal/service/presence"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// readableMessage loads a message that a user may read.
func (n *Node) readableMessage(ctx context.Context, u id.User, c id.Conversation, seq uint64) (*chatv1.Message, error) {
	found, err := n.chat.GetMessages(ctx, u, &chatv1.GetMessagesRequest{Conversation: uint64(c), Seqs: []uint64{seq}})
	if err != nil {
		return nil, err
	}
	if len(found.Messages) == 1 {
		return found.Messages[0], nil
	}
	return nil, errs.New(errs.NotFound, "no_message", "there is no such message, or you may not read it")
}

func (n *Node) hidesRead(ctx context.Context, u id.User) (bool, error) {
	s, err := n.accounts.GetSettings(ctx, id.Caller{User: u})
	return s.GetHideRead(), err
}

func (n *Node) hidesPresence(ctx context.Context, u id.User) (bool, error) {
	s, err := n.accounts.GetSettings(ctx, id.Caller{User: u})
	return presence.Hides(s), err
}

// mayAdd returns the users who refuse to be added to a group by another, and those who have to be invited. It counts how often non-friends add
// or invite each of the rest against a rate limit; refund undoes the count.
func (n *Node) mayAdd(ctx context.Context, by id.User, users []id.User) (refused, invited []id.User, refund func(), err error) {
	refused, invited, nonFriends, err := n.accounts.MayAdd(ctx, by, users)
	if err != nil || len(refused) > 0 {
		return refused, nil, func() {}, err
	}
	nonFriends = append(nonFriends, invited...)
	counted := 0
	refund = func() {
		for _, u := range nonFriends[:counted] {
			n.limits.Refund(ratelimit.Added, uint64(u), netip.Prefix{}, 1)
		}
	}
	for _, u := range nonFriends {
		if err := n.limits.Allow(ratelimit.Added, uint64(u), netip.Prefix{}, 1); err != nil {
			refund()
			e := *errs.Of(err)
			e.Message = "user " + u.String() + " was added to groups too often; leave them out, send them a join link, or wait"
			return nil, nil, func() {}, &e
		}
		counted++
	}
	return nil, invited, refund, nil
}

// chargeCopy counts what a user's forward copies as if the user had sent it, or refuses it.
func (n *Node) chargeCopy(u id.User, bytes int) error {
	return n.limits.Allow(ratelimit.Send, uint64(u), netip.Prefix{}, ratelimit.Messages(1, bytes))
}

// relations are those of package account. An official account and its followers also count as friends: they write to each other as friends do.
type relations struct {
	*account.Service
	node *Node
}

// Friends reports whether two users are friends, or one follows the other's official account.
func (r relations) Friends(ctx context.Context, a, b id.User) (bool, error) {
	friends, err := r.Service.Friends(ctx, a, b)
	if err != nil || friends {
		return friends, err
	}
	return r.node.officials.Follows(ctx, a, b)
}
