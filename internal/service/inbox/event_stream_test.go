package inbox_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/inbox"
)

// Event streams are trimmed by their own age, and not by their length.
func TestEventStreamsAreTrimmedByAge(t *testing.T) {
	s := &stream{harness: newHarness(t, true, inbox.Config{MaxEntries: 2, EventsMaxAge: 24 * time.Hour})}
	key := timeline.EventStream(3)
	for range 3 { // one a day
		for range 4 {
			seq := s.send(t, 2, 1, false)
			if err := s.log.Post(t.Context(), []timeline.Post{{Key: key, Payload: message.AppendInboxRef(nil, 1, seq)}}); err != nil {
				t.Fatal(err)
			}
		}
		s.clock.move(23 * time.Hour)
	}
	if err := inbox.Trim(t.Context(), s.Service); err != nil {
		t.Fatal(err)
	}
	left, err := s.log.Read(t.Context(), key, 0, 100)
	if err != nil || len(left) != 4 {
		t.Errorf("%d entries remain (%v), want the 4 of the last day", len(left), err)
	}
}
