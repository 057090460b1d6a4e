package chat_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	"github.com/rialto-im/rialto/internal/chat"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// stuck is a log that takes appends, and answers none while it is held.
type stuck struct {
	timeline.Log

	mu   sync.Mutex // guards all below
	held bool
	list []*timeline.Append
}

func (l *stuck) Append(list ...*timeline.Append) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		l.list = append(l.list, list...)
		return
	}
	l.Log.Append(list...)
}

func (l *stuck) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = true
}

// letGo stores what was held, in order, or refuses it.
func (l *stuck) letGo(refuse error) {
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

// A change that the log does not answer is given up in time, and holds up nobody. Should it be stored later, or refused, the
// conversation is what its log says, and trying again does no harm.
func TestALogThatDoesNotAnswer(t *testing.T) {
	for _, test := range []struct {
		name    string
		refuse  error
		removed string // what one who was to be removed is told
	}{{"stored later", nil, "no_conversation"}, {"refused later", timeline.ErrBusy, "busy"}} {
		t.Run(test.name, func(t *testing.T) {
			ctx, h := context.Background(), newHouse(t, chat.Config{})
			log := &stuck{Log: h.log}
			h.log = log
			s := h.node(t)
			chat.SetAppendMost(s, time.Millisecond)
			log.hold()
			group := &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}}
			if _, err := s.CreateGroup(ctx, 1, group); reasonOf(err) != "no_answer" {
				t.Fatalf("making a group: %v", err)
			}
			log.letGo(test.refuse)
			chat.SetAppendMost(s, time.Minute)
			c, err := s.CreateGroup(ctx, 1, group)
			must(t, err)

			log.hold()
			chat.SetAppendMost(s, time.Millisecond)
			if _, err := s.Remove(ctx, c, 1, []uint64{3}); reasonOf(err) != "no_answer" {
				t.Fatalf("a removal that is not answered: %v", err)
			}
			list, err := s.Of(ctx, 3)
			must(t, err)
			if i := slices.IndexFunc(list, func(m chat.Membership) bool { return m.Conversation == c }); i < 0 || list[i].Leave != 0 {
				t.Errorf("meanwhile %+v; want a member", list)
			}
			done := make(chan *message.Draft, 2)
			for _, u := range []id.User{2, 3} {
				d := draftOf(c, u, 1, "meanwhile")
				d.Done = func(d *message.Draft) { done <- d }
				s.Submit(d)
			}
			log.letGo(test.refuse)
			for range 2 {
				want := map[id.User]string{2: reasonOf(test.refuse), 3: test.removed}
				if d := <-done; reasonOf(d.Err) != want[d.Sender] {
					t.Errorf("%d, who wrote meanwhile, is told %v, want %q", d.Sender, d.Err, want[d.Sender])
				}
			}
			chat.SetAppendMost(s, time.Minute)
			if _, err := s.Remove(ctx, c, 1, []uint64{3}); err != nil {
				t.Errorf("again: %v", err)
			}
			for u, want := range map[id.User]string{2: "", 3: "no_conversation"} {
				if err := s.Send(ctx, draftOf(c, u, 1, "meanwhile")); reasonOf(err) != want {
					t.Errorf("%d is told %v, want %q", u, err, want)
				}
			}
			list, err = s.Of(ctx, 3)
			must(t, err)
			if i := slices.IndexFunc(list, func(m chat.Membership) bool { return m.Conversation == c }); i < 0 || list[i].Leave == 0 {
				t.Errorf("in the end %+v; want one who left", list)
			}
			removals := 0
			for _, e := range h.entries(t, c) {
				if e.control.GetAction() == chatv1.Control_ACTION_REMOVED {
					removals++
				}
			}
			if removals != 1 {
				t.Errorf("%d removals are in the log", removals)
			}
			replay(t, h.entries(t, c))
		})
	}
}
