package idgen

import (
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/id"
)

// Messages makes readable message ids. Time and spin together only rise: when the clock stands or steps back, or a
// millisecond's 4,096 spins are used up, they run ahead of it.
type Messages struct {
	clock clock.Clock
	last  atomic.Uint64 // milliseconds<<12 | spin
}

// NewMessages makes a generator.
func NewMessages(c clock.Clock) *Messages { return &Messages{clock: c} }

// Next gives the id of a message of a conversation.
func (m *Messages) Next(typ uint8, c id.Conversation) id.Message {
	now := uint64(m.clock.Now().UnixMilli()) << 12
	for {
		last := m.last.Load()
		next := max(now, last+1)
		if m.last.CompareAndSwap(last, next) {
			return id.MessageOf(int64(next>>12), uint16(next&0xfff), typ, c)
		}
	}
}
