package push_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/base/outgoing/outgoingtest"
	"github.com/rialto-im/rialto/internal/service/push"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

type tx = sql.Tx

func (w *world) list(u id.User, session id.Session) []*pushv1.PushSubscription {
	w.t.Helper()
	r, err := w.List(w.t.Context(), id.Caller{User: u, Session: session})
	must(w.t, err)
	return r.Subscriptions
}

// A subscription is its user's, and its session's: another user neither sees nor removes it, and another session with the token takes it over.
func TestSubscriptionsBelongToSessions(t *testing.T) {
	w := open(t, nil)
	b := w.browser(bob, 1)
	if l := w.list(bob, 1); len(l) != 1 || l[0].Id != b.id || !l[0].Current || l[0].Session != 1 || l[0].Provider != webPush || l[0].CreatedMs != w.clock.Now().UnixMilli() {
		t.Errorf("the list is %v", l)
	}
	if l := w.list(bob, 2); l[0].Current {
		t.Error("the subscription of another session counts as the caller's")
	}
	if l := w.list(eve, 3); len(l) != 0 {
		t.Errorf("eve sees %v", l)
	}
	must(t, w.Remove(t.Context(), eve, b.id))
	must(t, w.Remove(t.Context(), eve, 999))
	if len(w.list(bob, 1)) != 1 {
		t.Fatal("eve has removed bob's")
	}
	register := func(u id.User, session id.Session) *pushv1.PushSubscription {
		t.Helper()
		p, err := w.Register(t.Context(), id.Caller{User: u, Session: session}, &pushv1.RegisterPushRequest{Provider: webPush, Token: b.endpoint, P256Dh: b.key.PublicKey().Bytes(), Auth: b.auth})
		must(t, err)
		return p
	}
	if again := register(bob, 1); again.Id != b.id {
		t.Error("a retry made another subscription")
	}
	register(eve, 3) // logs in with the same browser
	if len(w.list(bob, 1)) != 0 || len(w.list(eve, 3)) != 1 {
		t.Error("the browser is still pushed what is for its former user")
	}
	w.browser(eve, 3) // the browser got a new endpoint
	if l := w.list(eve, 3); len(l) != 1 {
		t.Errorf("a session has %d subscriptions", len(l))
	}
	must(t, w.Remove(t.Context(), eve, w.list(eve, 3)[0].Id))
	if len(w.list(eve, 3)) != 0 {
		t.Error("it was not removed")
	}
}

func TestLimitsOfSubscriptions(t *testing.T) {
	w := open(t, nil)
	for i := range 20 {
		w.browser(bob, id.Session(i+1))
	}
	over := newBrowser(t, w.at)
	request := &pushv1.RegisterPushRequest{Provider: webPush, Token: over.endpoint, P256Dh: over.key.PublicKey().Bytes(), Auth: over.auth}
	if _, err := w.Register(t.Context(), id.Caller{User: bob, Session: 21}, request); reason(err) != "too_many_push_subscriptions" {
		t.Errorf("the 21st: %v", err)
	}
	w.browser(bob, 20) // in place of the former one
	w.change(func() { w.ended[5] = true })
	w.browser(bob, 21)
	if n := len(w.list(bob, 1)); n != 20 {
		t.Errorf("%d subscriptions", n)
	}
	if _, err := w.Register(t.Context(), id.Caller{User: bob, Server: true}, request); reason(err) != "no_session" {
		t.Errorf("with an API key: %v", err)
	}
	request.Provider = pushv1.PushProvider_PUSH_PROVIDER_FCM
	if _, err := w.Register(t.Context(), id.Caller{User: bob, Session: 22}, request); reason(err) != "no_push_provider" {
		t.Errorf("a provider without settings: %v", err)
	}
	off := open(t, func(c *push.Config) { c.Off = true })
	request.Provider = webPush
	if _, err := off.Register(t.Context(), id.Caller{User: bob, Session: 1}, request); reason(err) != "no_push_provider" || len(off.GetProviders().Providers) != 0 {
		t.Errorf("where it is off: %v", err)
	}
}

// A session that has ended gets nothing more, whoever notices first.
func TestEndedSessionsArePushedNothing(t *testing.T) {
	w := open(t, nil)
	b, still := w.browser(bob, 1), w.browser(bob, 2)
	w.say("secret")
	w.examine()
	w.change(func() { w.ended[1] = true })
	w.run()
	still.shows(1)
	if got := w.results(2); len(b.requests()) != 0 || !strings.Contains(got, "gone") {
		t.Errorf("the session that ended got %d; the attempts are %s", len(b.requests()), got)
	}
	w.browser(bob, 3)
	w.change(func() { w.ended[2], w.ended[3] = true, true })
	must(t, w.Trim(t.Context()))
	var n int
	must(t, w.db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM push_subscriptions`).Scan(&n))
	if n != 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}

// What a push service answers decides what becomes of a push, and of its subscription.
func TestAnswersOfPushServices(t *testing.T) {
	for name, c := range map[string]struct {
		answers []answer
		results string
		kept    bool
	}{
		"gone":            {[]answer{{status: 410}}, "gone", false},
		"not found":       {[]answer{{status: 404}}, "gone", false},
		"fails, then not": {[]answer{{status: 500}, {status: 503}}, "retry retry sent", true},
		"too large":       {[]answer{{status: 413}}, "failed", true},
		"refused":         {[]answer{{status: 403}}, "failed", true},
		"fails always":    {slicesOf(answer{status: 502}, 12), strings.Repeat("retry ", 11) + "failed", true},
		"asks for time":   {[]answer{{status: 429, header: map[string]string{"Retry-After": "120"}}}, "retry sent", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, nil)
			w.run()
			b := w.browser(bob, 1)
			w.at.answer(c.answers...)
			w.say("hello")
			w.examine()
			want := len(strings.Fields(c.results))
			for n := 1; n <= want; n++ {
				w.results(n)
				w.idle()
				outgoingtest.Forget(t, w.calls, outgoing.WebPush) // its circuit does not open
				if name == "asks for time" && n == 1 {
					w.pass(119 * time.Second)
					w.idle()
					if got := len(b.requests()); got != 1 {
						t.Fatalf("%d requests before the time that the service asked for", got)
					}
					w.pass(2 * time.Second)
				} else {
					w.pass(time.Hour) // more than the delay
				}
			}
			w.idle()
			if got := w.results(want); got != c.results {
				t.Errorf("the attempts are %s", got)
			}
			if kept := len(w.list(bob, 1)) == 1; kept != c.kept {
				t.Errorf("the subscription is kept: %v", kept)
			}
			// Afterwards, newer messages are pushed as if nothing had happened.
			if c.kept {
				w.say("and again")
				w.examine()
				if got := b.shows(want + 1); got[want].Seq != "2" {
					t.Errorf("afterwards, the browser got %+v", got[want])
				}
			}
		})
	}
}

// A pause that a push service asks for holds for all conversations, not only for the one whose push was refused.
func TestAPauseHoldsForAllConversations(t *testing.T) {
	w := open(t, nil)
	w.run()
	b := w.browser(bob, 1)
	w.at.answer(answer{status: 429, header: map[string]string{"Retry-After": "120"}})
	w.say("hello")
	w.examine()
	w.results(1)
	w.idle()
	other := id.Conversation(100)
	w.change(func() {
		w.state[other] = &chatv1.Conversation{Id: uint64(other), Peer: uint64(ann), State: &chatv1.ConversationState{}}
	})
	w.write(ann, other, "hello there", bob)
	w.examine()
	w.pass(119 * time.Second)
	w.idle()
	if got := len(b.requests()); got != 1 {
		t.Fatalf("%d requests were made before the time that the service asked for, want 1", got)
	}
	w.pass(2 * time.Second)
	if got := w.results(3); got != "retry sent sent" {
		t.Errorf("after the pause, the attempts are %s", got)
	}
}

func slicesOf(a answer, n int) (list []answer) {
	for range n {
		list = append(list, a)
	}
	return list
}

// A flood of conversations does not become a flood of requests to one endpoint.
func TestEndpointsAreNotFlooded(t *testing.T) {
	w := open(t, nil)
	w.run()
	b := w.browser(bob, 1)
	for i := range 62 {
		c := id.Conversation(100 + i)
		w.change(func() {
			w.state[c] = &chatv1.Conversation{Id: uint64(c), Peer: uint64(ann), State: &chatv1.ConversationState{}}
		})
		w.write(ann, c, "hello", bob)
	}
	w.examine()
	b.shows(60)
	w.idle()
	before := len(b.requests())
	if before > 60+3 { // workers that were checking the window at the same time
		t.Errorf("%d requests in a minute", before)
	}
	w.pass(2 * time.Minute)
	b.shows(62)
}

// The trace is bounded, in number and in time, and is read in pages.
func TestAttemptsAreKeptForAWhile(t *testing.T) {
	w := open(t, nil)
	b := w.browser(bob, 1)
	for i := range 260 {
		push.Attempt(t, w.Service, int64(b.id), bob, uint64(i+1))
	}
	seen, before := 0, uint64(0)
	for {
		r, err := w.ListAttempts(t.Context(), &pushv1.ListPushAttemptsRequest{User: uint64(bob), Before: before, Limit: 60})
		must(t, err)
		for _, a := range r.Attempts {
			if want := uint64(260 - seen); a.Seq != want {
				t.Fatalf("attempt %d has seq %d, want %d", seen, a.Seq, want)
			}
			seen++
		}
		if before = r.Next; before == 0 {
			break
		}
	}
	if seen < 200 || seen > 250 {
		t.Errorf("%d attempts are kept", seen)
	}
	if r, err := w.ListAttempts(t.Context(), &pushv1.ListPushAttemptsRequest{User: uint64(eve)}); err != nil || len(r.Attempts) != 0 {
		t.Errorf("eve has %v %v", r, err)
	}
	if _, err := w.ListAttempts(t.Context(), &pushv1.ListPushAttemptsRequest{User: uint64(bob), Limit: 101}); reason(err) != "bad_limit" {
		t.Errorf("a page of 101: %v", err)
	}
	w.say("hello")
	w.examine()
	w.pass(7*24*time.Hour + time.Second)
	must(t, w.Trim(t.Context()))
	for _, table := range []string{"push_attempts", "pushes"} {
		var n int
		must(t, w.db.Read().QueryRowContext(t.Context(), fmt.Sprintf(`SELECT count(*) FROM %s`, table)).Scan(&n))
		if n != 0 {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
}
