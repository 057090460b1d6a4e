package push_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/push"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

// What a user has read by then, has muted, or does not want to get is dropped, and the trace says why.
func TestWhatIsNotPushed(t *testing.T) {
	for says, change := range map[string]func(*world){
		"the user has read it":                  func(w *world) { w.state[talk].State.ReadSeq = 1 },
		"the conversation is muted or archived": func(w *world) { w.state[talk].State.Muted = true },
		"muted or archived":                     func(w *world) { w.state[talk].State.Archived = true },
		"was recalled or deleted":               func(w *world) { w.messages[talk][0].RecallSeq, w.messages[talk][0].Content = 2, nil },
		"from a user who is blocked":            func(w *world) { w.silenced[ann] = true },
		"may not read the conversation":         func(w *world) { delete(w.state, talk) },
		"wants no push notifications":           func(w *world) { w.availability = presencev1.Availability_AVAILABILITY_DO_NOT_DISTURB },
		"has left the conversation":             func(w *world) { w.state[talk].LeaveSeq = 1 },
	} {
		t.Run(says, func(t *testing.T) {
			w := open(t, nil)
			b := w.browser(bob, 1)
			w.say("hello")
			w.examine() // the message is to be pushed, until something happens
			w.change(func() { change(w) })
			w.run()
			if got := w.results(1); got != "dropped" || len(b.requests()) != 0 {
				t.Errorf("the attempts are %s, and the browser got %d", got, len(b.requests()))
			}
			if a := w.attempts()[0]; !strings.Contains(a.Detail, says) {
				t.Errorf("the trace says %q, want %q", a.Detail, says)
			}
		})
	}
}

func TestWhatNobodyIsPushed(t *testing.T) {
	w := open(t, nil)
	w.run()
	b := w.browser(bob, 1)
	w.write(bob, talk, "my own", bob)
	w.change(func() {
		for i, c := range []*chatv1.Content{{Kind: &chatv1.Content_Control{}}, {Kind: &chatv1.Content_Reaction{}}, {Kind: &chatv1.Content_Edit{}}, {Kind: &chatv1.Content_Signal{}}, nil} {
			w.streams[bob] = append(w.streams[bob], &chatv1.Event{Seq: uint64(len(w.streams[bob]) + 1), Body: &chatv1.Event_Message{Message: &chatv1.Message{Conversation: uint64(talk), Seq: uint64(i + 2), Sender: uint64(ann), Content: c}}})
		}
		w.streams[bob] = append(w.streams[bob], &chatv1.Event{Seq: uint64(len(w.streams[bob]) + 1), Body: &chatv1.Event_Mark{Mark: &chatv1.MemberMark{}}})
	})
	w.examine()
	w.idle()
	if n := len(w.attempts()) + len(b.requests()); n != 0 {
		t.Errorf("%d attempts", n)
	}
}

// A pause and quiet hours drop what comes meanwhile, by the clock of the user's time zone.
func TestQuietHours(t *testing.T) {
	w := open(t, nil)
	w.run()
	w.browser(bob, 1)
	set := func(s *pushv1.PushSettings) {
		t.Helper()
		_, err := w.SetSettings(t.Context(), bob, s)
		must(t, err)
	}
	tokyo := time.FixedZone("", 9*3600)
	at := func(hour, minute int) { w.clock.Set(time.Date(2027, 3, 1, hour, minute, 0, 0, tokyo)) }
	night := &pushv1.PushSettings{QuietHours: &pushv1.QuietHours{From: 22 * 60, To: 7 * 60, TimeZone: "Asia/Tokyo"}}
	noon := &pushv1.PushSettings{QuietHours: &pushv1.QuietHours{From: 12 * 60, To: 13 * 60, TimeZone: "Asia/Tokyo"}}
	n := 0
	for i, c := range []struct {
		settings     *pushv1.PushSettings
		hour, minute int
		want         string
	}{{night, 21, 59, "sent"}, {night, 22, 0, "dropped"}, {night, 6, 59, "dropped"}, {night, 7, 0, "sent"}, {noon, 11, 59, "sent"}, {noon, 12, 30, "dropped"}, {noon, 13, 0, "sent"},
		{&pushv1.PushSettings{PausedUntilMs: time.Date(2027, 3, 1, 15, 0, 0, 0, tokyo).UnixMilli()}, 14, 59, "dropped"}, {&pushv1.PushSettings{PausedUntilMs: time.Date(2027, 3, 1, 15, 0, 0, 0, tokyo).UnixMilli()}, 15, 0, "sent"}} {
		set(c.settings)
		at(c.hour, c.minute)
		w.say("hello")
		w.examine()
		n++
		if got := strings.Fields(w.results(n))[n-1]; got != c.want {
			t.Errorf("case %d at %d:%02d: %s, want %s", i, c.hour, c.minute, got, c.want)
		}
	}
	for _, q := range []*pushv1.QuietHours{{From: 1440, TimeZone: "UTC"}, {To: 1440, TimeZone: "UTC"}, {From: 5, To: 5, TimeZone: "UTC"}, {From: 1}, {From: 1, TimeZone: "Local"}, {From: 1, TimeZone: "Mars/Base"}, {From: 1, TimeZone: "../UTC"}} {
		if _, err := w.SetSettings(t.Context(), bob, &pushv1.PushSettings{QuietHours: q}); reason(err) != "bad_push_settings" {
			t.Errorf("%v: error %v, want the reason bad_push_settings", q, err)
		}
	}
	if _, err := w.SetSettings(t.Context(), bob, &pushv1.PushSettings{PausedUntilMs: -1}); reason(err) != "bad_push_settings" {
		t.Errorf("a pause before 1970: %v", err)
	}
}

// The text of a message leaves the server only if its reader wants that.
func TestTextIsShownOnRequest(t *testing.T) {
	w := open(t, nil)
	w.run()
	b := w.browser(bob, 1)
	_, err := w.SetSettings(t.Context(), bob, &pushv1.PushSettings{ShowText: true})
	must(t, err)
	w.say("hello\n  there " + strings.Repeat("很", 300))
	w.examine()
	got := b.shows(1)[0]
	if got.Title != "Ann" || !strings.HasPrefix(got.Body, "hello there 很很") || !strings.HasSuffix(got.Body, "很…") || len([]rune(got.Body)) != 160 {
		t.Errorf("the browser shows %q: %q", got.Title, got.Body)
	}
	w.change(func() {
		w.state[talk].Peer, w.state[talk].Title = 0, "Climbing"
		w.state[talk].Parent, w.state[talk].RootSeq = 5, 6
	})
	w.say("tomorrow?")
	w.examine()
	if got := b.shows(2)[1]; got.Title != "Climbing" || got.Body != "Ann: tomorrow?" || got.Badge != 2 || got.Parent != "5" || got.Root != "6" {
		t.Errorf("the browser shows %+v", got)
	}
	w.change(func() { w.bridgeOfAnn = "irc" })
	w.say("and then?")
	w.examine()
	if got := b.shows(3)[2]; got.Title != "Climbing" || got.Body != "Ann · irc: and then?" {
		t.Errorf("of somebody of another system, the browser shows %+v", got)
	}
	w.change(func() { w.state[talk].Title, w.nameOfAnn = "", strings.Repeat("Bob ", 16) })
	w.say("it's me, Bob")
	w.examine()
	if got := b.shows(4)[3]; got.Title != strings.Repeat("Bob ", 10)+"B… · irc" || len([]rune(got.Title)) != 48 {
		t.Errorf("of somebody of another system with a long name, the browser shows the title %q", got.Title)
	}
}

// Of messages that come before they are pushed, the newest is. If it is recalled, the one before is.
func TestNewerMessagesReplaceOlderOnes(t *testing.T) {
	w := open(t, nil)
	b := w.browser(bob, 1)
	for i := range 3 {
		w.say(fmt.Sprint("message ", i))
		w.examine()
	}
	w.run()
	if got := b.shows(1); got[0].Seq != "3" || got[0].Badge != 3 {
		t.Errorf("the browser got %+v", got)
	}
	w.idle()
	if got := w.results(1); got != "sent" {
		t.Errorf("the attempts are %s", got)
	}
	w.at.answer(answer{status: 503})
	w.say("fourth")
	w.examine()
	w.results(2)
	w.idle()
	w.say("fifth")
	w.change(func() { w.messages[talk][4].RecallSeq = 6 })
	w.examine()
	w.pass(time.Minute)
	if got := b.shows(3); got[2].Seq != "4" {
		t.Errorf("after the recall, the browser got %+v", got)
	}
}

// A message that is edited before its push is sent is pushed with its new text, in a later attempt as well.
func TestAnEditedMessageIsPushedWithItsNewText(t *testing.T) {
	w := open(t, nil)
	b := w.browser(bob, 1)
	_, err := w.SetSettings(t.Context(), bob, &pushv1.PushSettings{ShowText: true})
	must(t, err)
	edit := func(text string) {
		w.change(func() { w.messages[talk][0].Content = &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}} })
	}
	w.at.answer(answer{status: 503})
	w.say("at nine")
	w.examine()
	edit("at ten")
	w.run()
	if got := b.shows(1)[0]; got.Body != "at ten" {
		t.Errorf("edited before the first attempt, the message is pushed as %q", got.Body)
	}
	w.results(1)
	w.idle()
	edit("at eleven")
	w.pass(time.Minute)
	if got := b.shows(2)[1]; got.Body != "at eleven" {
		t.Errorf("edited before the second attempt, the message is pushed as %q", got.Body)
	}
}

// What comes while a push is in progress is pushed after it.
func TestAMessageDuringAPush(t *testing.T) {
	w := open(t, nil)
	b := w.browser(bob, 1)
	answered := make(chan struct{})
	w.at.answer(answer{status: 201, after: answered})
	w.run()
	w.say("first")
	w.examine()
	b.shows(1)
	w.say("second")
	w.examine()
	close(answered)
	w.idle()
	if len(w.at.requests()) < 2 {
		t.Fatal("the second message is not pushed")
	}
	if got := b.shows(2); got[1].Seq != "2" {
		t.Errorf("the browser got %+v", got)
	}
}

// A user whose device is active is not pushed. When it goes, what no device has acknowledged is pushed, and nothing else.
func TestActiveUsersAreNotPushed(t *testing.T) {
	w := open(t, nil)
	w.run()
	b := w.browser(bob, 1)
	w.connect(bob, false)
	w.say("shown")
	w.pass(time.Hour)
	w.write(eve, crowd, "lost in a broken connection", bob)
	w.pass(time.Hour) // it is not acknowledged by then
	w.examine()
	w.idle()
	if n := len(w.attempts()); n != 0 {
		t.Fatalf("%d attempts for an active user", n)
	}
	w.change(func() { w.acked[bob], w.state[crowd].Large = 1, false })
	w.disconnect(bob)
	w.examine()
	w.idle()
	if n := len(w.attempts()); n != 1 {
		t.Fatalf("%d attempts for what was not acknowledged, want 1", n)
	}
	if got := b.shows(1); got[0].Conversation != crowd.String() {
		t.Errorf("the browser got %+v", got)
	}
	// A device in the background acknowledges at once, and is no reason to let others sleep.
	w.connect(bob, true)
	w.say("for the phone")
	w.change(func() { w.acked[bob] = 3 })
	w.examine()
	if got := b.shows(2); got[1].Seq != "2" {
		t.Errorf("the browser got %+v", got)
	}
	w.idle()
	if got := w.results(2); got != "sent sent" {
		t.Errorf("the attempts are %s", got)
	}
}

// Fan-out stores a message again after a crash, in the stream of its receiver. It is pushed once.
func TestRepeatedFanOutPushesOnce(t *testing.T) {
	w := open(t, nil)
	w.run()
	b := w.browser(bob, 1)
	w.say("hello")
	w.examine()
	b.shows(1)
	w.change(func() {
		again := &chatv1.Event{Seq: 2, Body: w.streams[bob][0].Body}
		w.streams[bob] = append(w.streams[bob], again)
	})
	w.examine()
	w.say("another")
	w.examine()
	if got := b.shows(2); got[0].Seq != "1" || got[1].Seq != "2" || len(got) != 2 {
		t.Errorf("the browser got %+v", got)
	}
}

// A process that dies before or after any step loses no push.
func TestCrashesLoseNoPush(t *testing.T) {
	died := errors.New("died")
	for point, least := range map[string]int{"before-commit": 1, "before-send": 1, "after-send": 2} {
		t.Run(point, func(t *testing.T) {
			w := open(t, nil)
			b := w.browser(bob, 1)
			var dead atomic.Bool
			interrupt := func(at string) error {
				if at == point && dead.CompareAndSwap(false, true) {
					return died
				}
				return nil
			}
			push.Interrupt(w.Service, interrupt)
			w.say("hello")
			if err := w.Sweep(t.Context()); point == "before-commit" && !errors.Is(err, died) {
				t.Fatalf("error %v, want that the sweep died", err)
			}
			w.Service = w.process()
			push.Interrupt(w.Service, interrupt)
			w.examine()
			w.run()
			eventually.True(t, "the process dies", dead.Load)
			w.idle()
			w.pass(time.Minute)
			for i, s := range b.shows(least) {
				if s.Seq != "1" {
					t.Errorf("notification %d is %+v", i, s)
				}
			}
			if got := w.results(1); got != "sent" {
				t.Errorf("the attempts are %s", got)
			}
		})
	}
}

// A mention in a large group, which is in no stream, is pushed to those whom it means, once, unless they are there.
func TestMentionsInLargeGroups(t *testing.T) {
	w := open(t, nil)
	b, e := w.browser(bob, 1), w.browser(eve, 2)
	mention := func(users ...id.User) uint64 {
		t.Helper()
		seq := w.write(ann, crowd, "you there")
		w.change(func() { w.state[crowd].Mentions = append(w.state[crowd].Mentions, seq) })
		for range 2 { // the sender's node and fan-out store it
			must(t, w.db.Write(t.Context(), func(tx *tx) error { return w.Mentioned(t.Context(), tx, crowd, seq, users) }))
		}
		return seq
	}
	mention(bob, 99)
	w.run()
	if got := b.shows(1); got[0].Conversation != crowd.String() || got[0].Seq != "1" {
		t.Errorf("bob got %+v", got)
	}
	w.change(func() { w.members = []id.User{ann, bob, eve, 99} })
	w.connect(eve, false)
	mention(0, bob)
	b.shows(2)
	w.idle()
	if n := len(e.requests()); n != 0 {
		t.Errorf("eve, who is active, got %d", n)
	}
	w.pass(time.Minute) // longer than a connection counts that broke without notice
	w.idle()
	if n := len(e.requests()); n != 0 {
		t.Errorf("eve, who is active, got %d", n)
	}
	mention(eve)
	w.idle()
	w.disconnect(eve)
	w.pass(time.Minute)
	if got := e.shows(1); got[0].Seq != "3" || len(b.requests()) != 2 {
		t.Errorf("eve got %+v, and bob %d", got, len(b.requests()))
	}
}

// Users with more events than are read at once, and users on later pages of a sweep, are pushed as well.
func TestLongStreams(t *testing.T) {
	w := open(t, nil)
	w.run()
	b := w.browser(bob, 1)
	for range 450 {
		w.say("x")
	}
	w.examine()
	w.examine()
	w.examine()
	w.idle()
	got := b.shows(1)
	if last := got[len(got)-1]; last.Seq != "450" || last.Badge != 450 {
		t.Errorf("the last notification is %+v", last)
	}
}

// Run finds by itself what reached streams, in the order in which it did.
func TestRun(t *testing.T) {
	w := open(t, nil)
	w.run()
	b := w.browser(bob, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Service.Run(ctx) }()
	for i := range 5 {
		w.say("hello")
		w.StreamChanged(bob)
		if got := b.shows(i + 1); got[i].Seq != fmt.Sprint(i+1) {
			t.Errorf("notification %d is %+v", i, got[i])
		}
		w.idle()
	}
	cancel()
	must(t, <-ended)
}

// Endpoints that do not answer occupy a share of the workers, so that other users are pushed meanwhile.
func TestSlowEndpointsDoNotHoldUpOthers(t *testing.T) {
	var atOnce, most atomic.Int32
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		most.Store(max(most.Load(), atOnce.Add(1)))
		<-release
		atOnce.Add(-1)
	}))
	t.Cleanup(slow.Close)
	w := open(t, func(c *push.Config) {
		c.Workers = 8
		c.InternalHosts = append(c.InternalHosts, strings.TrimPrefix(slow.URL, "http://"))
	})
	for n := range 6 {
		b := newBrowser(t, w.at)
		_, err := w.Register(t.Context(), id.Caller{User: bob, Session: id.Session(10 + n)}, &pushv1.RegisterPushRequest{Provider: webPush, Token: fmt.Sprint(slow.URL, "/", n), P256Dh: b.key.PublicKey().Bytes(), Auth: b.auth})
		must(t, err)
	}
	e := w.browser(eve, 1)
	w.write(ann, talk, "hello", bob)
	w.examine()
	w.run()
	t.Cleanup(func() { close(release) })
	eventually.True(t, "bob's endpoints get something", func() bool { return atOnce.Load() >= 2 })
	w.write(ann, talk, "hello", eve)
	w.examine()
	e.shows(1)
	if n := most.Load(); n != 2 {
		t.Errorf("%d of 8 workers waited for bob's endpoints, want 2, which a new host has", n)
	}
}

// A provider that does not answer for anybody holds a share of the workers, whoever the users are.
func TestASlowHostDoesNotHoldUpOthers(t *testing.T) {
	var atOnce atomic.Int32
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		atOnce.Add(1)
		<-release
	}))
	t.Cleanup(slow.Close)
	w := open(t, func(c *push.Config) {
		c.Workers = 4
		c.InternalHosts = append(c.InternalHosts, strings.TrimPrefix(slow.URL, "http://"))
	})
	const users = 8
	for n := range id.User(users) {
		b := newBrowser(t, w.at)
		_, err := w.Register(t.Context(), id.Caller{User: 100 + n, Session: id.Session(100 + n)}, &pushv1.RegisterPushRequest{Provider: webPush, Token: fmt.Sprint(slow.URL, "/", n), P256Dh: b.key.PublicKey().Bytes(), Auth: b.auth})
		must(t, err)
		w.write(ann, talk, "hello", 100+n)
	}
	e := w.browser(eve, 1)
	w.examine()
	w.run()
	t.Cleanup(func() { close(release) })
	eventually.True(t, "the slow host gets something", func() bool { return atOnce.Load() > 0 })
	w.write(ann, talk, "hello", eve)
	w.examine()
	e.shows(1)
	if n := atOnce.Load(); n != 1 {
		t.Errorf("%d of 4 workers waited for the slow host, want 1, which a new host has", n)
	}
}

// A host that was slow does not get one worker more, as one that was quick does, but the quarter that slow ones divide.
func TestASlowHostHasAQuarter(t *testing.T) {
	for slow, want := range map[time.Duration]int{0: 4, time.Hour: 5} {
		w := open(t, nil)
		w.SlowFrom(slow)
		w.run()
		w.browser(bob, 1)
		w.say("hello")
		w.examine()
		w.results(1)
		w.idle()
		if n := w.Share(w.at.host); n != want {
			t.Errorf("after a delivery, a host may have %d of 16 workers, want %d", n, want)
		}
	}
}

// A user has half of the workers, and one of them after a delivery that took long.
func TestSlowUsersHaveOneWorker(t *testing.T) {
	w := open(t, nil)
	all := func(u id.User) (n int) {
		for w.Begin(u) {
			n++
		}
		return n
	}
	if n := all(bob); n != 8 {
		t.Errorf("of 16 workers, a user occupies %d, want 8", n)
	}
	for range 8 {
		w.End(bob, time.Millisecond)
	}
	if n := w.Sending(); n != 0 {
		t.Errorf("%d users are kept who are not slow", n)
	}
	if w.Begin(bob); w.Begin(eve) {
		w.End(bob, time.Second)
		w.End(eve, time.Millisecond)
	}
	if bobs, eves := all(bob), all(eve); bobs != 1 || eves != 8 {
		t.Errorf("a user who was slow occupies %d workers, want 1; another one %d, want 8", bobs, eves)
	}
}

// A stream that cannot be read, and a user of whom it is not known yet whether they are there, keep nobody else's pushes.
func TestOneUserDoesNotHoldUpOthers(t *testing.T) {
	w := open(t, nil)
	w.run()
	b, e := w.browser(bob, 1), w.browser(eve, 2)
	w.change(func() { w.broken = map[id.User]bool{eve: true} })
	w.write(ann, talk, "hello", bob, eve)
	w.examine()
	b.shows(1)
	w.change(func() { w.broken = nil })
	w.change(func() { w.moving = map[id.User]bool{eve: true} })
	w.examine()
	w.idle()
	if n := len(e.requests()); n != 0 {
		t.Errorf("eve, of whom nothing is known, got %d", n)
	}
	w.change(func() { w.moving = nil })
	w.examine()
	e.shows(1)
}
