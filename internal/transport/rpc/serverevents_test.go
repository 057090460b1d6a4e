package rpc_test

import (
	"net/http"
	"testing"

	"github.com/rialto-im/rialto/internal/service/account"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
	"google.golang.org/protobuf/proto"
)

const eventCalls = "/rialto.event.v1.ServerEventService/"

func ofServerEvents() map[string]row {
	request := func(m proto.Message) func(subject) proto.Message { return func(subject) proto.Message { return m } }
	return map[string]row{
		eventCalls + "PutEventConsumer":    own(request(&eventv1.PutEventConsumerRequest{Consumer: &eventv1.EventConsumer{Name: "matrix"}})),
		eventCalls + "ListEventConsumers":  own(request(&eventv1.ListEventConsumersRequest{})),
		eventCalls + "DeleteEventConsumer": own(request(&eventv1.DeleteEventConsumerRequest{Name: "gone"})),
		eventCalls + "PullEvents":          own(request(&eventv1.PullEventsRequest{Consumer: "matrix"})),
		eventCalls + "ConfirmEvents":       all("bad_cursor", request(&eventv1.ConfirmEventsRequest{Consumer: "matrix", Cursor: "x"})),
		eventCalls + "SeekEvents":          own(request(&eventv1.SeekEventsRequest{Consumer: "matrix", To: &eventv1.SeekEventsRequest_Start{Start: true}})),
		eventCalls + "ListDeadEvents":      own(request(&eventv1.ListDeadEventsRequest{Consumer: "matrix"})),
		eventCalls + "GetDeadEvents":       all("no_dead_events", request(&eventv1.GetDeadEventsRequest{Consumer: "matrix", Id: 1})),
		eventCalls + "RetryDeadEvents":     own(request(&eventv1.RetryDeadEventsRequest{Consumer: "matrix"})),
	}
}

// A bot's key stands for its user in the calls of users, makes calls about its own events, and no other calls of servers.
func TestKeysOfBots(t *testing.T) {
	h := newHarness(t)
	bot, other := h.person("bot"), h.person("other")
	key, err := h.accounts.CreateKey(t.Context(), account.NewKey{Name: "bot", Bot: bot.user()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, body, want string
	}{
		{chats + "ListConversations", `{}`, ""},
		{eventCalls + "PutEventConsumer", `{"consumer": {"name": "mine"}}`, ""},
		{eventCalls + "PullEvents", `{"consumer": "mine"}`, ""},
		{eventCalls + "PullEvents", `{"consumer": "matrix"}`, "not_your_consumer"},
		{eventCalls + "PutEventConsumer", `{"consumer": {"name": "theirs", "bot": "` + other.user().String() + `"}}`, "not_your_consumer"},
		{ids + "Ping", `{}`, "no_key"},
	} {
		got := h.post(c.name, asJSON, []byte(c.body), bearer(key), "Rialto-User: "+other.user().String())
		if got.reason() != c.want || (got.status == http.StatusOK) != (c.want == "") {
			t.Errorf("%s %s: got %d %s, want %q", c.name, c.body, got.status, got.body, c.want)
		}
	}
	if c, err := h.accounts.Verify(t.Context(), key); err != nil || c.User != bot.user() || c.Server || !c.Bot {
		t.Errorf("the key stands for %+v (%v)", c, err)
	}
}
