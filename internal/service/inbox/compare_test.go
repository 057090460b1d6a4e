package inbox_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	"github.com/rialto-im/rialto/internal/service/inbox"
)

// differences runs a whole round over the streams, one stream at a time.
func differences(t *testing.T, c reconciliation.Comparison) (list []string) {
	t.Helper()
	for at := ""; ; {
		step, err := c.Compare(t.Context(), at, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range step.Differences {
			list = append(list, d.Subject+": "+d.What())
		}
		if at = step.Next; at == "" {
			return list
		}
	}
}

// Messages that a stream lacks are found in one round, and no others: not those of whom is no member then, and not those of large groups. The repair lets devices that
// are behind begin again, and then nothing is missing.
func TestMessagesThatAStreamLacksAreFound(t *testing.T) {
	s := &stream{harness: newHarness(t, true, inbox.Config{})}
	const away, large = 9, 12 // of conversation 1: the reader is no member, and it is large
	audience := func(_ context.Context, c id.Conversation, seq uint64) ([]id.User, bool, error) {
		switch {
		case c == 1 && seq == away:
			return []id.User{2}, false, nil
		case c == 1 && seq == large:
			return []id.User{2, reader}, true, nil
		}
		return []id.User{2, reader}, false, nil
	}
	post := func(u id.User, c id.Conversation, seq uint64) {
		t.Helper()
		if err := s.log.Post(t.Context(), []timeline.Post{{Key: streamKey(u), Payload: message.AppendInboxRef(nil, c, seq)}}); err != nil {
			t.Fatal(err)
		}
	}
	c := s.Comparison(audience)
	for range 15 {
		for conversation := id.Conversation(1); conversation <= 3; conversation++ {
			seq := s.send(t, 2, conversation, false)
			post(2, conversation, seq)
			if conversation != 1 || seq != away && seq != large {
				post(reader, conversation, seq)
			}
		}
	}
	if list := differences(t, c); len(list) != 0 {
		t.Fatalf("%q differ", list)
	}
	lost := s.send(t, 2, 3, false)
	post(2, 3, lost)
	s.send(t, 2, 3, true) // and the entry after it
	next := s.send(t, 2, 3, false)
	post(2, 3, lost+1)
	post(2, 3, next)
	post(reader, 3, next)
	want := fmt.Sprintf("user %d: the stream lacks 2 messages of conversation 3, the first of which is %d", reader, lost)
	if list := differences(t, c); len(list) != 1 || list[0] != want {
		t.Fatalf("%q differ, want %q", list, want)
	}
	before, err := s.log.Tail(t.Context(), streamKey(reader))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a repair may be repeated
		if err := c.Repair(t.Context(), fmt.Sprint("user ", reader)); err != nil {
			t.Fatal(err)
		}
	}
	if list := differences(t, c); len(list) != 0 {
		t.Errorf("after the repair %q differ", list)
	}
	after, err := s.log.Tail(t.Context(), streamKey(reader))
	if err != nil || after.Seq != before.Seq || after.FirstSeq != before.Seq {
		t.Errorf("the stream is %+v (%v), and was %+v", after, err, before)
	}
	if other, err := s.log.Tail(t.Context(), streamKey(2)); err != nil || other.FirstSeq != 0 {
		t.Errorf("the stream of another user is %+v (%v)", other, err)
	}
	if err := c.Repair(t.Context(), "nobody"); err == nil {
		t.Error("a subject that names no user is repaired")
	}
}

// What was compared before the time of a step was over counts, and the next step continues behind it.
func TestStreamsAreComparedInSeveralSteps(t *testing.T) {
	s := &stream{harness: newHarness(t, true, inbox.Config{})}
	calls := 0
	c := s.Comparison(func(context.Context, id.Conversation, uint64) ([]id.User, bool, error) {
		if calls++; calls == 2 {
			return nil, false, context.DeadlineExceeded
		}
		return []id.User{2, reader}, false, nil
	})
	for i := range 3 {
		seq := s.send(t, 2, 1, false)
		if i == 1 { // both lack it
			continue
		}
		for _, u := range []id.User{2, reader} {
			if err := s.log.Post(t.Context(), []timeline.Post{{Key: streamKey(u), Payload: message.AppendInboxRef(nil, 1, seq)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var items, found []int
	for at := ""; len(items) < 5; {
		step, err := c.Compare(t.Context(), at, 1000)
		if err != nil {
			t.Fatal(err)
		}
		items, found = append(items, step.Items), append(found, len(step.Differences))
		if at = step.Next; at == "" {
			break
		}
	}
	if !slices.Equal(items, []int{1, 1}) || !slices.Equal(found, []int{1, 1}) {
		t.Errorf("the steps compared %v streams, and found %v", items, found)
	}
}
