package chat_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// withoutUpdates runs f while the table of updates is away, so that each query of it fails.
func (h *harness) withoutUpdates(t *testing.T, f func()) {
	t.Helper()
	h.withoutTables(t, []string{"message_updates"}, f)
}

// withoutTables runs f while some tables are away, so that each query of them fails.
func (h *harness) withoutTables(t *testing.T, tables []string, f func()) {
	t.Helper()
	rename := func(from, to string) {
		must(t, h.db.Write(context.Background(), func(tx *sql.Tx) error { _, err := tx.Exec(`ALTER TABLE ` + from + ` RENAME TO ` + to); return err }))
	}
	for _, table := range tables {
		rename(table, table+"_away")
	}
	f()
	for _, table := range tables {
		rename(table+"_away", table)
	}
}

// Reads of conversations that have no updates do not query them, also after members came, and for lists of several conversations. The log
// alone shows whether there are any.
func TestReadsWithoutUpdatesDoNotQueryThem(t *testing.T) {
	for _, single := range []bool{true, false} {
		t.Run(fmt.Sprintf("single node %v", single), func(t *testing.T) {
			ctx, h := context.Background(), newHarness(t, chat.Config{})
			deps := h.deps(h.db)
			deps.SingleNode = single
			s, err := chat.New(ctx, deps, h.config)
			must(t, err)
			c, err := s.CreateGroup(ctx, 1, &chatv1.CreateGroupRequest{Title: "g", Members: []uint64{2, 3}})
			must(t, err)
			first := draftOf(c, 1, 1, "first")
			must(t, s.Send(ctx, first))
			_, err = s.Invite(ctx, c, 1, []uint64{4})
			must(t, err)
			must(t, s.Send(ctx, draftOf(c, 2, 1, "second")))
			read := func(want int) error {
				history, err := s.History(ctx, 2, &chatv1.HistoryRequest{Conversation: uint64(c)})
				if err == nil && len(history.Messages) != want {
					t.Errorf("the history has %d entries, want %d", len(history.Messages), want)
				}
				return err
			}
			count := func() ([]uint64, error) {
				span := message.Span{Conversation: c, After: first.Seq - 1, Last: first.Seq}
				return s.CountRemoved(ctx, 2, []message.Span{span}, map[id.Conversation]timeline.Tail{c: h.tail(t, c)})
			}
			h.withoutUpdates(t, func() {
				must(t, read(4))
				if n, err := count(); err != nil || n[0] != 0 {
					t.Errorf("%v messages were recalled, %v", n, err)
				}
			})
			deps.SingleNode = true // the acknowledgement does not wait
			other, err := chat.New(ctx, deps, h.config)
			must(t, err)
			must(t, other.Send(ctx, updateDraft(t, c, 1, 2, recallOf(first.Seq))))
			h.withoutUpdates(t, func() {
				if read(5) == nil {
					t.Error("a conversation with an update was read without its updates")
				}
			})
			must(t, read(5))
			if n, err := count(); err != nil || n[0] != 1 {
				t.Errorf("%v messages were recalled, %v; want 1", n, err)
			}
		})
	}
}

// expiring is a log that runs a function after the first read of a history.
type expiring struct {
	timeline.Log
	after func()
}

func (l *expiring) ReadBackward(ctx context.Context, key timeline.Key, before uint64, limit int) ([]timeline.Entry, error) {
	entries, err := l.Log.ReadBackward(ctx, key, before, limit)
	if f := l.after; f != nil {
		l.after = nil
		f()
	}
	return entries, err
}

// A recalled message may expire, with its recall, while a history is being read: its text is not in the answer.
func TestRecallThatExpiresDuringARead(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	other := h.node(t)
	deps := h.deps(h.db)
	log := &expiring{Log: h.log}
	deps.Log = log
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "secret")
	must(t, other.Send(ctx, d))
	must(t, other.Send(ctx, updateDraft(t, c, 1, 2, recallOf(d.Seq))))
	_, err = other.SetRetention(ctx, c, 1, daySeconds)
	must(t, err)
	h.completeFanout(t)
	log.after = func() {
		h.clock.ms.Add(2 * dayMs)
		must(t, chat.Expire(ctx, other))
	}
	for _, want := range []string{"busy", ""} {
		history, err := s.History(ctx, 2, &chatv1.HistoryRequest{Conversation: uint64(c)})
		if reasonOf(err) != want {
			t.Errorf("the read failed with %v, want %q", err, want)
		}
		for _, m := range history.GetMessages() {
			if m.Content.GetText() != "" {
				t.Errorf("the history has %v", m)
			}
		}
	}
}

// One update that cannot be decoded does not keep the others of its record from being applied.
func TestUpdatesAreAppliedTogether(t *testing.T) {
	ctx, h := context.Background(), newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "first")
	must(t, s.Send(ctx, d))
	var list []*message.Stored
	for i := range 250 { // more than one transaction
		seq, e := h.storeUpdate(t, c, 1, d.Seq, reactionOf(d.Seq, "👍", i%2 == 1))
		list = append(list, &message.Stored{Conversation: c, Seq: seq, Entry: e})
	}
	seq, e := h.storeUpdate(t, c, 1, d.Seq, editOf(d.Seq, "second"))
	corrupt := e
	corrupt.Content = []byte{0xff}
	list = append(list, &message.Stored{Conversation: c, Seq: seq, Entry: corrupt}, &message.Stored{Conversation: c, Seq: seq, Entry: e})
	rejected, err := s.ApplyUpdates(ctx, list)
	must(t, err)
	for i, err := range rejected {
		if (err != nil) != (i == 250) {
			t.Errorf("update %d: %v", i, err)
		}
	}
	if m := messageAt(t, s, 2, c, d.Seq); m.Content.GetText() != "second" || len(m.Reactions.GetCounts()) != 0 || m.Reactions.GetVersion() != 250 {
		t.Errorf("a user reads %v", m)
	}
}
