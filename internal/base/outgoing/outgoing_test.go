package outgoing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var errDown = errors.New("connection refused")

// server is what is called in tests.
type server struct {
	t     *testing.T
	calls *Calls
	kind  Kind
	key   string
	n     int // attempts
}

func newServer(t *testing.T, kind Kind) *server {
	return &server{t: t, calls: New(slog.New(slog.DiscardHandler)), kind: kind, key: "https://hooks.example.com/x?secret"}
}

// call makes a call whose attempts have an outcome, and returns whether it was refused.
func (s *server) call(o Outcome) *Refused {
	s.t.Helper()
	err := s.calls.Do(s.t.Context(), s.kind, s.key, time.Minute, func(context.Context) Outcome {
		s.n++
		return o
	})
	var refused *Refused
	if err != nil && !errors.As(err, &refused) {
		s.t.Fatal(err)
	}
	return refused
}

// expect makes some calls, each of which must pass or must be refused.
func (s *server) expect(calls int, o Outcome, refused bool) {
	s.t.Helper()
	for i := range calls {
		before := s.n
		if r := s.call(o); (r != nil) != refused || (s.n > before) == refused {
			s.t.Fatalf("call %d of %d: refused %v, %d attempts; want refused %v", i+1, calls, r, s.n-before, refused)
		}
	}
}

var (
	good = Outcome{}
	bad  = Outcome{Failure: errDown}
)

// A circuit opens after a share of failures, is half open after a while, and closes when all probes have succeeded.
func TestCircuitsOpenAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, EventWebhook)
		s.expect(minCalls/2, good, false)
		s.expect(minCalls/2, bad, false) // the last is the tenth call, and half have failed
		r := s.call(good)
		if r == nil || r.Kind != EventWebhook || r.Host != "hooks.example.com" || r.Wait != openLong || !strings.Contains(r.Error(), "connection refused") || strings.Contains(r.Error(), "secret") {
			t.Fatalf("an open circuit: %v", r)
		}
		time.Sleep(openLong)
		s.expect(1, good, true)
		time.Sleep(time.Nanosecond)
		s.expect(1, good, false)
		s.expect(1, bad, false) // of three probes, one fails
		s.expect(1, good, true)
		time.Sleep(openLong + 1)
		s.expect(probes, good, false)
		s.expect(minCalls-probes-1, bad, false) // closed, and counting anew
	})
}

// While probes are in progress, further calls are refused.
func TestProbesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, EventWebhook)
		s.expect(minCalls, bad, false)
		time.Sleep(openLong + 1)
		var list []*Attempt
		for {
			a, err := s.calls.Begin(s.kind, s.key)
			if err != nil {
				var r *Refused
				if !errors.As(err, &r) || r.Wait != probeWait {
					t.Errorf("beyond the probes: %v", err)
				}
				break
			}
			list = append(list, a)
		}
		if len(list) != probes {
			t.Fatalf("got %d probes, want %d", len(list), probes)
		}
		list[0].Abandon() // makes room for another one
		a, err := s.calls.Begin(s.kind, s.key)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range append(list[1:], a) {
			a.End(t.Context(), good)
		}
		s.expect(1, good, false)
	})
}

// Fewer failures than half, or fewer calls than ten in the window, open no circuit.
func TestFewFailuresOpenNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, EventWebhook)
		for range 10 * minCalls {
			s.expect(1, bad, false)
			s.expect(2, good, false)
		}
		s = newServer(t, EventWebhook)
		for range 10 * minCalls {
			s.expect(1, bad, false)
			time.Sleep(window / (minCalls - 3))
		}
	})
}

// Calls in progress say nothing yet: many of them do not hide that those which have ended failed.
func TestCallsInProgressCountNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, EventWebhook)
		for range 10 * minCalls {
			if _, err := s.calls.Begin(s.kind, s.key); err != nil {
				t.Fatal(err)
			}
		}
		s.expect(minCalls, bad, false)
		s.expect(1, good, true)
	})
}

// Calls whose callers have given up count neither way; those that ran into their own timeout are failures.
func TestCancelledCallsAreNoFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, EventWebhook)
		hang := func(ctx context.Context) Outcome {
			s.n++
			<-ctx.Done()
			return OutcomeOf(0, 0, ctx.Err())
		}
		for range 3 * minCalls {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if err := s.calls.Do(ctx, s.kind, s.key, time.Second, hang); err != nil {
				t.Fatalf("a call after callers gave up: %v", err)
			}
			cancel()
		}
		for range minCalls {
			if err := s.calls.Do(t.Context(), s.kind, s.key, time.Millisecond, hang); err != nil {
				t.Fatal(err)
			}
		}
		s.expect(1, good, true)
	})
}

// A call that panics is a failure, and leaves no probe in progress.
func TestPanicsAreFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, EventWebhook)
		for range minCalls {
			func() {
				defer func() { _ = recover() }() // what the call panics with
				_ = s.calls.Do(t.Context(), s.kind, s.key, time.Second, func(context.Context) Outcome { panic("of the call") })
			}()
		}
		s.expect(1, good, true)
	})
}

func TestOutcomesOfAnswers(t *testing.T) {
	for _, c := range []struct {
		status        int
		after         time.Duration
		err           error
		failed, again bool
		pause         time.Duration
	}{
		{status: 200}, {status: 302}, {status: 400}, {status: 404}, {status: 408}, {status: 410},
		{status: 429}, {status: 429, after: time.Second, pause: time.Second},
		{status: 500, failed: true}, {status: 501, failed: true}, {status: 502, failed: true, again: true}, {status: 504, failed: true, again: true},
		{status: 503, failed: true, again: true}, {status: 503, after: time.Second, failed: true, pause: time.Second},
		{err: errDown, failed: true, again: true},
	} {
		if o := OutcomeOf(c.status, c.after, c.err); (o.Failure != nil) != c.failed || o.Retryable != c.again || o.Pause != c.pause {
			t.Errorf("%+v has the outcome %+v", c, o)
		}
	}
}

// A server that asks for a pause gets one, if the kind's answers concern the whole server; but not for longer than a minute.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, EventWebhook)
		s.call(Outcome{Pause: 5 * time.Second})
		if r := s.call(good); r == nil || r.Wait != 5*time.Second {
			t.Errorf("in a pause: %v", r)
		}
		time.Sleep(5 * time.Second)
		s.expect(1, Outcome{Pause: time.Hour}, false)
		time.Sleep(maxPause - 1)
		s.expect(1, good, true)
		time.Sleep(time.Nanosecond)
		s.expect(1, good, false)
		s = newServer(t, APNs) // only a device is meant
		s.call(Outcome{Pause: 5 * time.Second})
		s.expect(1, good, false)
	})
}

// Failed calls of kinds with retries are tried again at once, within the budget and the timeout.
func TestRetriesHaveABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		again := Outcome{Failure: errDown, Retryable: true}
		s := newServer(t, Relation)
		attempts := func(o Outcome) int {
			before := s.n
			if r := s.call(o); r != nil {
				t.Fatal(r)
			}
			return s.n - before
		}
		if n := attempts(bad); n != 1 {
			t.Errorf("a failure that is not retryable was tried %d times", n)
		}
		for i := range floor {
			if n := attempts(again); n != 2 {
				t.Errorf("call %d was tried %d times, want 2", i+1, n)
			}
		}
		if n := attempts(again); n != 1 {
			t.Errorf("without a budget a call was tried %d times", n)
		}
		for range 100 - 1 - floor - 1 {
			s.expect(1, good, false)
		}
		retried := 0
		for range 20 {
			retried += attempts(again) - 1
		}
		if retried != 120/budgetShare {
			t.Errorf("of 120 calls, %d were tried again beyond the floor; want %d", retried, 120/budgetShare)
		}
		time.Sleep(budgetSeconds*time.Second + 1)
		for i := range floor + 1 {
			if n := attempts(again); (n == 2) != (i < floor) {
				t.Errorf("call %d with a new budget was tried %d times", i+1, n)
			}
		}
		s = newServer(t, EventWebhook) // a durable queue tries again
		if n := attempts(again); n != 1 {
			t.Errorf("an event was tried %d times at once", n)
		}
	})
}

// Retries end with the timeout of the call, and a retry that is refused leaves the failure before it.
func TestRetriesEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Relation)
		began := time.Now()
		err := s.calls.Do(t.Context(), s.kind, s.key, time.Second, func(ctx context.Context) Outcome {
			s.n++
			<-ctx.Done()
			return OutcomeOf(0, 0, ctx.Err())
		})
		if err != nil || s.n != 1 || time.Since(began) != time.Second {
			t.Errorf("a call that hangs: %v after %v and %d attempts", err, time.Since(began), s.n)
		}
		if got, _ := metricsOf(t, s.calls, Relation); got["retries_total made"] != 0 {
			t.Error("the call that hangs has used the budget")
		}
		s.expect(minCalls-2, bad, false)
		before := s.n
		if r := s.call(Outcome{Failure: errDown, Retryable: true}); r != nil || s.n != before+1 {
			t.Errorf("the call that opens the circuit: %v after %d attempts", r, s.n-before)
		}
	})
}

// A destination that is down concerns no other one, and no other kind of calls to it.
func TestDestinationsAreSeparate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, EventWebhook)
		s.expect(minCalls, bad, false)
		s.expect(1, good, true)
		s.kind = TransactionWebhook
		s.expect(1, good, false)
		s.kind, s.key = EventWebhook, "https://hooks.example.com/y"
		s.expect(1, good, false)
	})
}

// The number of destinations is bounded. Those that are called stay.
func TestDestinationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, WebPush)
		s.key = "down.example.com"
		s.expect(minCalls, bad, false)
		for i := range 3 * maxDestinations {
			s.key = fmt.Sprint(i, ".example.com")
			s.expect(1, good, false)
			if s.key = "down.example.com"; i%100 == 0 && i < 3*maxDestinations/2 {
				s.expect(1, good, true)
			}
		}
		if n := len(s.calls.kinds[WebPush].byKey); n != maxDestinations || s.calls.kinds[WebPush].recentFirst.Len() != n {
			t.Errorf("%d destinations are kept, want %d", n, maxDestinations)
		}
		s.expect(1, good, false) // forgotten
	})
}

// A durable queue waits for longer the longer something has waited, but not before the circuit lets a call pass.
func TestDelaysOfDurableQueues(t *testing.T) {
	r := &Refused{Wait: 10 * time.Second}
	for waited, least := range map[time.Duration]time.Duration{0: 10 * time.Second, 40 * time.Second: 10 * time.Second, time.Minute: 15 * time.Second, 24 * time.Hour: 5 * time.Minute} {
		for range 100 {
			if d := r.Delay(waited); d < least || d > least*3/2 {
				t.Errorf("after %v: %v, want %v to a half more", waited, d, least)
			}
		}
	}
}

// Metrics have the kind as their label, never a host; each change of a circuit is logged, without the secrets of an address.
func TestMetricsAndLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newServer(t, IssuerKeys)
		s.calls = New(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == slog.MessageKey {
				return slog.Attr{}
			}
			return a
		}})))
		s.expect(1, Outcome{Pause: time.Second}, false)
		s.expect(2, good, true)
		time.Sleep(time.Second)
		s.expect(1, Outcome{Failure: errDown, Retryable: true}, false)
		s.expect(minCalls-3, bad, false)
		s.expect(4, good, true)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(s.calls)
		got, series := metricsOf(t, s.calls, IssuerKeys)
		want := map[string]float64{"breakers closed": 0, "breakers half_open": 0, "breakers open": 1, "calls_total ok": 1, "calls_total failed": 9, "calls_total cancelled": 0,
			"calls_total refused_open": 4, "calls_total refused_paused": 2, "retries_total made": 1, "retries_total over_budget": 0}
		if !maps.Equal(got, want) || series != len(want)*len(Kinds()) {
			t.Errorf("got %v, and %d series of all kinds; want %v", got, series, want)
		}
		time.Sleep(openShort + 1)
		s.expect(1, bad, false)
		time.Sleep(openShort + 1)
		s.expect(probes, good, false)
		wantLog := ""
		for _, state := range []string{"WARN open", "DEBUG half-open", "DEBUG open", "DEBUG half-open", "INFO closed"} {
			level, to, _ := strings.Cut(state, " ")
			wantLog += fmt.Sprintf("level=%s kind=issuer_keys host=hooks.example.com state=%s last_failure=\"connection refused\"\n", level, to)
		}
		if log.String() != wantLog {
			t.Errorf("the log is:\n%s\nwant:\n%s", log.String(), wantLog)
		}
	})
}

// metricsOf returns the metrics of a kind, by name and label, and how many there are of all kinds.
func metricsOf(t *testing.T, c *Calls, kind Kind) (found map[string]float64, series int) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found = map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			series++
			if m.Label[0].GetValue() == string(kind) {
				found[strings.TrimPrefix(f.GetName(), "rialto_outgoing_")+" "+m.Label[1].GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return found, series
}

// A budget gives its share and its floor of the last while, no more and no less, however calls and retries come.
func TestBudgetsHoldForAnyTraffic(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		var b budget
		now := time.Unix(1_800_000_000, 0)
		var calls, retries []int64
		for range 500 {
			now = now.Add(time.Duration(random.IntN(400)) * time.Millisecond)
			recent := func(list []int64) (n int) {
				for _, at := range list {
					if at > now.Unix()-budgetSeconds {
						n++
					}
				}
				return n
			}
			if random.IntN(4) > 0 {
				b.called(now)
				calls = append(calls, now.Unix())
				continue
			}
			want := recent(retries) < floor+recent(calls)/budgetShare
			if got := b.take(now, floor); got != want {
				t.Fatalf("after %d calls and %d retries in the window, a retry is allowed: %v", recent(calls), recent(retries), got)
			}
			if want {
				b.called(now)
				retries = append(retries, now.Unix())
			}
		}
	}
}
