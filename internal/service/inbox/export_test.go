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
	stored, err := s.devicePositions(ctx, u)
	return stored[u].confirmed, err
}

// DevicePosition is the stored position of a device, 0 for none.
func DevicePosition(ctx context.Context, s *Service, u id.User, d id.Device) (message.Position, error) {
	stored, err := s.devicePositions(ctx, u)
	return stored[u].devices[d], err
}

// PushReaders is one round of pushes to open lists of readers.
func (s *Service) PushReaders(ctx context.Context) { s.pushReaders(ctx) }

// OpenReaderLists is how many lists of readers are open.
func (s *Service) OpenReaderLists() (n int) {
	for i := range s.readerLists.shards {
		shard := &s.readerLists.shards[i]
		shard.mu.Lock()
		for _, lists := range shard.of {
			n += len(lists)
		}
		shard.mu.Unlock()
	}
	return n
}

// ProcessAcks is one round over the acknowledgements.
func (s *Service) ProcessAcks(ctx context.Context) { s.processAcks(ctx) }

// FlushCursors writes the queued cursors.
func (s *Service) FlushCursors(ctx context.Context) { s.flushCursors(ctx) }

// MaxRefreshes bounds the users whose lists are refreshed at once.
const MaxRefreshes = maxRefreshes

// RefreshSlots is how many refreshes of lists are running.
func (s *Service) RefreshSlots() int { return len(s.refreshSlots) }
