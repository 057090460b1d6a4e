package app

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/cluster"
	"github.com/rialto-im/rialto/internal/id"
	"github.com/rialto-im/rialto/internal/job"
	"github.com/rialto-im/rialto/internal/news"
)

// Subjects on the bus that say only that there is something to read: they may be lost, and it is looked for each second.
const (
	newsSubject   = "news"
	outboxSubject = "outbox"
)

// hear has this node told of what happens on others.
func (h *House) hear(ctx context.Context) (err error) {
	h.news, err = news.New(ctx, news.Deps{DB: h.db, Logger: h.logger, Alone: !h.config.Clustered(),
		Tell:   func(i news.Item) { h.accounts.Told(i) },
		Missed: h.behind.poke,
		Hint:   func() { _ = h.bus.Publish(newsSubject, nil) },
	})
	return err
}

// listen tells what other nodes have to say, until ctx ends.
func (h *House) listen(ctx context.Context) error {
	cancel, err := h.bus.Subscribe(newsSubject, func([]byte) { h.news.Wake() }, h.news.Wake)
	if err != nil {
		return err
	}
	defer cancel()
	var looking sync.WaitGroup
	defer looking.Wait()
	looking.Go(func() { h.behind.run(ctx, h.endSessions, h.logger) })
	return h.news.Run(ctx)
}

// endSessions closes the connections of sessions that have ended without this node having been told.
func (h *House) endSessions(ctx context.Context) error {
	callers := h.gateway.Callers()
	sessions := make([]id.Session, len(callers))
	for i, c := range callers {
		sessions[i] = c.Session
	}
	over, err := h.accounts.Over(ctx, sessions)
	if err != nil {
		return err
	}
	for _, c := range callers {
		if slices.Contains(over, c.Session) {
			h.gateway.EndSession(c.User, c.Session, "revoked")
		}
	}
	return nil
}

// behind says that this node was away for longer than what happened is kept to be told.
type behind chan struct{}

func (b behind) poke() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// lookAgain so long after what was missed could not be looked up.
const lookAgain = 5 * time.Second

// run has what was missed looked up, until it is, until ctx ends.
func (b behind) run(ctx context.Context, look func(context.Context) error, logger *slog.Logger) {
	for {
		select {
		case <-b:
		case <-ctx.Done():
			return
		}
		err := look(ctx)
		if err == nil || ctx.Err() != nil {
			continue
		}
		logger.Warn("what ended on other nodes is looked up later", "error", err)
		b.poke()
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
		}
	}
}

// share has the outbox carried by one node at a time.
func (h *House) share() cluster.Work {
	h.turn = job.NewTurn(h.node, func(node string) bool {
		return slices.ContainsFunc(h.cluster.Nodes(), func(n cluster.Node) bool { return n.Name == node })
	}, func() { _ = h.bus.Publish(outboxSubject, nil) })
	return cluster.Work{Kind: "outbox", Parts: 1, Begin: h.turn.Begin, End: h.turn.End}
}

// post carries the outbox, until ctx ends: always where this process is alone, else in its turn.
func (h *House) post(ctx context.Context) error {
	if !h.config.Clustered() {
		return h.outbox.Run(ctx, h.carry)
	}
	cancel, err := h.bus.Subscribe(outboxSubject, func([]byte) { h.turn.Heard() }, h.turn.Heard)
	if err != nil {
		return err
	}
	defer cancel()
	return h.outbox.RunInTurn(ctx, h.turn, h.carry)
}

// first tells whether this node does what one of several does now and then.
func (h *House) first() bool { return !h.config.Clustered() || h.holder(0) == h.node }

// mine tells whether this node does what is to be done with a partition's conversations and inboxes.
func (h *House) mine(partition uint16) bool {
	return !h.config.Clustered() || h.holder(partition) == h.node
}
