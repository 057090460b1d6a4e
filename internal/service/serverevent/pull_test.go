package serverevent_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/serverevent"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
)

// A consumer that is killed between a pull and its confirmation gets the same events again, with the same ids, also from another process.
func TestPullingLosesNothing(t *testing.T) {
	f := open(t, 4)
	f.put(&eventv1.EventConsumer{Name: "shop", Kinds: []eventv1.EventKind{eventv1.EventKind_EVENT_KIND_MESSAGE}}, false)
	var groups []id.Conversation
	for n := range 6 {
		groups = append(groups, f.group(fmt.Sprint(n), f.users...))
	}
	const each = 4
	sendAll := func(round int) {
		var group sync.WaitGroup
		for _, c := range groups {
			for _, u := range f.users[:2] {
				group.Go(func() {
					for n := range each {
						f.send(c, u, fmt.Sprint(round, " ", c, " ", u, " ", n))
					}
				})
			}
		}
		group.Wait()
	}
	sendAll(1)
	first, cursor := f.pull("shop", "")
	checkOrder(t, first)
	if want := len(groups) * 2 * each; len(first) != want {
		t.Fatalf("got %d events, want %d", len(first), want)
	}
	f.restart() // nothing was confirmed
	again, _ := f.pull("shop", "")
	checkOrder(t, again)
	if !slices.Equal(ids(again), ids(first)) {
		t.Errorf("after a restart other events were pulled: %v, not %v", ids(again), ids(first))
	}
	f.confirm("shop", cursor)
	f.confirm("shop", cursor)
	sendAll(2)
	second, later := f.pull("shop", "")
	if len(second) != len(first) || slices.ContainsFunc(ids(second), func(one string) bool { return slices.Contains(ids(first), one) }) {
		t.Errorf("after the confirmation got %d events, some of which were confirmed: %v", len(second), ids(second))
	}
	f.confirm("shop", later)
	f.confirm("shop", cursor) // late: it changes nothing
	if rest, _ := f.pull("shop", ""); len(rest) != 0 {
		t.Errorf("a late confirmation moved the consumer back to %v", ids(rest))
	}
}

func ids(events []*eventv1.ServerEvent) (list []string) {
	for _, e := range events {
		list = append(list, e.Id)
	}
	slices.Sort(list)
	return list
}

// All kinds of events come, once each, in the order in which they happened.
func TestKindsOfEvents(t *testing.T) {
	f := open(t, 3)
	f.put(&eventv1.EventConsumer{Name: "all"}, true)
	f.put(&eventv1.EventConsumer{Name: "audit", Audit: true}, true)
	f.put(&eventv1.EventConsumer{Name: "direct", ConversationKinds: []chatv1.ConversationKind{chatv1.ConversationKind_CONVERSATION_KIND_DIRECT}}, true)
	c := f.group("a group", f.users[0], f.users[1])
	one := f.send(c, f.users[0], "/weather@Bot  Berlin today ")
	two := f.send(c, f.users[0], "a secret")
	target := &chatv1.Ref{Seq: two}
	f.sendContent(c, f.users[0], &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: one}, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: "edited"}}}}})
	f.sendContent(c, f.users[1], &chatv1.Content{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: target, Emoji: "👍"}}})
	f.sendContent(c, f.users[0], &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: target}}})
	if _, err := f.chat.Remove(t.Context(), c, f.users[0], []uint64{uint64(f.users[1])}); err != nil {
		t.Fatal(err)
	}
	kinds := func(consumer string) (list []string) {
		events, _ := f.pull(consumer, "")
		checkOrder(t, events)
		for _, e := range events {
			list = append(list, e.Kind.String()[len("EVENT_KIND_"):])
		}
		return list
	}
	want := []string{"CONVERSATION_CREATED", "MESSAGE", "MESSAGE", "EDIT", "REACTION", "RECALL", "MEMBER_LEFT"}
	if got := kinds("all"); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := kinds("audit"); !slices.Equal(got, want) {
		t.Errorf("the audit got %v, want %v", got, want)
	}
	if got := kinds("direct"); len(got) != 0 {
		t.Errorf("the events of a group came to a consumer of one-to-one conversations: %v", got)
	}
	now, _ := f.pull("all", "")
	if got := texts(now[1:3]); got[0] != "edited" || got[1] != "" {
		t.Errorf("edited and recalled texts are %q", got)
	}
	stored, _ := f.pull("audit", "")
	if got := texts(stored[1:3]); got[0] != "/weather@Bot  Berlin today " || got[1] != "a secret" {
		t.Errorf("the audit has %q", got)
	}
	if got := stored[1].Command; got.GetName() != "weather" || got.GetArguments() != "Berlin today" || got.GetHandle() != "bot" {
		t.Errorf("the command is %v", got)
	}
}

// Shares divide the conversations: each event is in one share.
func TestSharesDivideConversations(t *testing.T) {
	f := open(t, 2)
	f.put(&eventv1.EventConsumer{Name: "shop"}, true)
	for n := range 8 {
		c := f.group(fmt.Sprint(n), f.users...)
		f.send(c, f.users[0], "x")
	}
	f.dispatched()
	seen, of := map[string]bool{}, map[uint64]uint32{}
	var cursors []string
	for share := range uint32(3) {
		res, err := f.events.Load().Pull(t.Context(), server, &eventv1.PullEventsRequest{Consumer: "shop", Share: share, Shares: 3})
		must(t, err)
		for _, e := range res.Events {
			if before, ok := of[e.Conversation]; seen[e.Id] || ok && before != share {
				t.Errorf("event %s is in two shares", e.Id)
			}
			seen[e.Id], of[e.Conversation] = true, share
		}
		cursors = append(cursors, res.Cursor)
	}
	if len(seen) != 16 {
		t.Errorf("the shares have %d events, want 16", len(seen))
	}
	f.confirm("shop", cursors[1])
	rest, _ := f.pull("shop", "")
	for _, e := range rest {
		if of[e.Conversation] == 1 {
			t.Errorf("event %s of a confirmed share came again", e.Id)
		}
		delete(seen, e.Id)
	}
	for one := range seen {
		var conversation uint64
		if _, err := fmt.Sscanf(one, "%d-", &conversation); err != nil || of[conversation] != 1 {
			t.Errorf("event %s of another share was confirmed", one)
		}
	}
}

// A wait ends with the first event.
func TestPullWaits(t *testing.T) {
	f := open(t, 2)
	f.put(&eventv1.EventConsumer{Name: "shop", Kinds: []eventv1.EventKind{eventv1.EventKind_EVENT_KIND_MESSAGE}}, false)
	got := make(chan *eventv1.PullEventsResponse, 1)
	go func() {
		res, err := f.events.Load().Pull(t.Context(), server, &eventv1.PullEventsRequest{Consumer: "shop", WaitMs: 25_000})
		if err != nil {
			t.Error(err)
		}
		got <- res
	}()
	c := f.group("a group", f.users...)
	f.send(c, f.users[0], "hello")
	if res := <-got; len(res.GetEvents()) != 1 || texts(res.Events)[0] != "hello" {
		t.Errorf("the wait returned %v", res)
	}
}

// The keys of a bot cannot use up the waits of others, and without a wait there is always an answer.
func TestWaitsAreLimited(t *testing.T) {
	f := open(t, 2)
	f.put(&eventv1.EventConsumer{Name: "shop"}, false)
	s := f.events.Load()
	add := func(bot id.User) (n int) {
		for s.AddWaiter(bot) == nil {
			n++
		}
		return n
	}
	if n := add(7); n != 16 {
		t.Errorf("%d calls wait for one bot, want 16", n)
	}
	if n := add(0); n != 240 {
		t.Errorf("beside a bot, %d calls wait, want 240", n)
	}
	_, err := s.Pull(t.Context(), server, &eventv1.PullEventsRequest{Consumer: "shop", WaitMs: 1})
	if err == nil || errs.Of(err).Reason != "too_many_waiting" {
		t.Errorf("one more wait: got %v", err)
	}
	if _, err := s.Pull(t.Context(), server, &eventv1.PullEventsRequest{Consumer: "shop"}); err != nil {
		t.Errorf("a pull that does not wait: got %v", err)
	}
}

func TestSeek(t *testing.T) {
	f := open(t, 2)
	f.put(&eventv1.EventConsumer{Name: "shop", Kinds: []eventv1.EventKind{eventv1.EventKind_EVENT_KIND_MESSAGE}}, true)
	c := f.group("a group", f.users...)
	for n := range 5 {
		f.clock.Advance(time.Second)
		f.send(c, f.users[0], fmt.Sprint(n))
	}
	middle := f.clock.Now().UnixMilli() - 2000
	_, cursor := f.pull("shop", "")
	f.confirm("shop", cursor)
	for name, test := range map[string]struct {
		r    *eventv1.SeekEventsRequest
		want []string
	}{
		"start":  {&eventv1.SeekEventsRequest{To: &eventv1.SeekEventsRequest_Start{Start: true}}, []string{"0", "1", "2", "3", "4"}},
		"end":    {&eventv1.SeekEventsRequest{To: &eventv1.SeekEventsRequest_End{End: true}}, nil},
		"time":   {&eventv1.SeekEventsRequest{To: &eventv1.SeekEventsRequest_TimeMs{TimeMs: middle}}, []string{"2", "3", "4"}},
		"cursor": {&eventv1.SeekEventsRequest{To: &eventv1.SeekEventsRequest_Cursor{Cursor: cursor}}, nil},
	} {
		test.r.Consumer = "shop"
		must(t, f.events.Load().Seek(t.Context(), server, test.r))
		if got, _ := f.pull("shop", ""); !slices.Equal(texts(got), test.want) {
			t.Errorf("%s: got %v, want %v", name, texts(got), test.want)
		}
		if err := f.events.Load().Confirm(t.Context(), server, &eventv1.ConfirmEventsRequest{Consumer: "shop", Cursor: cursor}); errs.Of(err).Reason != "cursor_outdated" {
			t.Errorf("%s: a cursor from before the seek was confirmed (%v)", name, err)
		}
	}
}

// A consumer that was away for longer than events are kept is told that it has missed some.
func TestTrimmedEventsAreAGap(t *testing.T) {
	f := open(t, 2)
	f.put(&eventv1.EventConsumer{Name: "shop"}, true)
	c := f.group("a group", f.users...)
	f.send(c, f.users[0], "1")
	_, cursor := f.pull("shop", "")
	f.send(c, f.users[0], "2")
	f.send(c, f.users[0], "3")
	f.dispatched()
	stream := streamOf(c)
	tail, err := f.log.Tail(t.Context(), stream)
	must(t, err)
	must(t, f.log.Trim(t.Context(), stream, tail.Seq))
	res, err := f.events.Load().Pull(t.Context(), server, &eventv1.PullEventsRequest{Consumer: "shop", Cursor: cursor})
	if err != nil || !res.Gap || !slices.Equal(texts(res.Events), []string{"3"}) {
		t.Errorf("got %v (%v)", res, err)
	}
	if res, err = f.events.Load().Pull(t.Context(), server, &eventv1.PullEventsRequest{Consumer: "shop"}); err != nil || res.Gap {
		t.Errorf("a consumer from the start has a gap: %v (%v)", res, err)
	}
}

// What a bot's key, or a key without the permission, may not do.
func TestAccess(t *testing.T) {
	f := open(t, 2)
	bot := id.Caller{User: f.users[0], Bot: true}
	s := f.events.Load()
	f.put(&eventv1.EventConsumer{Name: "all"}, true)
	f.put(&eventv1.EventConsumer{Name: "audit", Audit: true}, true)
	for what, err := range map[string]error{
		"no_audit":          second(s.PutConsumer(t.Context(), server, &eventv1.PutEventConsumerRequest{Consumer: &eventv1.EventConsumer{Name: "x", Audit: true}})),
		"not_your_consumer": second(s.Pull(t.Context(), bot, &eventv1.PullEventsRequest{Consumer: "all"})),
		"bad_consumer":      second(s.PutConsumer(t.Context(), server, &eventv1.PutEventConsumerRequest{Consumer: &eventv1.EventConsumer{Name: "a b"}})),
		"no_consumer":       second(s.Pull(t.Context(), server, &eventv1.PullEventsRequest{Consumer: "none"})),
		"bad_cursor":        second(s.Pull(t.Context(), server, &eventv1.PullEventsRequest{Consumer: "all", Cursor: "x"})),
		"bad_share":         second(s.Pull(t.Context(), server, &eventv1.PullEventsRequest{Consumer: "all", Share: 2, Shares: 2})),
	} {
		if errs.Of(err).Reason != what {
			t.Errorf("got %v, want %s", err, what)
		}
	}
	if _, err := s.Pull(t.Context(), server, &eventv1.PullEventsRequest{Consumer: "audit"}); errs.Of(err).Reason != "no_audit" {
		t.Errorf("a key without the permission pulled the audit: %v", err)
	}
	if _, err := s.PutConsumer(t.Context(), bot, &eventv1.PutEventConsumerRequest{Consumer: &eventv1.EventConsumer{Name: "all"}}); errs.Of(err).Reason != "not_your_consumer" {
		t.Errorf("a bot changed the consumer of a server: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestCommands(t *testing.T) {
	for text, want := range map[string]string{
		"/start": "start||", "/Weather  Berlin\nnow ": "weather|Berlin\nnow|", "/go@My_Bot x": "go|x|my_bot",
		"": "", "/": "", "// x": "", "hello /x": "", "/a-b": "", "/x@": "", "/ü": "", " /x": "",
	} {
		got := ""
		if c := serverevent.CommandOf(text); c != nil {
			got = c.Name + "|" + c.Arguments + "|" + c.Handle
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
