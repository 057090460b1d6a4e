package inbox

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// Trim runs one round of the hourly trimming.
func Trim(ctx context.Context, s *Service) error { return s.trim(ctx) }

// Confirmed is the position up to which a user's stream was acknowledged and processed, 0 for none.
func Confirmed(ctx context.Context, s *Service, u id.User) (at message.Position, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT coalesce(max(position), 0) FROM confirmed WHERE owner = $1`, int64(u)).Scan(&at)
	return at, err
}

// PushReaders is one round of pushes to open lists of readers.
func (s *Service) PushReaders(ctx context.Context) { s.pushReaders(ctx) }

// OpenReaderLists is how many lists of readers are open.
func (s *Service) OpenReaderLists() (n int) {
	s.readerLists.mu.Lock()
	defer s.readerLists.mu.Unlock()
	for _, lists := range s.readerLists.of {
		n += len(lists)
	}
	return n
}

// FlushCursors writes the queued cursors.
func (s *Service) FlushCursors(ctx context.Context) { s.flushCursors(ctx) }
