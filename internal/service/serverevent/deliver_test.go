package serverevent_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/bulkhead"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/serverevent"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	eventv1 "github.com/rialto-im/rialto/sdk/go/gen/event/v1"
)

const onlyMessages = eventv1.EventKind_EVENT_KIND_MESSAGE

// Deliveries that fail at random are repeated, in order, and nothing is lost, also across a restart.
func TestWebhooksLoseNothing(t *testing.T) {
	f := open(t, 4)
	r := newReceiver(t)
	f.config.AllowPrivate, f.attempts = true, 1000
	f.restart()
	var n atomic.Int64
	r.setRefuse(func(*eventv1.EventDelivery) int {
		if n.Add(1)%3 == 0 {
			return http.StatusInternalServerError
		}
		return 0
	})
	f.put(r.consumer("shop", onlyMessages), false)
	var groups []id.Conversation
	for n := range 5 {
		groups = append(groups, f.group(fmt.Sprint(n), f.users...))
	}
	const each = 8
	var group sync.WaitGroup
	for _, c := range groups {
		for _, u := range f.users[:2] {
			group.Go(func() {
				for n := range each {
					f.send(c, u, fmt.Sprint(n))
				}
			})
		}
	}
	eventually.True(t, "some events are delivered", func() bool { return len(r.events()) > 0 })
	f.restart() // in the middle
	group.Wait()
	want := len(groups) * 2 * each
	eventually.True(t, "all events are delivered", func() bool { return len(distinct(r.events())) == want })
	// A delivery that was accepted and not confirmed is repeated, from its beginning: without what came before, the order is that of the conversation.
	checkOrder(t, distinct(r.events()))
	if list := f.list("shop"); list.Dead != 0 || list.Lag != 0 {
		eventually.True(t, "the consumer has no lag", func() bool { return f.list("shop").Lag == 0 })
	}
}

// Webhooks that do not answer, however many they are, leave slots to one that does.
func TestSlowWebhooksLeaveSlotsToOthers(t *testing.T) {
	f := open(t, 2)
	f.slots = bulkhead.Config{Slots: 4, First: 1, Most: 4}
	f.restart()
	quick, slow := newReceiver(t), newReceiver(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	var waiting atomic.Int64
	slow.setRefuse(func(*eventv1.EventDelivery) int {
		waiting.Add(1)
		<-release
		return 0
	})
	c := f.group("group", f.users...)
	f.put(quick.consumer("quick", onlyMessages), false)
	f.send(c, f.users[0], "first")
	eventually.True(t, "the quick webhook has got something", func() bool { return len(quick.events()) == 1 })
	for n := range 6 {
		f.put(slow.consumer(fmt.Sprint("slow", n), onlyMessages), false)
	}
	f.send(c, f.users[0], "second")
	eventually.True(t, "slow webhooks get something", func() bool { return waiting.Load() == 2 })
	f.send(c, f.users[0], "third")
	eventually.True(t, "the quick webhook gets all", func() bool { return len(quick.events()) == 3 })
	if n := waiting.Load(); n != 2 {
		t.Errorf("of 4 slots, webhooks that do not answer hold %d, want 2", n)
	}
}

// Of several streams that are delivered to a webhook at once, each says for itself whether it was slow.
func TestEachDeliveryIsJudgedByItsRequests(t *testing.T) {
	f := open(t, 2)
	f.slots = bulkhead.Config{Slots: 64, First: 4, Most: 12}
	var slow atomic.Bool
	f.isSlow = slow.Load
	f.restart()
	hook := newReceiver(t)
	first, second, got := make(chan bool), make(chan bool), make(chan string, 3)
	hook.setRefuse(func(d *eventv1.EventDelivery) int {
		text := d.Events[0].Message.GetContent().GetText()
		got <- text
		switch text {
		case "one":
			<-first
		case "two":
			<-second
		}
		return 0
	})
	a, b := f.group("a", f.users...), f.group("b", f.users...)
	for streamOf(a) == streamOf(b) {
		b = f.group("b", f.users...)
	}
	f.put(hook.consumer("hook", onlyMessages), false)
	next := func(want string) {
		t.Helper()
		if text := <-got; text != want {
			t.Errorf("the webhook got %q, want %q", text, want)
		}
	}
	f.send(a, f.users[0], "one")
	next("one")
	f.send(a, f.users[0], "two")
	f.dispatched()
	slow.Store(true)
	close(first)
	next("two") // of the same delivery
	slow.Store(false)
	f.send(b, f.users[0], "three")
	next("three")
	s := f.events.Load()
	eventually.True(t, "the quick delivery has ended", func() bool { return s.InUse("hook") == 1 })
	close(second)
	eventually.True(t, "the slow one has ended", func() bool { return s.InUse("hook") == 0 })
	if n := s.Share("hook"); n != 12 {
		t.Errorf("after a slow delivery the webhook may have %d slots, want the 12 of a slow one that is alone", n)
	}
}

// distinct returns events without those that were repeated.
func distinct(events []*eventv1.ServerEvent) (list []*eventv1.ServerEvent) {
	seen := map[string]bool{}
	for _, e := range events {
		if !seen[e.Id] {
			list = append(list, e)
		}
		seen[e.Id] = true
	}
	return list
}

func (f *fixture) list(name string) *eventv1.EventConsumer {
	f.t.Helper()
	res, err := f.events.Load().ListConsumers(f.t.Context(), auditor)
	must(f.t, err)
	for _, c := range res.Consumers {
		if c.Name == name {
			return c
		}
	}
	f.t.Fatalf("there is no consumer %s", name)
	return nil
}

// An event that a webhook never accepts becomes a dead letter alone. Until then it holds back its stream and no other. An operator reads and retries it.
func TestPoisonBecomesADeadLetter(t *testing.T) {
	f := open(t, 2)
	r := newReceiver(t)
	var healed atomic.Bool
	var poisonAttempts atomic.Int64
	release := make(chan struct{})
	r.setRefuse(func(d *eventv1.EventDelivery) int {
		if healed.Load() || !slices.Contains(texts(d.Events), "poison") {
			return 0
		}
		if poisonAttempts.Add(1) == 3 {
			<-release // the last attempt but one has a batch; see retryPolicy
		}
		return http.StatusBadGateway
	})
	sick, well := f.group("sick", f.users...), f.group("well", f.users...)
	for n := 0; streamOf(well) == streamOf(sick); n++ {
		well = f.group(fmt.Sprint("well", n), f.users...)
	}
	f.put(r.consumer("shop", onlyMessages), false)
	f.send(sick, f.users[0], "before")
	f.send(sick, f.users[0], "poison")
	f.send(sick, f.users[0], "after")
	f.send(well, f.users[0], "well")
	eventually.True(t, "another conversation's event is delivered", func() bool { return slices.Contains(texts(r.events()), "well") })
	if slices.Contains(texts(r.events()), "after") {
		t.Error("an event overtook the one that is being repeated")
	}
	close(release)
	eventually.True(t, "the stream goes on", func() bool { return slices.Contains(texts(r.events()), "after") })
	var dead []*eventv1.DeadEvents
	page := &eventv1.ListDeadEventsRequest{Consumer: "shop"}
	res, err := f.events.Load().ListDead(t.Context(), server, page)
	must(t, err)
	if dead = res.Dead; len(dead) != 1 || dead[0].Events != 1 || dead[0].Error == "" {
		t.Fatalf("the dead letters are %v", dead)
	}
	got, err := f.events.Load().GetDead(t.Context(), server, &eventv1.GetDeadEventsRequest{Consumer: "shop", Id: dead[0].Id})
	if err != nil || !slices.Equal(texts(got.Events), []string{"poison"}) {
		t.Errorf("the dead letter has %v (%v)", got, err)
	}
	healed.Store(true)
	retried, err := f.events.Load().RetryDead(t.Context(), server, &eventv1.RetryDeadEventsRequest{Consumer: "shop"})
	if err != nil || retried.Retried != 1 {
		t.Errorf("%v dead letters are retried (%v)", retried, err)
	}
	eventually.True(t, "the dead letter is delivered", func() bool { return slices.Contains(texts(r.events()), "poison") })
	eventually.True(t, "the dead letter is gone", func() bool { return f.list("shop").Dead == 0 })
	if got := distinct(r.events()); len(got) != 4 {
		t.Errorf("got %v", texts(got))
	}
}

// A seek delivers events again.
func TestWebhookReplays(t *testing.T) {
	f := open(t, 2)
	r := newReceiver(t)
	f.put(r.consumer("shop", onlyMessages), false)
	c := f.group("a group", f.users...)
	f.send(c, f.users[0], "1")
	f.send(c, f.users[0], "2")
	eventually.True(t, "events are delivered", func() bool { return len(distinct(r.events())) == 2 })
	eventually.True(t, "they are confirmed", func() bool { return f.list("shop").Lag == 0 })
	before := len(r.events())
	must(t, f.events.Load().Seek(t.Context(), server, &eventv1.SeekEventsRequest{Consumer: "shop", To: &eventv1.SeekEventsRequest_Start{Start: true}}))
	eventually.True(t, "events are delivered again", func() bool { return len(r.events()) >= before+2 })
	if got := texts(r.events()[before:]); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("got %v again", got)
	}
}

// A bot receives what others write in its conversations, and neither its own messages nor those of other bots.
func TestBotsReceiveNoBots(t *testing.T) {
	f := open(t, 4)
	bot, other, anna, ben := f.users[0], f.users[1], f.users[2], f.users[3]
	r := newReceiver(t)
	key := id.Caller{User: bot, Bot: true}
	if _, err := f.events.Load().PutConsumer(t.Context(), key, &eventv1.PutEventConsumerRequest{Consumer: r.consumer("bot", onlyMessages)}); err != nil {
		t.Fatal(err)
	}
	f.put(&eventv1.EventConsumer{Name: "other", Bot: uint64(other), Kinds: []eventv1.EventKind{onlyMessages}}, false)
	with, without := f.group("with", anna, bot, other), f.group("without", anna, ben)
	f.send(without, anna, "not for bots")
	f.send(with, anna, "/one")
	f.send(with, bot, "from the bot")
	f.send(with, other, "from the other")
	f.send(with, anna, "two")
	want := []string{"/one", "two"}
	eventually.True(t, "the bot has both", func() bool { return len(distinct(r.events())) >= 2 })
	if got := texts(distinct(r.events())); !slices.Equal(got, want) {
		t.Errorf("the bot received %q, want %q", got, want)
	}
	if got := r.events()[0].Command; got.GetName() != "one" {
		t.Errorf("the command is %v", got)
	}
	if got, _ := f.pull("other", ""); !slices.Equal(texts(got), want) {
		t.Errorf("the other bot pulled %q, want %q", texts(got), want)
	}
}

// Addresses that a caller may not have posted to.
func TestWebhookAddresses(t *testing.T) {
	f := open(t, 1)
	f.config = serverevent.Config{}
	f.restart()
	for _, address := range []string{"", "http://example.com/", "https://127.0.0.1/", "http://localhost:1/", "https://10.1.2.3/", "https://[::1]/", "https://169.254.169.254/", "file:///etc/passwd", "https://a:b@example.com/"} {
		c := &eventv1.EventConsumer{Name: "x", Webhook: &eventv1.EventWebhook{Url: address, Secret: secret}}
		if _, err := f.events.Load().PutConsumer(t.Context(), server, &eventv1.PutEventConsumerRequest{Consumer: c}); errs.Of(err).Reason != "bad_url" {
			t.Errorf("%q: got %v, want bad_url", address, err)
		}
	}
	c := &eventv1.EventConsumer{Name: "x", Webhook: &eventv1.EventWebhook{Url: "https://example.com/", Secret: "short"}}
	if _, err := f.events.Load().PutConsumer(t.Context(), server, &eventv1.PutEventConsumerRequest{Consumer: c}); errs.Of(err).Reason != "bad_secret" {
		t.Errorf("a short secret: got %v", err)
	}
}

// A consumer that is changed keeps its position and, if none is given, its secret.
func TestChangesOfConsumers(t *testing.T) {
	f := open(t, 2)
	r := newReceiver(t)
	f.put(r.consumer("shop", onlyMessages), false)
	c := f.group("a group", f.users...)
	f.send(c, f.users[0], "1")
	eventually.True(t, "an event is delivered", func() bool { return f.list("shop").Lag == 0 && len(r.events()) == 1 })
	changed := r.consumer("shop", onlyMessages)
	changed.Webhook.Secret, changed.ConversationKinds = "", []chatv1.ConversationKind{chatv1.ConversationKind_CONVERSATION_KIND_GROUP}
	f.put(changed, true)
	f.send(c, f.users[0], "2")
	eventually.True(t, "the next event is delivered", func() bool { return len(r.events()) == 2 })
	if got := texts(r.events()); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("got %q", got)
	}
	must(t, f.events.Load().DeleteConsumer(t.Context(), server, "shop"))
	if _, err := f.events.Load().Pull(t.Context(), server, &eventv1.PullEventsRequest{Consumer: "shop"}); errs.Of(err).Reason != "no_consumer" {
		t.Errorf("a deleted consumer: got %v", err)
	}
}
