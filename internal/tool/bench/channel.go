package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// maxInvited is the largest number of users in one Invite.
const maxInvited = 500

// group creates group number i, or channel number i with --channel. Its first member writes.
func (l *load) group(ctx context.Context, members []*user, i int) (*chatv1.Conversation, error) {
	if !l.config.channel {
		return l.deploy.group(ctx, members)
	}
	ids := make([]uint64, 0, len(members)-1+l.config.followers)
	for _, m := range members[1:] {
		ids = append(ids, m.id)
	}
	silent, err := l.deploy.silentUsers(ctx, l.config.followers, i)
	if err != nil {
		return nil, err
	}
	return l.deploy.channel(ctx, members[0], append(ids, silent...), i)
}

// silentUsers creates users who never log in, and returns their ids.
func (d *deployment) silentUsers(ctx context.Context, n, channel int) ([]uint64, error) {
	ids := make([]uint64, n)
	step := d.printer.Step("making followers without a connection")
	defer step.End()
	err := each(ctx, n, 32, func(ctx context.Context, i int) error {
		handle := fmt.Sprintf("f%s.%d.%d", d.run, channel, i)
		r, err := d.endpointOf(i, 0).admin.PutUser(ctx, as(d.key, &accountv1.PutUserRequest{ExternalId: handle, Handle: handle}))
		if err != nil {
			return fmt.Errorf("creating a follower: %w", err)
		}
		ids[i] = r.Msg.Id
		if i%1000 == 0 {
			step.At(float64(i)/float64(n), fmt.Sprintf("%d of %d", i, n))
		}
		return nil
	})
	return ids, err
}

// channel creates a channel, and adds followers on behalf of its owner. It is a channel of notices for a segment of the users: to such a channel,
// many followers are added in one call. Its messages are delivered as in any channel.
func (d *deployment) channel(ctx context.Context, owner *user, followers []uint64, i int) (*chatv1.Conversation, error) {
	c, err := owner.endpoint.chat.CreateGroup(ctx, onBehalf(d.key, owner, &chatv1.CreateGroupRequest{Title: "bench " + d.run, Channel: true,
		JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_INVITE, Notices: chatv1.Notices_NOTICES_SEGMENT, Key: "bench" + d.run + "." + strconv.Itoa(i)}))
	if err != nil {
		return nil, fmt.Errorf("creating a channel: %w", err)
	}
	step := d.printer.Step("adding followers")
	defer step.End()
	batches := slices.Collect(slices.Chunk(followers, maxInvited))
	var added atomic.Int64
	err = each(ctx, len(batches), 8, func(ctx context.Context, i int) error {
		if _, err := owner.endpoint.chat.Invite(ctx, onBehalf(d.key, owner, &chatv1.InviteRequest{Conversation: c.Msg.Id, Users: batches[i]})); err != nil {
			return fmt.Errorf("adding followers: %w", err)
		}
		n := added.Add(int64(len(batches[i])))
		step.At(float64(n)/float64(len(followers)), fmt.Sprintf("%d of %d", n, len(followers)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	g, err := owner.endpoint.chat.GetConversation(ctx, onBehalf(d.key, owner, &chatv1.GetConversationRequest{Conversation: c.Msg.Id}))
	if err != nil {
		return nil, fmt.Errorf("reading a channel: %w", err)
	}
	return g.Msg, nil
}

// onBehalf is a request of a server on behalf of a user. The rate limits of users do not apply to it.
func onBehalf[T any](key string, u *user, m *T) *connect.Request[T] {
	r := as(key, m)
	r.Header().Set("Rialto-User", strconv.FormatUint(u.id, 10))
	return r
}
