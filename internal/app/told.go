package app

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/cluster"
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
		Tell: func(i news.Item) { h.accounts.Told(i) },
		Hint: func() { _ = h.bus.Publish(newsSubject, nil) },
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
	return h.news.Run(ctx)
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
