package fanout_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	"github.com/rialto-im/rialto/internal/service/fanout"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// TestInboxesMatchMembership: members of groups join, leave and rejoin while messages are sent, workers restart, and the chat service
// restarts from its rows. Each inbox has exactly the entries stored while its user was a member.
func TestInboxesMatchMembership(t *testing.T) {
	for name, open := range map[string]func(timeline.Listener) timeline.Log{"memory": inMemory, "pebble": onDisk(t)} {
		t.Run(name, func(t *testing.T) { testMembers(t, open) })
	}
}

func testMembers(t *testing.T, open func(timeline.Listener) timeline.Log) {
	ctx := context.Background()
	s := newStage(t, open)
	deps := s.chatDeps(t)
	service, err := chat.New(ctx, deps, chat.Config{})
	must(t, err)
	var groups []id.Conversation
	for range 6 {
		c, err := service.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3, 4, 5, 6, 7, 8}})
		must(t, err)
		groups = append(groups, c)
	}
	random := rand.New(rand.NewPCG(5, 6))
	for round := range 6 {
		s.run(service)
		var changes sync.WaitGroup
		for k := range uint64(2) {
			changes.Go(func() { comeAndGo(t, service, groups, rand.New(rand.NewPCG(k, uint64(round)))) })
		}
		for u := id.User(1); u <= 8; u++ {
			changes.Go(func() {
				for i := range uint64(60) {
					d := &message.Draft{Conversation: groups[i%6], Sender: u, Device: 1, ClientSeq: uint64(round)*100 + i + 1, Content: message.AppendText(nil, "x")}
					_ = service.Send(ctx, d) // refused for users who are not members
				}
			})
		}
		if random.IntN(2) == 0 {
			s.stop() // stops midway; the next worker dispatches the rest, after later changes
			changes.Wait()
		} else {
			changes.Wait()
			s.settle()
			s.stop()
		}
		service, err = chat.New(ctx, deps, chat.Config{})
		must(t, err)
	}
	s.run(service)
	s.settle()
	s.stop()
	for _, c := range groups {
		s.checkMembers(c)
	}
	must(t, s.log.Close())
	must(t, deps.DB.Close())
	noGoroutines(t)
}

func comeAndGo(t *testing.T, service *chat.Service, groups []id.Conversation, random *rand.Rand) {
	for range 40 {
		c, u := groups[random.IntN(len(groups))], 2+random.Uint64N(7)
		var err error
		if random.IntN(2) == 0 {
			_, err = service.Remove(context.Background(), c, 1, []uint64{u})
		} else {
			_, err = service.Invite(context.Background(), c, 1, []uint64{u})
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// run starts a worker with the real chat service.
func (s *stage) run(service fanout.Chat) {
	s.custom = service
	s.start()
}

// checkMembers replays a group's log and compares the inboxes with it.
func (s *stage) checkMembers(c id.Conversation) {
	s.t.Helper()
	ctx := context.Background()
	log, err := s.log.Read(ctx, conversation(c), 0, 1<<20)
	must(s.t, err)
	want := map[id.User][]uint64{}
	in := map[id.User]bool{1: true}
	for _, stored := range log {
		var e message.Entry
		must(s.t, e.Decode(stored.Payload))
		var content chatv1.Content
		must(s.t, proto.Unmarshal(e.Content, &content))
		var gone []id.User
		for _, u := range content.GetControl().GetUsers() {
			switch content.GetControl().Action {
			case chatv1.Control_ACTION_CREATED, chatv1.Control_ACTION_JOINED:
				in[id.User(u)] = true
			case chatv1.Control_ACTION_REMOVED:
				gone = append(gone, id.User(u))
			}
		}
		for u := range in {
			want[u] = append(want[u], stored.Seq)
		}
		for _, u := range gone {
			delete(in, u)
		}
	}
	for u := id.User(1); u <= 8; u++ {
		entries, err := s.log.Read(ctx, inbox(u), 0, 1<<20)
		must(s.t, err)
		var got []uint64
		for _, e := range entries {
			if of, seq, _, err := message.DecodeInbox(e.Payload); err != nil {
				s.t.Fatal(err)
			} else if of == c && (len(got) == 0 || seq > got[len(got)-1]) {
				got = append(got, seq)
			} else if of == c && !slices.Contains(got, seq) {
				s.t.Fatalf("user %d got entry %d of %v out of order", u, seq, c)
			}
		}
		if !slices.Equal(got, want[u]) {
			s.t.Fatalf("user %d got %d entries of %v, want %d; %s", u, len(got), c, len(want[u]), firstDifference(got, want[u]))
		}
	}
}

func firstDifference(a, b []uint64) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("first difference: %d, want %d", a[i], b[i])
		}
	}
	return "one is a prefix of the other"
}
