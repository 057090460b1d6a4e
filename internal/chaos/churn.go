package chaos

import (
	"context"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/gen/rialto/account/v1"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
)

// churn is LOAD5: members of an open group come, go, and are removed, people block and unblock each other, write, read, mark what
// they have read and change their profiles, each by calls to any node.
func (t *town) churn(ctx context.Context, i int, p *person) {
	rng := t.chance(p.name)
	for t.rest(ctx, rng, 250*time.Millisecond) {
		t.step(ctx, rng, i, p)
	}
}

// step is one random operation. Errors are outcomes like any other, and in the record.
func (t *town) step(ctx context.Context, rng *rand.Rand, i int, p *person) {
	n := t.router.Any()
	before := t.blocks[(i+len(t.blocks)-1)%len(t.blocks)] // with the one who may be blocked by p
	other := before.members[0]
	switch k := rng.IntN(20); {
	case k < 5:
		what := t.labels.next(p.name)
		_, _ = t.call(ctx, n, p, p.name, t.open, what, name{id: what})
	case k < 9: // to the one who may have blocked p
		what := t.labels.next(p.name)
		_, _ = t.call(ctx, n, p, p.name, t.blocks[i], what, name{id: what})
	case k < 11:
		t.act(ctx, n, p, FBlock, other, 0)
	case k < 13:
		t.act(ctx, n, p, FUnblock, other, 0)
	case k < 15 && i > 0: // the owner cannot leave
		t.act(ctx, n, p, []string{FLeave, FJoin}[rng.IntN(2)], nil, t.open.id)
	case k < 15:
		victim := t.open.members[1+rng.IntN(len(t.open.members)-1)]
		t.act(ctx, n, p, []string{FKick, FInvite, FInvite}[rng.IntN(3)], victim, t.open.id)
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

// act changes who may do what.
func (t *town) act(ctx context.Context, n *Node, p *person, f string, other *person, conversation uint64) {
	e := Event{Proc: p.name, F: f, User: p.id, Conv: conversation}
	if other != nil {
		e.Other = other.id
	}
	_, _ = t.do(ctx, n, e, func(ctx context.Context, got *Event) error { // an error is an outcome like any other
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

// write and profile are a register: what is written last is read by whoever reads after it.
func (t *town) write(ctx context.Context, n *Node, p *person) {
	what := t.labels.next(p.name)
	_, _ = t.do(ctx, n, Event{Proc: p.name, F: FWrite, User: p.id, Other: p.id, Text: what}, func(ctx context.Context, _ *Event) error {
		_, err := p.caller.Account().UpdateProfile(ctx, connect.NewRequest(&accountv1.UpdateProfileRequest{Bio: &what}))
		return err
	})
}

func (t *town) profile(ctx context.Context, n *Node, p *person) {
	of := t.churners[rand.IntN(len(t.churners))]
	_, _ = t.do(ctx, n, Event{Proc: p.name, F: FProfile, User: p.id, Other: of.id}, func(ctx context.Context, got *Event) error {
		r, err := p.caller.Account().GetUsers(ctx, connect.NewRequest(&accountv1.GetUsersRequest{Users: []uint64{of.id}}))
		if err == nil && len(r.Msg.Users) == 1 {
			got.Text = r.Msg.Users[0].Bio
		}
		return err
	})
}

// mark moves the read cursor of the storm, in which churners only read, or reads it: a register that only grows.
func (t *town) mark(ctx context.Context, rng *rand.Rand, n *Node, p *person) {
	e := Event{Proc: p.name, F: FCursor, User: p.id, Conv: t.open.id}
	if rng.IntN(2) == 0 {
		e.F = FMark
	}
	_, _ = t.do(ctx, n, e, func(ctx context.Context, got *Event) error {
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
