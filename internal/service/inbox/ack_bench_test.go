package inbox_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/inbox"
)

// A round over the acknowledgements of 1,000 users, who have one new message each, on one or two devices.
func BenchmarkAckRound(b *testing.B) {
	for name, devices := range map[string]int{"one device": 1, "two devices": 2} {
		b.Run(name, func(b *testing.B) {
			const users = 1000
			h := newHarness(b, true, inbox.Config{})
			posts := make([]timeline.Post, users)
			for seq := uint64(1); b.Loop(); seq++ {
				b.StopTimer()
				for u := range posts {
					posts[u] = timeline.Post{Key: streamKey(id.User(u + 1)), Payload: message.AppendInboxRef(nil, all, seq)}
				}
				if err := h.log.Post(b.Context(), posts); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				for u := range posts {
					for d := range devices {
						h.Ack(id.Caller{User: id.User(u + 1), Device: id.Device(d + 1)}, message.Position(posts[u].Seq))
					}
				}
				h.ProcessAcks(b.Context())
			}
		})
	}
}
