// Package overload sheds load, so that a node stays useful while it is asked for more than it can do. It refuses the excess quickly, the least
// important work first, and says when to try again.
//
// Calls are divided into classes, each with its own workers (Calls, Limiter), so that trouble in one class does not stop another. The number of
// concurrent calls of a class is adapted to how long goroutines wait for a processor. Messages are too many for a worker each: a
// Gate refuses some of them while a standing queue has formed at the log. decisions/0119 has the reasons.
package overload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
)

// Class of calls that share workers.
type Class uint8

// The classes.
const (
	Chat     Class = iota // conversations, users, friends, and what sockets ask
	Login                 // calls without credentials that hash no password
	Password              // calls that hash passwords, for which they wait
	Message               // calls that wait until a message is stored, and before it for webhooks
	Feed                  // posts, comments, likes, notifications, ranking
	Media                 // uploads and videos
	Search                // searches, and previews of links
	Server                // calls of business servers
	classCount
)

// String is the class's name in metrics.
func (c Class) String() string {
	return [classCount]string{"chat", "login", "password", "message", "feed", "media", "search", "server"}[c]
}

// classShares divide the workers of Config among the classes that need fewer.
var classShares = [classCount]int{Chat: 1, Login: 4, Password: 4, Message: 1, Feed: 1, Media: 4, Search: 8, Server: 1}

// Config of the protection against overload; the zero value is the documented default.
type Config struct {
	// CallWorkers bounds the concurrent calls of chat on a node. The same bound applies to calls that send messages, calls of the feed, and calls of business servers, each;
	// a quarter of it to logins, passwords and media; an eighth to searches. While work waits for processors, it is lowered, down to an eighth. 0 is 160 for each processor, at least 320.
	CallWorkers int `yaml:"call_workers"`
	// CallWait is how long a call waits for a worker, before it is refused; 0 is 500 ms.
	CallWait time.Duration `yaml:"call_wait"`
	// SendWait is how long messages may wait for the log; 0 is 250 ms. When all messages of the last 750 ms have waited for longer, the least important are refused.
	SendWait time.Duration `yaml:"send_wait"`
}

// Check reports invalid settings.
func (c Config) Check() error {
	switch {
	case c.CallWorkers != 0 && c.CallWorkers < 16:
		return errors.New("overload.call_workers is at least 16")
	case c.CallWait != 0 && (c.CallWait < 10*time.Millisecond || c.CallWait > 10*time.Second):
		return fmt.Errorf("overload.call_wait is 10ms to 10s, not %v", c.CallWait)
	case c.SendWait != 0 && (c.SendWait < 10*time.Millisecond || c.SendWait > 10*time.Second):
		return fmt.Errorf("overload.send_wait is 10ms to 10s, not %v", c.SendWait)
	}
	return nil
}

// WithDefaults returns the settings with the defaults in place of zeros.
func (c Config) WithDefaults() Config {
	if c.CallWorkers == 0 {
		c.CallWorkers = max(320, 160*runtime.GOMAXPROCS(0))
	}
	if c.CallWait == 0 {
		c.CallWait = 500 * time.Millisecond
	}
	if c.SendWait == 0 {
		c.SendWait = 250 * time.Millisecond
	}
	return c
}

const (
	// adaptEvery is the time between two adjustments of the limits.
	adaptEvery = 100 * time.Millisecond
	// While goroutines wait for a processor for longWait on average, limits fall; while they wait for less than shortWait, they rise.
	longWait, shortWait = 5 * time.Millisecond, 2500 * time.Microsecond
	fall, rise          = 0.8, 1.2
	// leastPart of the workers of a class remains in any case, an eighth.
	leastPart = 8
	minimum   = 8
	// A crowd that logs in comes again if it is refused, so it may wait: loginQueue calls, for loginPatience times as long as others. As many come from one
	// address as may (package inputlimit bounds the calls of an address). Of the 2,000 calls without credentials that may be under way, hashes of passwords have half.
	loginQueue, passwordQueue, loginPatience = 2000, 1000, 10
)

// Calls has the limiters of all classes.
type Calls struct {
	limiters      [classCount]*Limiter
	processorWait func() time.Duration // the average wait for a processor since the last call
}

// NewCalls creates limiters. of may be nil.
func NewCalls(config Config, of Organizations) *Calls {
	config = config.WithDefaults()
	c := &Calls{processorWait: schedulerWaits()}
	for class := range classCount {
		most := max(minimum, config.CallWorkers/classShares[class])
		c.limiters[class] = newLimiter(max(minimum, most/leastPart), most, config.CallWait)
		c.limiters[class].of = of
	}
	for class, queue := range map[Class]int{Login: loginQueue, Password: passwordQueue} {
		l := c.limiters[class]
		l.queueSize, l.queueShare, l.wait = queue, queue/shareOf, loginPatience*config.CallWait
	}
	return c
}

// Check refuses a call for which there is no capacity, before anything else is done for it. A call that it lets pass may still be refused.
func (c *Calls) Check(class Class, p Priority) error { return c.limiters[class].check(p) }

// Acquire waits until a call may work. The caller releases the permit after it.
func (c *Calls) Acquire(ctx context.Context, class Class, p Priority, by Caller) (Permit, error) {
	return c.limiters[class].acquire(ctx, p, by)
}

// Run adapts the limits until ctx ends.
func (c *Calls) Run(ctx context.Context) error {
	for backoff.Sleep(ctx, adaptEvery) == nil {
		c.adapt(c.processorWait())
	}
	return nil
}

// adapt changes the limits after goroutines waited for a processor for a time. Limits are at their most while nothing waits, so that a burst finds workers.
func (c *Calls) adapt(wait time.Duration) {
	for _, l := range c.limiters {
		limit, used, _ := l.state()
		switch {
		case wait >= longWait: // workers that nobody uses are no part of the cause
			l.setLimit(int(float64(min(limit, max(used, l.min))) * fall))
		case wait <= shortWait:
			l.setLimit(int(math.Ceil(float64(limit) * rise)))
		}
	}
}

// State of a class.
type State struct {
	// Limit of the calls at work, how many are, and how many wait.
	Limit, Working, Waiting int
	// OverShare is the number of calls that were refused because their caller had a fifth of the workers, and OverCrowds of those because a crowd had its share.
	OverShare  int64
	OverCrowds [crowdCount]int64
}

// State returns the state of a class.
func (c *Calls) State(class Class) (s State) {
	l := c.limiters[class]
	s.Limit, s.Working, s.Waiting = l.state()
	s.OverShare = l.overShare.Load()
	for i := range s.OverCrowds {
		s.OverCrowds[i] = l.overCrowds[i].Load()
	}
	return s
}

// Refused returns the number of calls of a class and priority that were refused because there was no capacity.
func (c *Calls) Refused(class Class, p Priority) int64 { return c.limiters[class].refused[p].Load() }

// Classes returns all classes.
func Classes() (all []Class) {
	for c := range classCount {
		all = append(all, c)
	}
	return all
}

// schedulerWaits returns a function that returns how long goroutines waited on average for a processor since its last call.
func schedulerWaits() func() time.Duration {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	var before []uint64
	return func() time.Duration {
		metrics.Read(sample)
		if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
			return 0
		}
		h := sample[0].Value.Float64Histogram()
		count, sum := 0.0, 0.0
		for i, n := range h.Counts {
			if i < len(before) {
				n -= before[i]
			}
			if at := h.Buckets[i]; n > 0 { // the lower end of the bucket
				count += float64(n)
				sum += float64(n) * max(at, 0)
			}
		}
		before = append(before[:0], h.Counts...)
		if count == 0 {
			return 0
		}
		return time.Duration(sum / count * float64(time.Second))
	}
}
