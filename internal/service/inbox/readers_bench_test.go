package inbox_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// The first pages of who has read a message, and who has not, in a group of 10,000 of whom half have: a full page of users who are listed, and
// a page for which many others are examined.
func BenchmarkReadersFirstPage(b *testing.B) {
	const members = 10_000
	h := newHarness(b, true, inbox.Config{})
	users := make([]id.User, members)
	for i := range users {
		users[i] = id.User(i + 1)
	}
	h.join(b, all, users...)
	seq := h.send(b, 1, all, false)
	for _, u := range users[members/2:] {
		h.Mark(u, all, 0, seq)
	}
	h.FlushCursors(b.Context())
	for name, unread := range map[string]bool{"read": false, "unread": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := h.ListReaders(b.Context(), 1, &chatv1.ListReadersRequest{Conversation: uint64(all), Seq: seq, Unread: unread, Limit: 200}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
