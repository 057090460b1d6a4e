package fanout_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// A missing entry is not replaced by that of another conversation with the same seq in one record.
func TestMissingEntriesAffectNoOtherStream(t *testing.T) {
	s, ctx := newStage(t, inMemory), t.Context()
	gone, kept := id.Conversation(1), id.Conversation(2)
	for conversation(kept).Partition() != conversation(gone).Partition() {
		kept++
	}
	s.chat.of[gone], s.chat.of[kept] = []id.User{1}, []id.User{2}
	var done sync.WaitGroup
	var batch []*timeline.AppendRequest
	for _, c := range []id.Conversation{gone, kept} {
		done.Add(1)
		batch = append(batch, &timeline.AppendRequest{Key: conversation(c), Payload: textEntry(fmt.Sprint(c)), Counts: true, NeedsFanout: true, Done: func(*timeline.AppendRequest) { done.Done() }})
	}
	s.log.Append(batch...) // not announced
	done.Wait()
	records, err := s.log.FanoutRecords(ctx, conversation(gone).Partition(), 0, 10)
	must(t, err)
	if len(records) != 1 || len(records[0].Refs) != 2 {
		t.Fatalf("%+v; want one record of two", records)
	}
	must(t, s.log.Expire(ctx, conversation(gone), 2, nil))
	s.start()
	s.settle()
	s.stop()
	for u, want := range map[id.User][]id.Conversation{1: nil, 2: {kept}} {
		entries, err := s.log.Read(ctx, inbox(u), 0, 10)
		must(t, err)
		var got []id.Conversation
		for _, e := range entries {
			c, _, _, err := message.DecodeInbox(e.Payload)
			must(t, err)
			got = append(got, c)
		}
		if !slices.Equal(got, want) {
			t.Errorf("user %d got an entry of %v, want %v", u, got, want)
		}
	}
	must(t, s.log.Close())
}
