package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/backoff"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// checkHistories reads each conversation from the beginning of the load, and checks that each acknowledged message is there once, in its
// sender's order. It adds violations to the result. The clients must have stopped.
func (l *load) checkHistories(ctx context.Context, r *result) error {
	of := map[uint64][]*client{}
	for _, c := range l.clients {
		if c.to != nil {
			of[c.to.id] = append(of[c.to.id], c)
		}
	}
	var mu sync.Mutex // guards r and done
	done := 0
	l.deploy.progress("reading the histories of %d conversations", len(l.conversations))
	step := l.deploy.printer.Step("reading histories")
	defer step.End()
	return each(ctx, len(l.conversations), 8, func(ctx context.Context, i int) error {
		conv, senders := l.conversations[i], of[l.conversations[i].id]
		if len(senders) == 0 {
			return nil
		}
		from := map[uint32]*numberSet{}
		found := &result{}
		err := l.history(ctx, senders[0], conv, func(m *chatv1.Message) {
			text := m.GetContent().GetText()
			sender, n, _, ok := l.corpus.parse([]byte(text))
			if m.GetContent().GetControl() != nil {
				return
			}
			if !ok {
				found.Damaged++
				return
			}
			if from[sender] == nil {
				from[sender] = &numberSet{}
			}
			switch fresh, next := from[sender].add(n); {
			case !fresh:
				found.Duplicated++
			case !next:
				found.Reordered++
			}
		})
		mu.Lock()
		defer mu.Unlock()
		for _, c := range senders {
			r.Lost += c.acked.missing(from[c.number])
			r.History += c.acked.count()
		}
		r.Duplicated, r.Reordered, r.Damaged = r.Duplicated+found.Duplicated, r.Reordered+found.Reordered, r.Damaged+found.Damaged
		done++
		step.At(float64(done)/float64(len(l.conversations)), "")
		return err
	})
}

// historyTries is the number of attempts to read a page, a second apart: the deployment may limit calls, or a node may still be down.
const historyTries = 60

// history returns all entries of a conversation since the beginning of the load.
func (l *load) history(ctx context.Context, reader *client, conv *conversation, take func(*chatv1.Message)) error {
	after, last := conv.base, reader.endpointIndex
	for more := true; more; {
		var page *connect.Response[chatv1.HistoryResponse]
		var err error
		for try := range historyTries {
			at := l.deploy.endpoints[(last+try)%len(l.deploy.endpoints)]
			token := reader.user.sessions[reader.device].AccessToken
			if page, err = at.chat.History(ctx, as(token, &chatv1.HistoryRequest{Conversation: conv.id, After: after, Limit: 200})); err == nil {
				break
			}
			if code := connect.CodeOf(err); code != connect.CodeUnavailable && code != connect.CodeResourceExhausted {
				break
			}
			_ = backoff.Sleep(ctx, time.Second)
		}
		if err != nil {
			return fmt.Errorf("reading a history: %w", err)
		}
		for _, m := range page.Msg.Messages {
			if m.Seq != after+1 {
				return fmt.Errorf("the history of conversation %d has a gap from seq %d to %d", conv.id, after, m.Seq)
			}
			after = m.Seq
			take(m)
		}
		more = page.Msg.More && len(page.Msg.Messages) > 0
	}
	return nil
}
