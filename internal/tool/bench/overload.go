package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
)

// Overload shows what a server does at more than its capacity. First, pairs of users send as fast as it answers: that is its peak. Then they send at a multiple of the
// peak, whatever it answers, and then at less than the peak. Messages count as useful if they are acknowledged in time after they were meant to be sent, with
// all refusals and retries in between. All messages are checked, as by rialto bench chat.

// overloadConfig has the flags of rialto bench overload.
type overloadConfig struct {
	chat                      chatConfig
	peak, over, after, within time.Duration
	factor, afterFactor       float64
	backlog                   int
	json                      bool
}

func (c *overloadConfig) parse(args []string, errOut io.Writer) (int, bool) {
	fs := flag.NewFlagSet("rialto bench overload", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&c.chat.url, "url", "http://127.0.0.1:7070", "the deployment's `URL`, or those of its nodes, separated by commas")
	fs.StringVar(&c.chat.key, "api-key", "", "API `key`, which creates users faster than registration; see rialto admin key create")
	fs.IntVar(&c.chat.pairs, "pairs", 500, "`number` of pairs of users who write to each other")
	fs.IntVar(&c.chat.window, "window", 16, "messages that a sender has in flight while the peak is measured")
	fs.IntVar(&c.chat.bytes, "size", 200, "`bytes` of each text")
	fs.DurationVar(&c.peak, "peak-for", 15*time.Second, "how long to send as fast as the server answers; its first fifth does not count")
	fs.DurationVar(&c.over, "for", time.Minute, "how long to send at --factor times the peak")
	fs.DurationVar(&c.after, "after-for", time.Minute, "how long to send at --after-factor times the peak then")
	fs.Float64Var(&c.factor, "factor", 2, "load during the overload, as a multiple of the peak")
	fs.Float64Var(&c.afterFactor, "after-factor", 0.7, "load after it, likewise")
	fs.DurationVar(&c.within, "within", 5*time.Second, "a message is useful if it is acknowledged so long after it was meant to be sent")
	fs.IntVar(&c.backlog, "backlog", 256, "messages of a sender that wait for receipts; beyond, its user does not write them, and they count as offered")
	fs.BoolVar(&c.json, "json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code, false
	}
	c.chat.protocol, c.chat.devices, c.chat.drain, c.chat.patience, c.chat.seed, c.chat.open = "ws", 1, time.Minute, 2*time.Minute, 1, 10_000
	c.chat.duration = c.peak
	switch err := checkURLs(c.chat.url); {
	case fs.NArg() > 0:
		fmt.Fprintf(errOut, "rialto bench overload: unexpected argument %q\n", fs.Arg(0))
	case err != nil:
		fmt.Fprintf(errOut, "--url: %v\n", err)
	case c.chat.pairs < 1 || c.chat.window < 1 || c.chat.window > 512 || c.backlog < c.chat.window || c.backlog > maxInFlight:
		fmt.Fprintf(errOut, "--pairs must be at least 1, --window 1 to 512, --backlog --window to %d\n", maxInFlight)
	case c.peak < time.Second || c.over < time.Second || c.after < time.Second || c.within <= 0:
		fmt.Fprintln(errOut, "--peak-for, --for and --after-for must be at least 1s, --within positive")
	case c.factor <= 0 || c.afterFactor <= 0:
		fmt.Fprintln(errOut, "--factor and --after-factor must be positive")
	case c.chat.bytes < headLength+1 || c.chat.bytes > 100_000:
		fmt.Fprintf(errOut, "--size must be %d to 100,000\n", headLength+1)
	default:
		return 0, true
	}
	return 2, false
}

// overloadPhase is what was measured at one load.
type overloadPhase struct {
	Seconds float64 `json:"seconds"`
	// Offered messages a second: those that users meant to send. Useful are those acknowledged in time, Acked all.
	Offered float64 `json:"offered_per_s"`
	Useful  float64 `json:"useful_per_s"`
	Acked   float64 `json:"acked_per_s"`
	AckP50  float64 `json:"ack_p50_ms"`
	AckP99  float64 `json:"ack_p99_ms"`
	Resent  uint64  `json:"resent"`
}

// overloadResult is the result of rialto bench overload.
type overloadResult struct {
	Peak  overloadPhase `json:"peak"`
	Over  overloadPhase `json:"over"`
	After overloadPhase `json:"after"`
	// DuringRatio is what was useful during the overload, as a part of the peak: the target is 0.8. AfterRatio is what was useful after it, as a part of what was offered, once the
	// server had recovered: the target is 0.95. RecoveredAfter is the time until then, -1 if it did not recover: the target is 60.
	DuringRatio    float64 `json:"during_ratio"`
	AfterRatio     float64 `json:"after_ratio"`
	RecoveredAfter float64 `json:"recovered_after_s"`
	// Checked says what became of all messages.
	Checked *result `json:"checked"`
	Passed  bool    `json:"passed"`
}

// Targets of a server that is protected against overload.
const (
	targetDuring = 0.8
	targetAfter  = 0.95
	recoverStep  = 2 * time.Second // of which one must reach targetAfter
	// offerEvery is the interval of writing messages; minOffered of them must be written in time, or the load generator is the bottleneck.
	offerEvery = 10 * time.Millisecond
	minOffered = 0.9
)

func (r *overloadResult) print(out io.Writer) {
	for _, p := range []struct {
		name string
		overloadPhase
	}{{"peak", r.Peak}, {"overload", r.Over}, {"afterwards", r.After}} {
		fmt.Fprintf(out, "%-13s offered %.0f/s, useful %.0f/s, acknowledged %.0f/s, p50 %.1f ms, p99 %.1f ms, resent %d\n", p.name, p.Offered, p.Useful, p.Acked, p.AckP50, p.AckP99, p.Resent)
	}
	fmt.Fprintf(out, "ratios        useful during the overload %.2f of the peak (target %.2f); after it %.2f of what was offered (target %.2f), reached after %.0f s\n", r.DuringRatio, targetDuring, r.AfterRatio, targetAfter, r.RecoveredAfter)
	fmt.Fprintf(out, "checked       lost %d, duplicated %d, reordered %d, gaps %d, damaged %d, reconnects %d\n", r.Checked.Lost, r.Checked.Duplicated, r.Checked.Reordered, r.Checked.Gaps, r.Checked.Damaged, r.Checked.Reconnects)
}

func overloadMain(args []string, out, errOut io.Writer) int {
	var c overloadConfig
	if code, ok := c.parse(args, errOut); !ok {
		return code
	}
	debug.SetGCPercent(400)
	l := &load{config: c.chat, deploy: newDeployment(c.chat.url, c.chat.key, progress.New(errOut))}
	ctx, stop := l.withInterrupts(context.Background(), l.sayInterrupted)
	defer stop()
	r, err := l.measureOverload(ctx, &c)
	code := report(out, errOut, r, err, c.json, func() { r.print(out) })
	if err == nil && !r.Passed {
		code = 1
	}
	return code
}

// measureOverload runs the three phases, and checks all messages.
func (l *load) measureOverload(ctx context.Context, c *overloadConfig) (*overloadResult, error) {
	if err := l.prepareAll(ctx); err != nil {
		return nil, err
	}
	l.startReading(ctx)
	defer l.disconnectAll()
	began, r := time.Now(), &overloadResult{}
	l.deploy.progress("%d connections; sending as fast as the server answers for %v", len(l.clients), c.peak)
	r.Peak = l.measurePeak(ctx, c)
	if r.Peak.Useful < 1 {
		return nil, errors.Join(l.failure(), errors.New("the server acknowledged hardly anything; there is no peak to compare with"))
	}
	l.deploy.progress("sending %.0f a second, %g times the peak, for %v", c.factor*r.Peak.Useful, c.factor, c.over)
	r.Over, _ = l.offer(ctx, c, c.factor*r.Peak.Useful, c.over)
	l.deploy.progress("sending %.0f a second, %g times the peak, for %v", c.afterFactor*r.Peak.Useful, c.afterFactor, c.after)
	var steps []overloadPhase
	r.After, steps = l.offer(ctx, c, c.afterFactor*r.Peak.Useful, c.after)
	r.compare(steps)
	acked, delivered := l.acked(), l.delivered()
	l.settle(ctx)
	r.Checked = l.result(time.Since(began), acked, delivered)
	if err := l.failure(); err != nil {
		return r, err
	}
	r.Passed = r.Checked.passed() && r.DuringRatio >= targetDuring && r.AfterRatio >= targetAfter
	return r, nil
}

// compare computes the ratios. steps are those of the last phase.
func (r *overloadResult) compare(steps []overloadPhase) {
	r.DuringRatio = r.Over.Useful / r.Peak.Useful
	r.RecoveredAfter, r.AfterRatio = -1, 0
	passed, offered, useful := 0.0, 0.0, 0.0
	for _, s := range steps {
		if r.RecoveredAfter < 0 && s.Useful >= targetAfter*s.Offered {
			r.RecoveredAfter = passed
		}
		passed += s.Seconds
		if r.RecoveredAfter >= 0 {
			offered += s.Offered * s.Seconds
			useful += s.Useful * s.Seconds
		}
	}
	if offered > 0 {
		r.AfterRatio = useful / offered
	}
}

// senders are the clients that write.
func (l *load) senders() (list []*client) {
	for _, c := range l.clients {
		if c.to != nil {
			list = append(list, c)
		}
	}
	return list
}

// measurePeak measures how much the server does if each sender has a window of messages in flight.
func (l *load) measurePeak(ctx context.Context, c *overloadConfig) overloadPhase {
	for _, s := range l.senders() {
		s.writes.Lock()
		s.send(c.chat.window, time.Time{})
		s.writes.Unlock()
	}
	_ = backoff.Sleep(ctx, c.peak/5)
	m := l.startPhase(c.within)
	_ = backoff.Sleep(ctx, c.peak-c.peak/5)
	p := m.end(0)
	p.Offered = p.Acked
	for _, s := range l.senders() {
		s.writes.Lock()
		s.stopped = true // from now on a receipt causes no further message
		s.writes.Unlock()
	}
	return p
}

// offer sends at a rate, and returns what was measured, in all and in steps. A user whose messages wait already does not write more.
func (l *load) offer(ctx context.Context, c *overloadConfig, rate float64, d time.Duration) (all overloadPhase, steps []overloadPhase) {
	senders := l.senders()
	whole, step := l.startPhase(c.within), l.startPhase(c.within)
	start, offered, stepOffered, next := time.Now(), 0, 0, 0
	for ctx.Err() == nil && l.failure() == nil && time.Since(start) < d {
		now := time.Now()
		n := int(min(now.Sub(start), d).Seconds()*rate) - offered
		for each := max(1, (n+len(senders)-1)/len(senders)); n > 0; next++ {
			k := min(each, n)
			n, offered, stepOffered = n-k, offered+k, stepOffered+k
			s := senders[next%len(senders)]
			s.writes.Lock()
			s.send(min(k, max(0, c.backlog-int(s.next-s.ackedTo))), start.Add(time.Duration(float64(offered-k)/rate*float64(time.Second))))
			s.writes.Unlock()
		}
		if now.Sub(step.began) >= recoverStep {
			steps = append(steps, step.end(stepOffered))
			step, stepOffered = l.startPhase(c.within), 0
		}
		_ = backoff.Sleep(ctx, offerEvery) // a frame then has several messages of a sender at a high rate
	}
	all = whole.end(offered)
	if ctx.Err() == nil && all.Offered < minOffered*rate {
		l.fail(fmt.Errorf("the load generator offered only %.0f of %.0f messages a second; give it more processors", all.Offered, rate))
	}
	return all, steps
}

// phaseMeter measures what is acknowledged in a phase.
type phaseMeter struct {
	load   *load
	within time.Duration
	began  time.Time
	acks   histogram
	resent uint64
}

func (l *load) startPhase(within time.Duration) *phaseMeter {
	m := &phaseMeter{load: l, within: within, began: time.Now()}
	m.acks, m.resent = l.acknowledged()
	return m
}

// acknowledged returns the times of all acknowledgements so far, and the messages that were sent again.
func (l *load) acknowledged() (acks histogram, resent uint64) {
	for _, c := range l.senders() {
		c.writes.Lock()
		acks.merge(&c.ack)
		resent += c.resent
		c.writes.Unlock()
	}
	return acks, resent
}

// end returns what was measured while a number of messages was offered.
func (m *phaseMeter) end(offered int) overloadPhase {
	acks, resent := m.load.acknowledged()
	useful, last := uint64(0), bucketOf(uint64(m.within.Microseconds()))
	acks.count -= m.acks.count
	for i := range acks.buckets {
		acks.buckets[i] -= m.acks.buckets[i]
		if i <= last {
			useful += uint64(acks.buckets[i])
		}
	}
	took := time.Since(m.began).Seconds()
	return overloadPhase{Seconds: took, Offered: float64(offered) / took, Useful: float64(useful) / took, Acked: float64(acks.count) / took, AckP50: acks.quantile(0.5), AckP99: acks.quantile(0.99), Resent: resent - m.resent}
}
