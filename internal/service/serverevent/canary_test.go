package serverevent_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Business servers get nothing of delivery canaries: neither the groups of canaries nor what they send are in an event stream.
func TestEventStreamsLeaveOutCanaries(t *testing.T) {
	f := open(t, 1)
	canary := id.CanaryUser(1)
	hidden, err := f.chat.CreateGroupFor(t.Context(), "canary", id.Caller{User: canary, Server: true}, &chatv1.CreateGroupRequest{Title: "Delivery canary", Key: "probes"})
	must(t, err)
	f.sendContent(hidden, canary, &chatv1.Content{Kind: &chatv1.Content_Signal{Signal: &chatv1.Custom{Type: "rialto/canary"}}})
	shown := f.group("of people", f.users[0])
	f.send(shown, f.users[0], "hello")
	f.dispatched()
	conversations := func(c id.Conversation) (list []id.Conversation) {
		entries, err := f.log.Read(t.Context(), streamOf(c), 0, 100)
		must(t, err)
		for _, e := range entries {
			of, _, _, err := message.DecodeInbox(e.Payload)
			must(t, err)
			list = append(list, of)
		}
		return list
	}
	if list := conversations(hidden); slices.Contains(list, hidden) {
		t.Errorf("the event stream has the canary's conversation: %v", list)
	}
	if list := conversations(shown); !slices.Equal(slices.DeleteFunc(list, func(c id.Conversation) bool { return c != shown }), []id.Conversation{shown, shown}) {
		t.Errorf("the event stream has %v, want the group twice", list)
	}
}
