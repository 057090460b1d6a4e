package telemetry

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// bounds of the latency histograms, in seconds.
var bounds = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

// shards of a histogram: processors that observe at once do not share cache lines most of the time.
const shards = 8

// ErrUnimplemented counts a call that does not exist. Its code is of no kind of errs.
var ErrUnimplemented = errors.New("there is no such call")

// codes of answers: ok, the kinds of errors, and unimplemented.
const (
	codeUnimplemented = int(errs.Unavailable) + 2
	codeCount         = codeUnimplemented + 1
)

// otherCall stands for unknown names, so that clients cannot create metrics.
const otherCall = "other"

// Calls has the latency and the outcomes of each call by name. All methods are safe for concurrent use; a nil *Calls counts
// nothing.
type Calls struct {
	latency, results *prometheus.Desc

	mu     sync.RWMutex // guards of
	byName map[string]*Call
}

// NewCalls creates the metrics rialto_call_seconds and rialto_calls_total, of calls with these names; Add adds more. Only the given
// names have metrics before their first call.
func NewCalls(names ...string) *Calls {
	c := &Calls{byName: map[string]*Call{},
		latency: prometheus.NewDesc("rialto_call_seconds", "Time from a call's arrival to its answer; send: from the message's arrival to its acknowledgement.", []string{"call"}, nil),
		results: prometheus.NewDesc("rialto_calls_total", "Calls answered, by the code of the answer.", []string{"call", "code"}, nil)}
	for _, name := range append(names, otherCall) {
		c.Add(name).shown = true
	}
	return c
}

// Add creates the metrics of a call.
func (c *Calls) Add(name string) *Call {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName[name] == nil {
		c.byName[name] = &Call{}
	}
	return c.byName[name]
}

// Named returns the metrics of a call; those of "other" for an unknown name.
func (c *Calls) Named(name string) *Call {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if found := c.byName[name]; found != nil {
		return found
	}
	return c.byName[otherCall]
}

// Call has the metrics of one call.
type Call struct {
	shown  bool // also before the first call
	shards [shards]shard
	codes  [codeCount]atomic.Uint64
	// exemplars are the latest traced call of each bucket.
	exemplars [len(bounds) + 1]atomic.Pointer[prometheus.Exemplar]
}

type shard struct {
	buckets [len(bounds) + 1]atomic.Uint64
	nanos   atomic.Int64
	_       [64]byte // keeps the next shard off this cache line
}

// Done counts an answer: its latency, and the error or nil. Concurrent callers should pass different values of at.
func (c *Call) Done(at uint32, took time.Duration, err error) {
	if c == nil {
		return
	}
	code := 0
	switch {
	case errors.Is(err, ErrUnimplemented):
		code = codeUnimplemented
	case err != nil:
		code = 1 + int(errs.Of(err).Kind)
	}
	c.codes[code].Add(1)
	s := &c.shards[at%shards]
	s.buckets[bucketOf(took)].Add(1)
	s.nanos.Add(int64(took))
}

func bucketOf(took time.Duration) int {
	seconds, i := took.Seconds(), 0
	for i < len(bounds) && seconds > bounds[i] {
		i++
	}
	return i
}

// Exemplar names the trace of a call that Done has counted, by its id in hexadecimal digits; "" if it was not traced. The latest of each bucket is in
// the metrics, where they are read as OpenMetrics.
func (c *Call) Exemplar(took time.Duration, trace string) {
	if c != nil && trace != "" {
		c.exemplars[bucketOf(took)].Store(&prometheus.Exemplar{Value: took.Seconds(), Labels: prometheus.Labels{"trace_id": trace}, Timestamp: time.Now()})
	}
}

// withExemplars adds the exemplars to the histogram of the call.
func (c *Call) withExemplars(histogram prometheus.Metric) prometheus.Metric {
	var list []prometheus.Exemplar
	for i := range c.exemplars {
		if e := c.exemplars[i].Load(); e != nil {
			list = append(list, *e)
		}
	}
	if len(list) == 0 {
		return histogram
	}
	return prometheus.MustNewMetricWithExemplars(histogram, list...)
}

// Describe implements prometheus.Collector.
func (c *Calls) Describe(out chan<- *prometheus.Desc) { out <- c.latency; out <- c.results }

// Collect implements prometheus.Collector.
func (c *Calls) Collect(out chan<- prometheus.Metric) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for name, call := range c.byName {
		count, sum, buckets := call.total()
		if count == 0 && !call.shown {
			continue
		}
		out <- call.withExemplars(prometheus.MustNewConstHistogram(c.latency, count, sum, buckets, name))
		for code := range call.codes {
			if n := call.codes[code].Load(); n > 0 || code == 0 {
				out <- prometheus.MustNewConstMetric(c.results, prometheus.CounterValue, float64(n), name, codeName(code))
			}
		}
	}
}

func codeName(code int) string {
	switch code {
	case 0:
		return "ok"
	case codeUnimplemented:
		return "unimplemented"
	}
	return errs.Kind(code - 1).String()
}

// total sums the shards; the buckets are cumulative.
func (c *Call) total() (count uint64, sum float64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, len(bounds))
	for i := range len(bounds) + 1 {
		for s := range c.shards {
			count += c.shards[s].buckets[i].Load()
		}
		if i < len(bounds) {
			buckets[bounds[i]] = count
		}
	}
	for s := range c.shards {
		sum += time.Duration(c.shards[s].nanos.Load()).Seconds()
	}
	return count, sum, buckets
}
