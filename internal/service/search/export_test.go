package search

import (
	"context"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Open opens the index without a goroutine: the test calls CatchUp.
func (s *Service) Open(ctx context.Context) error {
	list, err := s.openAll(ctx)
	if err != nil {
		return err
	}
	for _, g := range list {
		if err := g.indexer.startRows(ctx); err != nil {
			return err
		}
	}
	s.setGenerations(list)
	return nil
}

// CatchUp indexes all that there is, also what the log has not told of yet.
func (s *Service) CatchUp(ctx context.Context) error {
	for _, g := range s.generations {
		g.indexer.markAll()
		g.indexer.nextPoll = time.Time{}
		for idle := false; !idle; {
			var err error
			if idle, err = g.indexer.round(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Forget forgets which conversations have new entries.
func (s *Service) Forget() {
	for _, g := range s.generations {
		g.indexer.mu.Lock()
		clear(g.indexer.dirty)
		g.indexer.mu.Unlock()
	}
}

// CloseIndex closes what Open has opened.
func (s *Service) CloseIndex() error {
	var err error
	for _, g := range s.generations {
		err = errors.Join(err, g.index.Close())
	}
	s.setGenerations(nil)
	return err
}

// Complete reports whether the index says that it has everything.
func (s *Service) Complete() bool { return s.serving().complete.Load() }

// SetSizes makes batches and pages small.
func (s *Service) SetSizes(n int) {
	s.sizes = sizes{entries: n, rows: n, keys: n, examined: 4 * n, gaps: maxGaps, transaction: maxTransactionAge, manage: 5 * time.Millisecond}
}

// SetGaps sets how many missing numbers are looked for, and for how long.
func (s *Service) SetGaps(most int, d time.Duration) { s.sizes.gaps, s.sizes.transaction = most, d }

// TextOf is the text that is searched of a message.
func TextOf(c *chatv1.Content) (text string, names []searchindex.Range) {
	s := textOf(c)
	return s.text, s.names
}

// TextOfPost is that of a post.
var TextOfPost = textOfPost

// TextOfUser is that of a user.
var TextOfUser = textOfUser

// Trim deletes old changes.
func (s *Service) Trim(ctx context.Context) error { return s.trim(ctx) }

// Index is the one that answers.
func (s *Service) Index() searchindex.Index { return s.serving().index }

// Writes reports whether this node writes the index.
func (s *Service) Writes() bool { return len(s.current()) > 0 }

// RebuildRequested reports whether a rebuild was requested on this node.
func (s *Service) RebuildRequested() (bool, error) {
	by, err := s.rebuildRequest()
	return by != nil, err
}

// AccessOf is the term by which the index finds what is in a conversation.
func AccessOf(c id.Conversation) string { return conversationTerm(c) }

// Serves reports whether the node has found the shared index.
func (s *Service) Serves() bool { return s.writer.answering.Load() != nil }
