package messagetrace_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/bus/membus"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/memlog"
	"github.com/rialto-im/rialto/internal/service/messagetrace"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var auditor = id.Caller{Server: true, Audit: true}

const (
	group = id.Conversation(7<<22 | 5)
	ann   = id.User(1)
	bob   = id.User(2)
	cem   = id.User(3)
)

// nodes share a log and a bus. Each has a recorder of its own.
type nodes struct {
	t     *testing.T
	log   coldLog
	bus   *membus.Bus
	clock *clocktest.Manual
	names []string
	list  map[string]*node
	facts facts
}

type node struct {
	*messagetrace.Service
	recorder *flightrecorder.Recorder
	stop     func()
}

// coldLog has no cold tier.
type coldLog struct{ *memlog.Log }

func (coldLog) IsCold(context.Context, timeline.Key, uint64) (bool, error) { return false, nil }

// facts are what the stores of a test say.
type facts struct {
	large       bool
	members     []id.User
	attempts    map[id.User][]*chatv1.TraceStep
	quarantined []timeline.Ref
	inbox       func(u id.User) *chatv1.TracedMember
}

func (f *facts) AddTrace(_ context.Context, c id.Conversation, seq uint64, trace *chatv1.MessageTrace) error {
	if c != group {
		return errs.New(errs.NotFound, "no_conversation", "there is no such conversation")
	}
	if seq != 0 {
		trace.Kind, trace.Large = chatv1.ConversationKind_CONVERSATION_KIND_GROUP, f.large
	}
	return nil
}

func (f *facts) AudiencePage(_ context.Context, _ id.Conversation, _ uint64, after id.User, limit int) (users []id.User, next id.User, err error) {
	for i, u := range f.members {
		if u <= after {
			continue
		}
		if len(users) == limit {
			return users, f.members[i-1], nil
		}
		users = append(users, u)
	}
	return users, 0, nil
}

func (f *facts) Trace(_ context.Context, _ id.Conversation, _ uint64, _ int64, _ bool, users []id.User) (list []*chatv1.TracedMember, err error) {
	for _, u := range users {
		m := &chatv1.TracedMember{}
		if f.inbox != nil {
			m = f.inbox(u)
		}
		m.User = uint64(u)
		list = append(list, m)
	}
	return list, nil
}

func (f *facts) TraceAttempts(context.Context, []id.User, id.Conversation, uint64) (map[id.User][]*chatv1.TraceStep, error) {
	return f.attempts, nil
}

func (f *facts) List(_ context.Context, _ uint16, after timeline.Ref, _ int) ([]timeline.Ref, []int64, error) {
	for _, r := range f.quarantined {
		if r.From > after.From {
			return []timeline.Ref{r}, []int64{1}, nil
		}
	}
	return nil, nil, nil
}

func open(t *testing.T, names ...string) *nodes {
	n := &nodes{t: t, bus: membus.New(), log: coldLog{memlog.New(nil)}, clock: clocktest.NewManual(), names: names, list: map[string]*node{}, facts: facts{members: []id.User{ann, bob, cem}}}
	for _, name := range names {
		n.start(name, flightrecorder.Config{Memory: 1 << 20})
	}
	t.Cleanup(func() {
		for _, o := range n.list {
			o.stop()
		}
		if err := n.bus.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// start starts a node, whose recorder is empty.
func (n *nodes) start(name string, config flightrecorder.Config) {
	o := &node{recorder: flightrecorder.New(n.clock, config)}
	o.Service = messagetrace.New(messagetrace.Deps{Log: n.log, Chat: &n.facts, Inbox: &n.facts, Pushes: &n.facts, Quarantine: &n.facts, Recorder: o.recorder, Bus: n.bus, Node: name,
		Nodes: func() []string { return n.names }, Owner: func(uint16) string { return "a" }, Clock: n.clock, Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := o.Run(ctx); err != nil {
			n.t.Error(err)
		}
	})
	o.stop = func() { cancel(); running.Wait() }
	n.list[name] = o
	eventually.True(n.t, name+" answers", func() bool {
		_, err := n.bus.Request(context.Background(), "node."+name+".trace", nil)
		return err == nil
	})
}

// append stores messages of ann in the group, at the clock's time, and returns their ids. needsFanout leaves fan-out records.
func (n *nodes) append(count int, needsFanout bool) (list []id.Message) {
	n.t.Helper()
	var done sync.WaitGroup
	for i := range count {
		m := id.MessageOf(n.clock.Now().UnixMilli(), uint16(i), 2, group)
		e := message.Entry{ID: m, Sender: ann, Device: 10, Content: []byte("secret")}
		done.Add(1)
		n.log.Append(&timeline.AppendRequest{Key: timeline.Key{Kind: timeline.Conversation, ID: uint64(group)}, Payload: e.Append(nil), Counts: true, NeedsFanout: needsFanout, Done: func(a *timeline.AppendRequest) {
			if a.Err != nil {
				n.t.Error(a.Err)
			}
			done.Done()
		}})
		list = append(list, m)
	}
	done.Wait()
	return list
}

func (n *nodes) trace(by string, r *chatv1.TraceMessageRequest) *chatv1.MessageTrace {
	n.t.Helper()
	out, err := n.list[by].Trace(context.Background(), auditor, r)
	if err != nil {
		n.t.Fatal(err)
	}
	return out
}

// story is what happened, in order: the kinds of steps with their nodes.
func story(steps []*chatv1.TraceStep) (list []string) {
	for _, s := range steps {
		text := s.Kind.String()[len("TRACE_STEP_KIND_"):] + "@" + s.Node
		if s.Count != 0 {
			text += fmt.Sprint("×", s.Count)
		}
		if s.Device != 0 {
			text += fmt.Sprint(" ", s.Device)
		}
		if s.TimeUs == 0 {
			text += " ?"
		}
		list = append(list, text)
	}
	return list
}

func (n *nodes) tells(what string, steps []*chatv1.TraceStep, want ...string) {
	n.t.Helper()
	if got := story(steps); !slices.Equal(got, want) {
		n.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}
