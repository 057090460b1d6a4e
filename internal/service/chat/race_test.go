package chat_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// result of a draft, as its sender gets it.
type result struct {
	text string
	seq  uint64
	err  error
}

// pipeline submits n drafts without waiting for their results, and returns the results in the order of the drafts.
func pipeline(node func(i int) *chat.Service, c id.Conversation, u id.User, first, n int) []result {
	results := make([]result, n)
	var wait sync.WaitGroup
	for i := range n {
		d := draftOf(c, u, uint64(first+i), fmt.Sprintf("%d/%d", u, first+i))
		wait.Add(1)
		d.Done = func(d *message.Draft) {
			text, _ := message.TextOf(d.Content)
			results[i] = result{string(text), d.Seq, d.Err}
			wait.Done()
		}
		node(i).Submit(d)
	}
	wait.Wait()
	return results
}

// replay checks a log without a service: each sender was a member, and no entry is missing.
func replay(t tester, log []entry) (audience map[uint64][]id.User) {
	t.Helper()
	members := map[id.User]bool{}
	audience = map[uint64][]id.User{}
	counters := map[id.User]uint64{}
	counted := uint64(0)
	lastAccess := uint64(0)
	for i, e := range log {
		if e.seq != uint64(i)+1 {
			t.Fatalf("seq %d at index %d", e.seq, i)
		}
		before := make([]id.User, 0, len(members))
		for u := range members {
			before = append(before, u)
		}
		if e.Control {
			if e.control.PrevAccess != lastAccess {
				t.Fatalf("the control entry at %d follows the one at %d, but refers to %d", e.seq, lastAccess, e.control.PrevAccess)
			}
			lastAccess = e.seq
			for _, u := range e.control.Users {
				switch e.control.Action {
				case chatv1.Control_ACTION_CREATED, chatv1.Control_ACTION_JOINED:
					members[id.User(u)] = true
				case chatv1.Control_ACTION_LEFT, chatv1.Control_ACTION_REMOVED:
					if !members[id.User(u)] {
						t.Fatalf("user %d left at %d without being a member", u, e.seq)
					}
					delete(members, id.User(u))
				}
			}
			if e.control.Action == chatv1.Control_ACTION_CREATED {
				members[id.User(e.control.Actor)] = true
			}
		} else {
			counted++
			if !members[e.Sender] {
				t.Fatalf("user %d wrote at %d without being a member", e.Sender, e.seq)
			}
			if e.ClientSeq <= counters[e.Sender] {
				t.Fatalf("message %[2]d of user %[1]d at seq %[3]d comes after message %[4]d", e.Sender, e.ClientSeq, e.seq, counters[e.Sender])
			}
			counters[e.Sender] = e.ClientSeq
		}
		if e.counted != counted {
			t.Fatalf("the running count is %d at seq %d, want %d", e.counted, e.seq, counted)
		}
		for u := range members {
			if !slices.Contains(before, u) {
				before = append(before, u)
			}
		}
		slices.Sort(before)
		audience[e.seq] = before
	}
	return audience
}

// TestConcurrentSendsWhileMembersChange: senders pipeline through their own nodes while members join and leave through all of them.
func TestConcurrentSendsWhileMembersChange(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{LargeGroupAbove: 6})
	nodes := []*chat.Service{h.node(t), h.node(t), h.node(t)}
	const owner, senders, rounds, each = 1, 8, 6, 40
	c, err := nodes[0].CreateGroup(ctx, owner, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3, 4, 5, 6, 7, 8}})
	must(t, err)

	var wait sync.WaitGroup
	results := make([][]result, senders+1)
	stop := make(chan struct{})
	for u := 1; u <= senders; u++ {
		wait.Go(func() {
			for round := range rounds {
				results[u] = append(results[u], pipeline(func(int) *chat.Service { return nodes[u%len(nodes)] }, c, id.User(u), 1+round*each, each)...)
			}
		})
	}
	var changes sync.WaitGroup
	for k := range 3 {
		changes.Go(func() {
			random := rand.New(rand.NewPCG(uint64(k), 7))
			for {
				select {
				case <-stop:
					return
				default:
				}
				u, node := 2+random.Uint64N(senders-1), nodes[random.IntN(len(nodes))]
				var err error
				switch random.IntN(3) {
				case 0:
					_, err = node.Remove(ctx, c, owner, []uint64{u})
				case 1:
					_, err = node.Invite(ctx, c, owner, []uint64{u})
				case 2:
					if _, err = node.Leave(ctx, c, id.User(u)); errs.Is(err, errs.NotFound) {
						err = nil // not a member
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	close(stop)
	changes.Wait()

	log := h.entries(t, c)
	audience := replay(t, log)
	text := map[uint64]string{}
	for _, e := range log {
		if !e.Control {
			b, _ := message.TextOf(e.Content)
			text[e.seq] = string(b)
		}
	}
	stored := 0
	for u := range results {
		for _, r := range results[u] {
			switch {
			case r.err == nil && text[r.seq] != r.text:
				t.Errorf("%q was acknowledged at seq %d, but the log has %q there", r.text, r.seq, text[r.seq])
			case r.err == nil:
				stored++
			case reasonOf(r.err) != "no_conversation":
				t.Errorf("sending %q: %v", r.text, r.err)
			}
		}
	}
	if stored != len(text) {
		t.Errorf("%d messages were acknowledged, but %d are stored", stored, len(text))
	}
	for i, node := range append(nodes, h.node(t)) {
		must(t, node.AwaitApplied(ctx, c, h.tail(t, c).Access))
		for seq, want := range audience {
			if got, _, err := node.Audience(ctx, c, seq); err != nil || !slices.Equal(got, want) {
				t.Fatalf("node %d: the audience of %d is %v, want %v (%v)", i, seq, got, want, err)
			}
		}
	}
}

// TestRemovedIsNotAdmitted: once a removal is acknowledged, no node stores a later message of the removed user.
func TestRemovedIsNotAdmitted(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	a, b := h.node(t), h.node(t)
	c, err := a.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}})
	must(t, err)
	for n := range uint64(30) {
		must(t, b.Send(ctx, draftOf(c, 2, 2*n+1, "in"))) // loads into b the state in which 2 is a member
		_, err := a.Remove(ctx, c, 1, []uint64{2})
		must(t, err)
		if err := b.Send(ctx, draftOf(c, 2, 2*n+2, "out")); reasonOf(err) != "no_conversation" {
			t.Fatalf("round %d: a removed user sent: %v", n, err)
		}
		_, err = a.Invite(ctx, c, 1, []uint64{2})
		must(t, err)
	}
	replay(t, h.entries(t, c))
}

// TestQueuedDraftIsNotRejectedByOlderState: a draft that is queued behind a busy mailbox is not rejected by a state older than the draft.
// Here another node adds the sender while a draft of a third user is checked against the state without that sender.
func TestQueuedDraftIsNotRejectedByOlderState(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	a := h.node(t)
	c, err := a.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2}})
	must(t, err)
	var b *chat.Service
	sent := make(chan error, 1)
	deps := h.deps(h.db)
	deps.CheckUploads = func(_ context.Context, _ id.Conversation, by []id.User, _ []id.Upload) []error {
		_, err := a.Invite(ctx, c, 1, []uint64{3})
		must(t, err)
		d := draftOf(c, 3, 1, "invited just now")
		d.Done = func(d *message.Draft) { sent <- d.Err }
		b.Submit(d)
		return make([]error, len(by))
	}
	b, err = chat.New(ctx, deps, h.config)
	must(t, err)
	must(t, b.Send(ctx, draftOf(c, 1, 1, "b knows the group without 3")))
	d := draftOf(c, 2, 1, "")
	d.Content = mediaContent(t, &chatv1.Media{Upload: 5, Name: "a"})
	must(t, b.Send(ctx, d))
	must(t, eventually.Receive(t, "the answer to who was invited just now", sent))
}

// TestBlockedIsNotAdmitted: after a block was acknowledged by one node, no node stores a message until it is lifted.
func TestBlockedIsNotAdmitted(t *testing.T) {
	ctx := context.Background()
	for name, config := range map[string]chat.Config{"anyone": {}, "friends": {WhoMayWrite: "friends"}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, config)
			nodes := []*chat.Service{h.node(t), h.node(t)}
			h.relations.set(h.relations.friends, 1, 2, true)
			c, err := nodes[0].OpenDirect(ctx, 1, 2)
			must(t, err)
			stop := make(chan struct{})
			var wait sync.WaitGroup
			for u := id.User(1); u <= 2; u++ {
				wait.Go(func() {
					for n := 1; ; n += 10 {
						select {
						case <-stop:
							return
						default:
						}
						for _, r := range pipeline(func(int) *chat.Service { return nodes[u-1] }, c, u, n, 10) {
							if r.err != nil && reasonOf(r.err) != "blocked" {
								t.Errorf("sending %q: %v", r.text, r.err)
							}
						}
					}
				})
			}
			for i := range 40 {
				no := func(yes bool) {
					if name == "friends" {
						h.relations.set(h.relations.friends, 1, 2, !yes)
					} else {
						h.relations.set(h.relations.blocked, 1, 2, yes)
					}
					must(t, nodes[i%2].AccessChanged(ctx, 1, 2))
				}
				no(true)
				from := h.tail(t, c)
				for u := id.User(1); u <= 2; u++ {
					if err := nodes[u-1].Send(ctx, draftOf(c, u+10, 1, "x")); reasonOf(err) != "no_conversation" {
						t.Fatalf("error %v, want the reason no_conversation", err)
					}
				}
				if to := h.tail(t, c); to.Seq != from.Seq {
					t.Fatalf("block %d: entries %d to %d were stored during it", i, from.Seq+1, to.Seq)
				}
				no(false)
			}
			close(stop)
			wait.Wait()
			replay(t, h.entries(t, c))
		})
	}
}

// TestOrderWhileLoadingAndChanging: one sender's drafts keep their order across loads, changes by other nodes, uploads that are checked,
// and conversations that are evicted from memory.
func TestOrderWhileLoadingAndChanging(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	deps := h.deps(h.db)
	deps.CheckUploads = func(_ context.Context, _ id.Conversation, by []id.User, _ []id.Upload) []error {
		return make([]error, len(by))
	}
	a, err := chat.New(ctx, deps, h.config)
	must(t, err)
	chat.SetMaxCached(a, 2)
	b := h.node(t)
	var groups []id.Conversation
	for range 3 {
		c, err := b.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}})
		must(t, err)
		groups = append(groups, c)
	}
	stop := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		title := "t"
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			node := a
			if i%3 != 0 {
				node = b
			}
			if _, err := node.UpdateGroup(ctx, groups[i%3], 1, &chatv1.UpdateGroupRequest{Title: &title}); err != nil {
				t.Error(err)
			}
		}
	})
	var wait sync.WaitGroup
	for u := id.User(1); u <= 3; u++ {
		wait.Go(func() {
			const n = 3000
			var done sync.WaitGroup
			done.Add(n)
			for i := range n {
				d := draftOf(groups[i%3], u, uint64(i+1), "text")
				if i%50 == 7 {
					d.Content = mediaContent(t, &chatv1.Media{Upload: 5, Name: "a"})
				}
				d.Done = func(d *message.Draft) {
					if d.Err != nil {
						t.Errorf("draft %d: %v", d.ClientSeq, d.Err)
					}
					done.Done()
				}
				a.Submit(d)
			}
			done.Wait()
		})
	}
	wait.Wait()
	close(stop)
	changes.Wait()
	total := 0
	for _, c := range groups {
		log := h.entries(t, c)
		replay(t, log) // checks that each sender's counters ascend
		for _, e := range log {
			if !e.Control {
				total++
			}
		}
	}
	if total != 9000 {
		t.Errorf("%d messages are stored, want 9000", total)
	}
}
