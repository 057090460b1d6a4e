package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/news"
)

// newsSubject on the bus says only that there is something to read: it may be lost, and they read each second.
const newsSubject = "news"

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

// first tells whether this node does what one of several does now and then.
func (h *House) first() bool { return !h.config.Clustered() || h.holder(0) == h.node }

// mine tells whether this node does what is to be done with a partition's conversations and inboxes.
func (h *House) mine(partition uint16) bool {
	return !h.config.Clustered() || h.holder(partition) == h.node
}
