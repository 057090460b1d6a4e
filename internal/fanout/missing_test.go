package fanout_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/message"
	"github.com/rialto-im/rialto/internal/timeline"
)

// An entry that is no more does not make another conversation's its own, though both have the same seq in one record.
func TestMissingEntriesAreNobodyElses(t *testing.T) {
	s, ctx := newStage(t, inMemory), t.Context()
	gone, kept := id.Conversation(1), id.Conversation(2)
	for conversation(kept).Partition() != conversation(gone).Partition() {
		kept++
	}
	s.chat.of[gone], s.chat.of[kept] = []id.User{1}, []id.User{2}
	var done sync.WaitGroup
	var batch []*timeline.Append
	for _, c := range []id.Conversation{gone, kept} {
		done.Add(1)
		batch = append(batch, &timeline.Append{Key: conversation(c), Payload: textEntry(fmt.Sprint(c)), Counts: true, Carry: true, Done: func(*timeline.Append) { done.Done() }})
	}
	s.log.Append(batch...) // nobody is told
	done.Wait()
	records, err := s.log.Records(ctx, conversation(gone).Partition(), 0, 10)
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
			t.Errorf("user %d has got an entry of %v, want %v", u, got, want)
		}
	}
	must(t, s.log.Close())
}
