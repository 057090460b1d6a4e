package inbox_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/inbox"
)

// The stream of a canary is short, however long those of users may be.
func TestStreamsOfCanariesAreShort(t *testing.T) {
	s := &stream{harness: newHarness(t, true, inbox.Config{})}
	canary := id.CanaryUser(1)
	for range 1100 {
		payload := message.AppendInboxRef(nil, 1, s.send(t, canary, 1, false))
		for _, u := range []id.User{canary, reader} {
			if err := s.log.Post(t.Context(), []timeline.Post{{Key: streamKey(u), Payload: payload}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := inbox.Trim(t.Context(), s.Service); err != nil {
		t.Fatal(err)
	}
	for u, want := range map[id.User]int{canary: 1000, reader: 1100} {
		if left, err := s.log.Read(t.Context(), streamKey(u), 0, 2000); err != nil || len(left) != want {
			t.Errorf("of user %d %d entries remain (%v), want %d", u, len(left), err, want)
		}
	}
}
