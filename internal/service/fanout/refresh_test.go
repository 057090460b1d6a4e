package fanout_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Once a recall or an edit is acknowledged, the old text is pushed to nobody, although the message waited for fan-out all the while.
func TestBacklogHasNoOldTexts(t *testing.T) {
	for _, large := range []bool{false, true} {
		for _, single := range []bool{false, true} {
			t.Run(fmt.Sprintf("large %v, single node %v", large, single), func(t *testing.T) { testBacklog(t, large, single) })
		}
	}
}

func testBacklog(t *testing.T, large, single bool) {
	ctx := context.Background()
	s := newStage(t, inMemory)
	deps := s.chatDeps(t)
	defer deps.DB.Close()
	deps.SingleNode = single
	config := chat.Config{}
	if large {
		config.LargeGroupAbove = 1
	}
	service, err := chat.New(ctx, deps, config)
	must(t, err)
	c := newGroup(t, service, 2, 3, 4)
	recalled, edited, untouched := c.send(textOf("old 1")), c.send(textOf("old 2")), c.send(textOf("untouched"))
	c.send(editOf(recalled, "old 3"))
	c.send(editOf(edited, "old 4"))
	c.send(editOf(edited, "present"))
	c.send(&chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: recalled}}}})
	s.run(service)
	s.settle()
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[uint64]*chatv1.Message{}
	for _, g := range s.got {
		if strings.Contains(string(g.Body), "old ") {
			t.Errorf("the old text of %d is pushed: %q", g.Seq, g.Body)
		}
		if g.Large != (large && (g.Kind == message.DeliverEntry || g.Kind == message.DeliverEvent) && len(g.Targets) == 0) {
			t.Errorf("the delivery of %d is for all followers: %v, to %v", g.Seq, g.Large, g.Targets)
		}
		if m := c.pushed(g); g.Kind == message.DeliverEntry || g.Kind == message.DeliverEvent {
			seen[g.Seq] = m
		}
	}
	if m := seen[recalled]; m.GetSeq() != recalled || m.RecallSeq == 0 || m.Content != nil {
		t.Errorf("the recalled message is pushed as %v", m)
	}
	if m := seen[edited]; m.GetContent().GetText() != "present" || m.EditSeq == 0 {
		t.Errorf("the edited message is pushed as %v", m)
	}
	if m := seen[untouched]; m.GetContent().GetText() != "untouched" {
		t.Errorf("the message without updates is pushed as %v", m)
	}
}

// An entry whose present form cannot be read is not pushed. What else waits is.
func TestEntriesThatCannotBeRefreshedAreWithheld(t *testing.T) {
	s := newStage(t, inMemory)
	s.chat.of[1], s.chat.of[2], s.chat.large[2] = []id.User{2}, []id.User{2}, true
	s.chat.refresh = func([]*message.Stored) error { return errors.New("broken by the test") }
	var done sync.WaitGroup
	s.append(1, textEntry("old"), &done)
	s.append(2, textEntry("old"), &done)
	done.Wait()
	s.start()
	s.settle()
	s.worker.Load().Transient([]id.User{2}, []byte("frame"))
	s.settle()
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.got {
		if g.Kind != message.DeliverFrame {
			t.Errorf("%d of conversation %d is pushed: %q", g.Seq, g.Conversation, g.Body)
		}
	}
	entries, err := s.log.Read(context.Background(), inbox(2), 0, 10)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("the inbox has %d entries, want 1", len(entries))
	}
}

// While some entries are refreshed, others of the round may grow so old that they may be outdated as well.
func TestEntriesThatBecomeOutdatedDuringARefreshAreRefreshed(t *testing.T) {
	s := newStage(t, inMemory)
	s.chat.of[1] = []id.User{2}
	var reading atomic.Bool
	s.chat.outdated = func(stored []byte) bool { return bytes.Contains(stored, []byte("old 1")) || reading.Load() }
	s.chat.refresh = func(list []*message.Stored) error {
		reading.Store(true)
		for _, m := range list {
			m.Entry.Content = bytes.ReplaceAll(m.Entry.Content, []byte("old"), []byte("new"))
		}
		return nil
	}
	var done sync.WaitGroup
	entries := make([]*timeline.AppendRequest, 2)
	done.Add(len(entries))
	for i := range entries {
		entries[i] = &timeline.AppendRequest{Key: conversation(1), Payload: textEntry(fmt.Sprint("old ", i+1)), NeedsFanout: true, Done: func(*timeline.AppendRequest) { done.Done() }}
	}
	s.log.Append(entries...) // in one record, so in one round
	done.Wait()
	s.start()
	s.settle()
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.got) != len(entries) {
		t.Errorf("%d entries are pushed, want %d", len(s.got), len(entries))
	}
	for _, g := range s.got {
		if bytes.Contains(g.Body, []byte("old")) {
			t.Errorf("the old text of %d is pushed: %q", g.Seq, g.Body)
		}
	}
}

// An edit or a recall waits for the round that has looked for outdated entries before it was applied, and has not delivered them yet.
func TestRoundsAreAwaitedUntilTheyHaveDelivered(t *testing.T) {
	s := newStage(t, inMemory)
	s.chat.of[1] = []id.User{2}
	s.chat.outdated = func([]byte) bool { return true }
	begun, goOn := make(chan struct{}), make(chan struct{})
	s.chat.refresh = func([]*message.Stored) error {
		close(begun)
		<-goOn
		return nil
	}
	var done sync.WaitGroup
	s.append(1, textEntry("text"), &done)
	done.Wait()
	s.start()
	<-begun
	worker := s.worker.Load()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := worker.AwaitRounds(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("while a round looks for outdated entries, waiting for it ended with %v, want %v", err, context.Canceled)
	}
	close(goOn)
	must(t, worker.AwaitRounds(t.Context()))
	s.mu.Lock()
	if len(s.got) != 1 {
		t.Errorf("after the wait, %d entries are delivered, want 1", len(s.got))
	}
	s.mu.Unlock()
	s.settle()
	s.stop()
}
