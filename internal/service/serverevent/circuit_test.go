package serverevent_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
)

// While the circuit of a webhook is open, its events wait, although one failure would make them dead letters. They are delivered in order afterwards.
func TestOpenCircuitsDelayEvents(t *testing.T) {
	f := open(t, 2)
	f.attempts = 1
	f.restart()
	r := newReceiver(t)
	f.put(r.consumer("shop", onlyMessages), false)
	outgoingtest.Open(t, f.calls, outgoing.EventWebhook, r.URL)
	before := outgoingtest.Refused(t, f.calls, outgoing.EventWebhook)
	c := f.group("group", f.users...)
	want := []string{"one", "two", "three"}
	for _, text := range want {
		f.send(c, f.users[0], text)
	}
	eventually.True(t, "a delivery is refused", func() bool { return outgoingtest.Refused(t, f.calls, outgoing.EventWebhook) > before })
	f.restart() // in the middle
	eventually.True(t, "a delivery of the next process is refused", func() bool { return outgoingtest.Refused(t, f.calls, outgoing.EventWebhook) > before+1 })
	if list := f.list("shop"); list.Dead != 0 || list.Lag == 0 || r.attempts != 0 {
		t.Errorf("while the circuit is open: %v after %d requests", list, r.attempts)
	}
	outgoingtest.Forget(t, f.calls, outgoing.EventWebhook)
	f.restart()
	eventually.True(t, "all events are delivered", func() bool { return len(r.events()) == len(want) })
	if got := texts(r.events()); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A dead letter that is to be delivered again stays so while the circuit of its webhook is open.
func TestOpenCircuitsDelayDeadLetters(t *testing.T) {
	f := open(t, 2)
	f.attempts = 1
	f.restart()
	r := newReceiver(t)
	r.setRefuse(func(*eventv1.EventDelivery) int { return http.StatusBadRequest })
	f.put(r.consumer("shop", onlyMessages), false)
	f.send(f.group("group", f.users...), f.users[0], "one")
	eventually.True(t, "there is a dead letter", func() bool { return f.list("shop").Dead == 1 })
	r.setRefuse(func(*eventv1.EventDelivery) int { return 0 })
	outgoingtest.Open(t, f.calls, outgoing.EventWebhook, r.URL)
	before := outgoingtest.Refused(t, f.calls, outgoing.EventWebhook)
	_, err := f.events.Load().RetryDead(context.Background(), auditor, &eventv1.RetryDeadEventsRequest{Consumer: "shop"})
	must(t, err)
	eventually.True(t, "the delivery is refused", func() bool { return outgoingtest.Refused(t, f.calls, outgoing.EventWebhook) > before })
	dead, err := f.events.Load().ListDead(context.Background(), auditor, &eventv1.ListDeadEventsRequest{Consumer: "shop"})
	must(t, err)
	if len(dead.Dead) != 1 || dead.Dead[0].Attempts != 1 || !dead.Dead[0].Retrying {
		t.Errorf("while the circuit is open: %v", dead.Dead)
	}
	outgoingtest.Forget(t, f.calls, outgoing.EventWebhook)
	f.restart()
	eventually.True(t, "it is delivered", func() bool { return f.list("shop").Dead == 0 && len(r.events()) == 1 })
}
