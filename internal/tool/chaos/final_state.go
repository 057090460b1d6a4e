package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

// Stages of a run, as they are recorded.
const (
	Loaded   = "loaded" // users and conversations exist; the load begins
	Faults   = "faults" // the faults begin
	Healed   = "healed" // the last fault has ended; the load continues
	Ended    = "ended"  // the load has ended
	Quiesced = "at rest"
)

// settle waits for at most some time until every device has the acknowledged messages of conversations with fixed members, and no new
// events arrive. It reports whether that was reached.
func (t *workload) settle(ctx context.Context, most time.Duration) bool {
	const pollInterval, enough = 100 * time.Millisecond, 20
	last, quiet := -1, 0
	for end := time.Now().Add(most); time.Now().Before(end); {
		if !pause(ctx, pollInterval) {
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

// missing counts the acknowledged messages of fixed conversations that devices lack.
func (t *workload) missing() (n int) {
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
	for _, r := range t.conversations {
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

// finalCallTimeout limits the calls before the load, and at the end, after the faults.
const finalCallTimeout = 30 * time.Second

// retryCall repeats a call to a node until it is answered, or the timeout ends.
func retryCall(ctx context.Context, n *Node, call func(ctx context.Context) error) error {
	return untilAnswered(WithNode(ctx, n), call)
}

// untilAnswered repeats a call until it is answered, or the timeout ends. A node that lacks CPU time may refuse a call for a time.
func untilAnswered(ctx context.Context, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, finalCallTimeout)
	defer cancel()
	for {
		err := call(ctx)
		if err == nil || outcome(err) == Fail || !pause(ctx, 200*time.Millisecond) {
			return err
		}
	}
}

// readFinalState reads everything from every node that serves it, after the faults.
func (t *workload) readFinalState(ctx context.Context) error {
	for _, n := range t.router.Serving(roleChat) {
		for _, r := range t.conversations {
			if err := t.readHistory(ctx, n, r); err != nil {
				return fmt.Errorf("reading the history of %d from %s: %w", r.id, n.Name, err)
			}
		}
		if err := t.readRevised(ctx, n); err != nil {
			return fmt.Errorf("reading the history of the changed messages from %s: %w", n.Name, err)
		}
		for _, p := range t.users {
			if err := t.readUnread(ctx, n, p); err != nil {
				return fmt.Errorf("reading the list of %s from %s: %w", p.name, n.Name, err)
			}
		}
	}
	for _, n := range t.router.Serving(roleFeed) {
		if err := t.readFeed(ctx, n); err != nil {
			return fmt.Errorf("reading posts from %s: %w", n.Name, err)
		}
	}
	for _, p := range t.users {
		for _, d := range p.devices {
			if err := t.syncFromStart(ctx, t.router.RandomNode(), d); err != nil {
				return fmt.Errorf("syncing %s from zero: %w", d.proc, err)
			}
		}
	}
	if err := t.readAllFiles(ctx); err != nil {
		return err
	}
	return t.awaitPresence(ctx)
}

// readHistory reads a complete conversation as its first member.
func (t *workload) readHistory(ctx context.Context, n *Node, r *conversationLoad) error {
	reader := r.members[0]
	return eachEntry(ctx, n, reader, r, func(m *chatv1.Message) {
		e := Event{Proc: reader.name, F: FLog, User: reader.id, Node: n.Name}
		e.entry(m)
		t.record.Note(e)
	})
}

// eachEntry calls f for all entries of a conversation, as a member reads them from a node.
func eachEntry(ctx context.Context, n *Node, reader *user, r *conversationLoad, f func(*chatv1.Message)) error {
	for after := uint64(0); ; {
		var page *chatv1.HistoryResponse
		err := retryCall(ctx, n, func(ctx context.Context) error {
			a, err := reader.caller.Chat().History(ctx, connect.NewRequest(&chatv1.HistoryRequest{Conversation: r.id, After: after, Limit: 200, TimeMs: historyStart(after)}))
			if err == nil {
				page = a.Msg
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, m := range page.Messages {
			f(m)
			after = m.Seq
		}
		if !page.More || len(page.Messages) == 0 {
			return nil
		}
	}
}

// historyStart returns the parameter for reading from the beginning: 0 would mean the newest entries, and every entry is newer than 1 ms after
// 1970.
func historyStart(after uint64) int64 {
	if after == 0 {
		return 1
	}
	return 0
}

// readUnread reads a user's unread counts.
func (t *workload) readUnread(ctx context.Context, n *Node, p *user) error {
	var list *chatv1.ListConversationsResponse
	err := retryCall(ctx, n, func(ctx context.Context) error {
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

// syncFromStart syncs a device's stream from its beginning.
func (t *workload) syncFromStart(ctx context.Context, n *Node, d *device) error {
	at := &chatv1.Position{}
	for {
		var page *chatv1.SyncResponse
		err := retryCall(ctx, n, func(ctx context.Context) error {
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
			return errors.New("the stream was reset")
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

// awaitPresence queries presence from every node until it is correct or the timeout ends.
func (t *workload) awaitPresence(ctx context.Context) error {
	online := map[uint64]bool{t.flappers[0].id: true, t.flappers[1].id: true}
	var users []uint64
	for _, p := range t.flappers {
		users = append(users, p.id)
	}
	for _, n := range t.router.Serving(roleChat) {
		var list []*presencev1.Presence
		for end := time.Now().Add(finalCallTimeout); ; {
			err := retryCall(ctx, n, func(ctx context.Context) error {
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
