package fanout

import (
	"bytes"
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// refreshTimeout limits reading the present forms of a round's entries.
const refreshTimeout = 2 * time.Second

// refresh reads the present form of the round's entries that may have been edited or recalled since they were stored. Nobody may be pushed
// an old text after the acknowledgement of its edit or recall. While some are read, others may become outdated.
func (l *lane) refresh(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	for l.refreshOutdated(within) {
	}
}

// refreshOutdated refreshes the entries that may be outdated by now and were not refreshed yet. It reports whether there were any.
func (l *lane) refreshOutdated(ctx context.Context) bool {
	chat := l.worker.deps.Chat
	var tasks []*task
	var list []*message.Stored
	for i := range l.tasks {
		t := &l.tasks[i]
		if t.kind != message.DeliverEntry || t.refreshed || len(t.body) == 0 || !chat.MayBeOutdated(t.body) {
			continue
		}
		t.refreshed = true
		m := &message.Stored{Conversation: t.conversation, Seq: t.seq, Counted: t.counted}
		if m.Entry.Decode(t.body) != nil {
			continue // its receivers are told to sync
		}
		tasks, list = append(tasks, t), append(list, m)
	}
	if len(list) == 0 {
		return false
	}
	before := make([][]byte, len(list))
	for i, m := range list {
		before[i] = m.Entry.Content
	}
	if err := chat.Refresh(ctx, list); err != nil {
		l.worker.deps.Logger.Warn("entries may be outdated, and are not pushed; devices will find the gap", "entries", len(list), "first_conversation", id.Conversation(list[0].Conversation), "error", err)
		for _, t := range tasks {
			t.withheld = true
		}
		return true
	}
	for i, m := range list {
		if m.Entry.Content == nil && m.State == nil { // it has expired, or is corrupt: a sync tells
			tasks[i].withheld = true
			continue
		}
		if m.State != nil || !bytes.Equal(m.Entry.Content, before[i]) {
			tasks[i].fresh = message.AppendBody(nil, message.FieldMessage, m.AppendProto(nil))
		}
	}
	return true
}

// AwaitRounds returns when each round that had looked for outdated entries has delivered what it found current. It fails if ctx ends before.
func (w *Worker) AwaitRounds(ctx context.Context) error {
	for _, l := range w.lanes {
		select {
		case l.delivering <- struct{}{}:
			<-l.delivering
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
