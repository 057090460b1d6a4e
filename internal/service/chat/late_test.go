package chat_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// stalledLog accepts appends, and completes none while it is held.
type stalledLog struct {
	timeline.Log

	mu   sync.Mutex // guards the fields below
	held bool
	list []*timeline.AppendRequest
}

func (l *stalledLog) Append(list ...*timeline.AppendRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		l.list = append(l.list, list...)
		return
	}
	l.Log.Append(list...)
}

func (l *stalledLog) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
}

// release stores the held appends in order, or refuses them.
func (l *stalledLog) release(refuse error) {
	l.mu.Lock()
	list := l.list
	l.list, l.held = nil, false
	if refuse == nil && len(list) > 0 {
		l.Log.Append(list...)
	}
	l.mu.Unlock()
	if refuse == nil {
		return
	}
	for _, a := range list {
		a.Err = refuse
		a.Done(a)
	}
}

// A change whose append the log does not complete ends by a timeout, and blocks nobody. Whether it is stored or refused later, the state
// follows the log, and a retry is harmless.
func TestControlEntryTimeout(t *testing.T) {
	for _, test := range []struct {
		name    string
		refuse  error
		removed string // the reason that the removed user gets
	}{{"stored later", nil, "no_conversation"}, {"refused later", timeline.ErrBusy, "busy"}} {
		t.Run(test.name, func(t *testing.T) {
			ctx, h := context.Background(), newHarness(t, chat.Config{})
			log := &stalledLog{Log: h.log}
			h.log = log
			s := h.node(t)
			chat.SetControlTimeout(s, time.Millisecond)
			log.hold()
			group := &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}}
			if _, err := s.CreateGroup(ctx, 1, group); reasonOf(err) != "no_answer" {
				t.Fatalf("creating a group: %v", err)
			}
			log.release(test.refuse)
			chat.SetControlTimeout(s, time.Minute)
			c, err := s.CreateGroup(ctx, 1, group)
			must(t, err)

			log.hold()
			chat.SetControlTimeout(s, time.Millisecond)
			if _, err := s.Remove(ctx, c, 1, []uint64{3}); reasonOf(err) != "no_answer" {
				t.Fatalf("a removal whose append does not complete returned %v", err)
			}
			list, err := s.MembershipsAfter(ctx, 3, 0, 1000)
			must(t, err)
			if i := slices.IndexFunc(list, func(m chat.Membership) bool { return m.Conversation == c }); i < 0 || list[i].Leave != 0 {
				t.Errorf("before the append completes the list is %+v, want a member", list)
			}
			done := make(chan *message.Draft, 2)
			for _, u := range []id.User{2, 3} {
				d := draftOf(c, u, 1, "meanwhile")
				d.Done = func(d *message.Draft) { done <- d }
				s.Submit(d)
			}
			log.release(test.refuse)
			for range 2 {
				want := map[id.User]string{2: reasonOf(test.refuse), 3: test.removed}
				if d := <-done; reasonOf(d.Err) != want[d.Sender] {
					t.Errorf("a message that %d sent before the append completed returned %v, want %q", d.Sender, d.Err, want[d.Sender])
				}
			}
			chat.SetControlTimeout(s, time.Minute)
			if _, err := s.Remove(ctx, c, 1, []uint64{3}); err != nil {
				t.Errorf("the retry returned %v", err)
			}
			for u, want := range map[id.User]string{2: "", 3: "no_conversation"} {
				if err := s.Send(ctx, draftOf(c, u, 1, "meanwhile")); reasonOf(err) != want {
					t.Errorf("a message of %d returned %v, want %q", u, err, want)
				}
			}
			list, err = s.MembershipsAfter(ctx, 3, 0, 1000)
			must(t, err)
			if i := slices.IndexFunc(list, func(m chat.Membership) bool { return m.Conversation == c }); i < 0 || list[i].Leave == 0 {
				t.Errorf("after the retry the list is %+v, want one former member", list)
			}
			removals := 0
			for _, e := range h.entries(t, c) {
				if e.control.GetAction() == chatv1.Control_ACTION_REMOVED {
					removals++
				}
			}
			if removals != 1 {
				t.Errorf("the log has %d removals, want 1", removals)
			}
			replay(t, h.entries(t, c))
		})
	}
}
