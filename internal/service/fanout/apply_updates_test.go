package fanout_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// slowUpdates applies updates once it is permitted.
type slowUpdates struct {
	*members
	began, permitted chan struct{}
}

func (m slowUpdates) ApplyUpdates(ctx context.Context, list []*message.Stored) ([]error, error) {
	select {
	case m.began <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-m.permitted:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return m.members.ApplyUpdates(ctx, list)
}

// While updates of a partition are applied, messages of the dispatcher's other partitions are delivered, and later ones of that partition are not.
func TestUpdatesDelayNoOtherPartition(t *testing.T) {
	s := newStage(t, inMemory)
	slow := slowUpdates{s.chat, make(chan struct{}), make(chan struct{})}
	s.custom = slow
	edited, other := id.Conversation(1), id.Conversation(2)
	for conversation(other).Partition() == conversation(edited).Partition() || conversation(other).Partition()%2 != conversation(edited).Partition()%2 {
		other++
	}
	s.chat.of[edited], s.chat.of[other] = []id.User{2}, []id.User{2}
	var done sync.WaitGroup
	s.start()
	s.append(edited, textEntry("first"), &done)
	s.append(other, textEntry("first"), &done)
	done.Wait()
	s.settle() // the worker has read the log, and gets what follows from the commits
	s.mu.Lock()
	s.got = nil
	s.mu.Unlock()
	s.append(edited, (&message.Entry{Sender: 2, Updates: 1, Content: []byte("update")}).Append(nil), &done)
	eventually.Receive(t, "the update is being applied", slow.began)
	s.append(edited, textEntry("behind it"), &done)
	s.append(other, textEntry("beside it"), &done)
	delivered := func() (contents []string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, g := range s.got {
			var e message.Entry
			must(t, e.Decode(g.Body))
			contents = append(contents, string(e.Content))
		}
		return slices.Compact(contents)
	}
	beside, behind := string(message.AppendText(nil, "beside it")), string(message.AppendText(nil, "behind it"))
	eventually.True(t, "the message of the other partition is delivered", func() bool { return slices.Equal(delivered(), []string{beside}) })
	close(slow.permitted)
	done.Wait()
	s.settle()
	s.stop()
	if got, want := delivered(), []string{beside, "applied update", behind}; !slices.Equal(got, want) {
		t.Errorf("delivered %q, want %q", got, want)
	}
}

// gatedAudiences gives the audience of each entry before the third of a conversation once it is permitted.
type gatedAudiences struct {
	slowUpdates
	asked, permitted chan struct{}
}

func (m gatedAudiences) Audience(ctx context.Context, c id.Conversation, seq uint64) ([]id.User, bool, error) {
	if len(m.of[c]) > 0 && seq < 3 {
		m.asked <- struct{}{}
		<-m.permitted
	}
	return m.members.Audience(ctx, c, seq)
}

// A record whose updates are being applied may be read again from the log, without an entry that has expired meanwhile. Its updates are delivered as they were applied.
func TestUpdatesOfARecordThatIsReadAgain(t *testing.T) {
	s := newStage(t, inMemory)
	slow := slowUpdates{s.chat, make(chan struct{}), make(chan struct{})}
	gate := gatedAudiences{slow, make(chan struct{}), make(chan struct{})}
	s.custom = gate
	edited, expired := id.Conversation(1), id.Conversation(2)
	for conversation(expired).Partition() != conversation(edited).Partition() {
		expired++
	}
	s.chat.of[edited] = []id.User{2}
	var done sync.WaitGroup
	s.start()
	s.settle() // the worker gets what follows from the commits
	s.append(edited, textEntry("first"), &done)
	eventually.Receive(t, "the first record is dispatched", gate.asked)
	s.append(edited, textEntry("second"), &done)
	done.Wait()
	var batch []*timeline.AppendRequest
	add := func(c id.Conversation, payload []byte) {
		done.Add(1)
		batch = append(batch, &timeline.AppendRequest{Key: conversation(c), Payload: payload, NeedsFanout: true, Done: func(*timeline.AppendRequest) { done.Done() }})
	}
	add(expired, textEntry("expires"))
	add(edited, (&message.Entry{Sender: 2, Updates: 1, Content: []byte("update")}).Append(nil))
	s.log.Append(batch...) // one record
	s.acked.Add(2)
	eventually.True(t, "all records are buffered", func() bool { return s.committed.Load() == 4 })
	gate.permitted <- struct{}{}
	eventually.Receive(t, "the second record is dispatched, with the third behind it", gate.asked)
	s.worker.Load().Committed([]timeline.Commit{{Partition: conversation(edited).Partition()}}) // the log is to be read
	gate.permitted <- struct{}{}
	eventually.Receive(t, "the updates are being applied", slow.began)
	must(t, s.log.Expire(t.Context(), conversation(expired), 2, nil))
	close(slow.permitted)
	s.settle()
	s.stop()
	var contents []string
	for _, g := range s.got {
		var e message.Entry
		must(t, e.Decode(g.Body))
		contents = append(contents, string(e.Content))
	}
	if got, want := slices.Compact(contents), []string{string(message.AppendText(nil, "first")), string(message.AppendText(nil, "second")), "applied update"}; !slices.Equal(got, want) {
		t.Errorf("delivered %q, want %q", got, want)
	}
	if n := s.chat.applyCalls.Load(); n != 1 {
		t.Errorf("updates were applied %d times, want once", n)
	}
}
