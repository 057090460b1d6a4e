package chaos

import (
	"context"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// churn is LOAD5: members join, leave and are removed from an open group; users block and unblock each other, write, read, move read
// cursors and change profiles. Each call goes to a random node.
func (t *workload) churn(ctx context.Context, i int, p *user) {
	rng := t.rng(p.name)
	for t.wait(ctx, rng, 250*time.Millisecond) {
		t.step(ctx, rng, i, p)
	}
}

// step performs one random operation. Errors are recorded as outcomes.
func (t *workload) step(ctx context.Context, rng *rand.Rand, i int, p *user) {
	n := t.router.RandomNode()
	before := t.blocks[(i+len(t.blocks)-1)%len(t.blocks)] // with the user who may block p
	other := before.members[0]
	switch k := rng.IntN(20); {
	case k < 5:
		what := t.labels.next(p.name)
		_, _ = t.call(ctx, n, p, p.name, t.open, what, messageKey{id: what})
	case k < 9: // to the user who may have blocked p
		what := t.labels.next(p.name)
		_, _ = t.call(ctx, n, p, p.name, t.blocks[i], what, messageKey{id: what})
	case k < 11:
		t.change(ctx, n, p, FBlock, other, 0)
	case k < 13:
		t.change(ctx, n, p, FUnblock, other, 0)
	case k < 15 && i > 0: // the owner cannot leave
		t.change(ctx, n, p, []string{FLeave, FJoin}[rng.IntN(2)], nil, t.open.id)
	case k < 15:
		victim := t.open.members[1+rng.IntN(len(t.open.members)-1)]
		t.change(ctx, n, p, []string{FKick, FInvite, FInvite}[rng.IntN(3)], victim, t.open.id)
	case k < 16:
		t.write(ctx, n, p)
	case k < 17:
		t.profile(ctx, n, p)
	case k < 18:
		t.read(ctx, p, t.open)
	default:
		t.mark(ctx, rng, n, p)
	}
}

// change changes members or blocks.
func (t *workload) change(ctx context.Context, n *Node, p *user, f string, other *user, conversation uint64) {
	e := Event{Proc: p.name, F: f, User: p.id, Conv: conversation}
	if other != nil {
		e.Other = other.id
	}
	_, _ = t.recordCall(ctx, n, e, func(ctx context.Context, got *Event) error { // the error is recorded as the outcome
		var change *connect.Response[chatv1.Change]
		var err error
		chat, graph := p.caller.Chat(), p.caller.Graph()
		switch f {
		case FBlock:
			_, err = graph.Block(ctx, connect.NewRequest(&accountv1.BlockRequest{User: e.Other}))
		case FUnblock:
			_, err = graph.Unblock(ctx, connect.NewRequest(&accountv1.UnblockRequest{User: e.Other}))
		case FLeave:
			change, err = chat.Leave(ctx, connect.NewRequest(&chatv1.LeaveRequest{Conversation: conversation}))
		case FJoin:
			_, err = chat.Join(ctx, connect.NewRequest(&chatv1.JoinRequest{Conversation: conversation}))
		case FKick:
			change, err = chat.Remove(ctx, connect.NewRequest(&chatv1.RemoveRequest{Conversation: conversation, Users: []uint64{e.Other}}))
		case FInvite:
			change, err = chat.Invite(ctx, connect.NewRequest(&chatv1.InviteRequest{Conversation: conversation, Users: []uint64{e.Other}}))
		}
		if err == nil && change != nil {
			got.Seq = change.Msg.Seq
		}
		return err
	})
}

// write and profile treat the profile as a register.
func (t *workload) write(ctx context.Context, n *Node, p *user) {
	what := t.labels.next(p.name)
	_, _ = t.recordCall(ctx, n, Event{Proc: p.name, F: FWrite, User: p.id, Other: p.id, Text: what}, func(ctx context.Context, _ *Event) error {
		_, err := p.caller.Account().UpdateProfile(ctx, connect.NewRequest(&accountv1.UpdateProfileRequest{Bio: &what}))
		return err
	})
}

func (t *workload) profile(ctx context.Context, n *Node, p *user) {
	of := t.churners[rand.IntN(len(t.churners))]
	_, _ = t.recordCall(ctx, n, Event{Proc: p.name, F: FProfile, User: p.id, Other: of.id}, func(ctx context.Context, got *Event) error {
		r, err := p.caller.Account().GetUsers(ctx, connect.NewRequest(&accountv1.GetUsersRequest{Users: []uint64{of.id}}))
		if err == nil && len(r.Msg.Users) == 1 {
			got.Text = r.Msg.Users[0].Bio
		}
		return err
	})
}

// mark moves or reads the read cursor of the group storm, in which churners only read: a register that only increases.
func (t *workload) mark(ctx context.Context, rng *rand.Rand, n *Node, p *user) {
	e := Event{Proc: p.name, F: FCursor, User: p.id, Conv: t.open.id}
	if rng.IntN(2) == 0 {
		e.F = FMark
	}
	_, _ = t.recordCall(ctx, n, e, func(ctx context.Context, got *Event) error {
		c, err := p.caller.Chat().GetConversation(ctx, connect.NewRequest(&chatv1.GetConversationRequest{Conversation: t.open.id}))
		if err != nil {
			return err
		}
		got.N = c.Msg.GetState().GetReadSeq()
		if e.F == FCursor {
			return nil
		}
		m, err := p.caller.Chat().Mark(ctx, connect.NewRequest(&chatv1.MarkRequest{Conversation: t.open.id, ReadSeq: c.Msg.LastSeq}))
		if err == nil {
			got.N = m.Msg.GetState().GetReadSeq()
		}
		return err
	})
}
