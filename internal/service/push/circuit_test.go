package push_test

import (
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	"github.com/rialto-im/rialto/internal/service/push"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

// delayed has bob's browser and his phone, whose providers are of two kinds. The circuit of the browser's is open, and it has refused a push.
func delayed(t *testing.T) (w *world, b *browser, hook *service) {
	t.Helper()
	hook = newService(t)
	w = open(t, func(c *push.Config) { c.Webhook = webhook.Config{URL: hook.URL, Secret: "a secret of 16 characters"} })
	b = w.browser(bob, 1)
	_, err := w.Register(t.Context(), id.Caller{User: bob, Session: 2}, &pushv1.RegisterPushRequest{Provider: byHook, Token: "phone"})
	must(t, err)
	outgoingtest.Open(t, w.calls, outgoing.WebPush, w.at.host)
	w.say("hello")
	w.examine()
	before := outgoingtest.Refused(t, w.calls, outgoing.WebPush)
	w.run()
	w.refusedAgain(before)
	return w, b, hook
}

// refusedAgain waits until more pushes have been refused than before.
func (w *world) refusedAgain(before int) {
	w.t.Helper()
	eventually.True(w.t, "a push is refused", func() bool { return outgoingtest.Refused(w.t, w.calls, outgoing.WebPush) > before })
	w.idle()
}

// While the circuit of a provider is open, its pushes wait, for longer than failures could last; those of other providers are sent.
func TestOpenCircuitsDelayPushes(t *testing.T) {
	w, b, hook := delayed(t)
	if got := w.results(1); got != "sent" || len(hook.requests()) != 1 {
		t.Errorf("of both providers, the attempts are %q, with %d requests to the one that works", got, len(hook.requests()))
	}
	for range 14 { // more often than a push may fail
		before := outgoingtest.Refused(t, w.calls, outgoing.WebPush)
		w.pass(3 * outgoingtest.OpenFor / 2)
		w.refusedAgain(before)
	}
	if got := w.results(1); got != "sent" || len(w.at.requests()) != 0 {
		t.Errorf("while the circuit is open, the attempts are %q, with %d requests", got, len(w.at.requests()))
	}
	outgoingtest.Forget(t, w.calls, outgoing.WebPush)
	w.pass(3 * outgoingtest.OpenFor / 2)
	b.shows(1)
	if got := w.results(2); got != "sent sent" {
		t.Errorf("afterwards the attempts are %q", got)
	}
}

// A push that has waited for a day is given up also if its circuit is open: nobody wants it any more.
func TestOldPushesEndWithAnOpenCircuit(t *testing.T) {
	w, _, _ := delayed(t)
	w.pass(24*time.Hour + time.Minute)
	if got := w.results(2); got != "sent failed" || len(w.at.requests()) != 0 {
		t.Errorf("after a day the attempts are %q, with %d requests", got, len(w.at.requests()))
	}
}
