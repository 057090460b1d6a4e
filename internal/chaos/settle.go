package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	presencev1 "github.com/rialto-im/rialto/gen/rialto/presence/v1"
)

// Stages of a run, as its record has them.
const (
	Loaded = "loaded" // users and conversations are there; the load begins
	Faults = "faults" // the faults begin
	Healed = "healed" // the last fault is over; the load goes on
	Ended  = "ended"  // the load has ended
	AtRest = "at rest"
)

// settle waits until nothing more comes, for at most so long: every device has what was acknowledged, as far as its conversation's
// members are fixed, and nothing has come for a while.
func (t *town) settle(ctx context.Context, most time.Duration) bool {
	const look, enough = 100 * time.Millisecond, 20
	last, quiet := -1, 0
	for end := time.Now().Add(most); time.Now().Before(end); {
		if !pause(ctx, look) {
			return false
		}
		now := t.record.Count()
		if now != last {
			last, quiet = now, 0
			continue
		}
		if quiet++; quiet >= enough && t.missing() == 0 {
			return true
		}
	}
	return t.missing() == 0
}

// missing counts what devices lack of what was acknowledged in fixed conversations.
func (t *town) missing() (n int) {
	acked := map[place]bool{}
	had := map[string]map[place]bool{}
	t.record.each(func(e *Event) {
		switch {
		case e.F == FSend && e.Type == Ok:
			acked[place{e.Conv, e.Seq}] = true
		case e.F == FDeliver:
			if had[e.Proc] == nil {
				had[e.Proc] = map[place]bool{}
			}
			had[e.Proc][place{e.Conv, e.Seq}] = true
		}
	})
	for _, r := range t.everyRoom {
		if !r.fixed {
			continue
		}
		for p := range acked {
			if p.conv != r.id {
				continue
			}
			for _, m := range r.members {
				for _, d := range m.devices {
					if !had[d.proc][p] {
						n++
					}
				}
			}
		}
	}
	return n
}

// patience with calls at the end, when all is whole again.
const patience = 30 * time.Second

// ask makes a call at a node until it is answered, or the patience is at its end.
func ask(ctx context.Context, n *Node, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := call(To(ctx, n))
		if err == nil || outcome(err) == Fail || !pause(ctx, 200*time.Millisecond) {
			return err
		}
	}
}

// inquire reads, by every node, all that there is, when all is at rest.
func (t *town) inquire(ctx context.Context) error {
	for _, n := range t.cluster.Nodes {
		for _, r := range t.everyRoom {
			if err := t.histories(ctx, n, r); err != nil {
				return fmt.Errorf("reading the history of %d by %s: %w", r.id, n.Name, err)
			}
		}
		for _, p := range t.everybody {
			if err := t.counts(ctx, n, p); err != nil {
				return fmt.Errorf("reading the list of %s by %s: %w", p.name, n.Name, err)
			}
		}
	}
	for _, p := range t.everybody {
		for _, d := range p.devices {
			if err := t.zero(ctx, t.router.Any(), d); err != nil {
				return fmt.Errorf("syncing %s from zero: %w", d.proc, err)
			}
		}
	}
	if err := t.everyFile(ctx); err != nil {
		return err
	}
	return t.presences(ctx)
}

// histories reads a whole conversation, as one who was there from its beginning.
func (t *town) histories(ctx context.Context, n *Node, r *room) error {
	reader := r.members[0]
	for after := uint64(0); ; {
		var page *chatv1.HistoryResponse
		err := ask(ctx, n, func(ctx context.Context) error {
			a, err := reader.caller.Chat().History(ctx, connect.NewRequest(&chatv1.HistoryRequest{Conversation: r.id, After: after, Limit: 200, TimeMs: first(after)}))
			if err == nil {
				page = a.Msg
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, m := range page.Messages {
			e := Event{Proc: reader.name, F: FLog, User: reader.id, Node: n.Name}
			e.entry(m)
			t.record.Note(e)
			after = m.Seq
		}
		if !page.More || len(page.Messages) == 0 {
			return nil
		}
	}
}

// first asks for the beginning, which "after 0" does not: it is the newest. All that there is was stored after 1970 had begun.
func first(after uint64) int64 {
	if after == 0 {
		return 1
	}
	return 0
}

// counts reads what a user has not read.
func (t *town) counts(ctx context.Context, n *Node, p *person) error {
	var list *chatv1.ListConversationsResponse
	err := ask(ctx, n, func(ctx context.Context) error {
		a, err := p.caller.Chat().ListConversations(ctx, connect.NewRequest(&chatv1.ListConversationsRequest{Limit: 200}))
		if err == nil {
			list = a.Msg
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range list.Conversations {
		if c.LeaveSeq == 0 {
			t.record.Note(Event{Proc: p.name, F: FUnread, User: p.id, Conv: c.Id, Seq: c.GetState().GetReadSeq(), N: c.Unread, Node: n.Name})
		}
	}
	return nil
}

// zero syncs a device's stream from its beginning.
func (t *town) zero(ctx context.Context, n *Node, d *device) error {
	at := &chatv1.Position{}
	for {
		var page *chatv1.SyncResponse
		err := ask(ctx, n, func(ctx context.Context) error {
			a, err := d.client.Chat().Sync(ctx, connect.NewRequest(&chatv1.SyncRequest{After: at, Limit: 1000}))
			if err == nil {
				page = a.Msg
			}
			return err
		})
		if err != nil {
			return err
		}
		if page.Reset_ {
			return errors.New("it was told to begin anew")
		}
		for _, x := range page.Events {
			if m := x.GetMessage(); m != nil {
				e := Event{Proc: d.proc, F: FZero, User: d.user, Node: n.Name, Epoch: x.Epoch}
				e.entry(m)
				t.record.Note(e)
			}
		}
		at = page.Next
		if !page.More {
			return nil
		}
	}
}

// presences asks every node who is online, until it is right or the time is up.
func (t *town) presences(ctx context.Context) error {
	online := map[uint64]bool{t.flappers[0].id: true, t.flappers[1].id: true}
	var users []uint64
	for _, p := range t.flappers {
		users = append(users, p.id)
	}
	for _, n := range t.cluster.Nodes {
		var list []*presencev1.Presence
		for end := time.Now().Add(patience); ; {
			err := ask(ctx, n, func(ctx context.Context) error {
				a, err := t.prober.caller.Presence().GetPresence(ctx, connect.NewRequest(&presencev1.GetPresenceRequest{Users: users}))
				if err == nil {
					list = a.Msg.Presences
				}
				return err
			})
			if err != nil {
				return err
			}
			wrong := 0
			for _, p := range list {
				if online[p.User] != (p.Status == presencev1.Status_STATUS_ONLINE) {
					wrong++
				}
			}
			if wrong == 0 || time.Now().After(end) || !pause(ctx, 200*time.Millisecond) {
				break
			}
		}
		for _, p := range list {
			e := Event{Proc: t.prober.name, F: FSeen, User: t.prober.id, Other: p.User, Node: n.Name, Text: "offline"}
			if online[p.User] {
				e.Text = "online"
			}
			if p.Status == presencev1.Status_STATUS_ONLINE {
				e.N = 1
			}
			t.record.Note(e)
		}
	}
	return nil
}
