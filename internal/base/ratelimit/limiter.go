// Package ratelimit bounds the rate of operations: token buckets by key, in bounded memory, and the table of the limits of
// clients.
//
// A bucket that is not full is never dropped, so that a flood of keys does not lift a limit. All methods are safe for concurrent
// use.
package ratelimit

import (
	"fmt"
	"hash/maphash"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"golang.org/x/time/rate"
)

// Rate of a bucket: Count tokens are added in each Per, up to Burst. The zero value is no limit.
type Rate struct {
	Count, Burst int
	Per          time.Duration
}

var (
	units      = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}
	rateSyntax = regexp.MustCompile(`^([1-9][0-9]{0,8})/([smh])(?: burst ([1-9][0-9]{0,8}))?$`)
)

// Parse reads a rate, such as "20/s", "100/h burst 500" or "none". Without a burst it is the count.
func Parse(text string) (Rate, error) {
	if text == "none" {
		return Rate{}, nil
	}
	m := rateSyntax.FindStringSubmatch(text)
	if m == nil {
		return Rate{}, fmt.Errorf("%q is not a rate; write 20/s, 600/m, 100/h burst 500, or none", text)
	}
	count, err := strconv.Atoi(m[1])
	if err != nil {
		return Rate{}, err
	}
	r := Rate{Count: count, Burst: count, Per: units[m[2]]}
	if m[3] != "" {
		if r.Burst, err = strconv.Atoi(m[3]); err != nil {
			return Rate{}, err
		}
	}
	return r, nil
}

const (
	shards = 16
	// keysPerShard bounds the buckets of a shard: some 100,000 in a limiter, of 200 bytes each.
	keysPerShard = 6250
	// sharedBucketSize is the rate, in keys, of the bucket that the keys beyond keysPerShard share.
	sharedBucketSize = 100
	// maxParts bounds the division of a limit among nodes: each node allows at least a maxParts-th part.
	maxParts = 4
)

// Limiter has a token bucket for each key.
type Limiter[K comparable] struct {
	rate   Rate
	clock  clock.Clock
	nodes  func() int // nil: the limit is not divided
	seed   maphash.Seed
	shards [shards]shard[K]
}

type shard[K comparable] struct {
	mu      sync.Mutex // guards the fields below
	buckets map[K]*bucket
	shared  *bucket   // of keys beyond keysPerShard; nil until it is needed
	swept   time.Time // when full buckets were dropped
}

type bucket struct {
	*rate.Limiter
	nodes int // among which the limit was divided
}

// New creates a limiter. If nodes is given, the limit is divided among so many nodes; each allows at least a quarter of it.
func New[K comparable](r Rate, c clock.Clock, nodes func() int) *Limiter[K] {
	l := &Limiter[K]{rate: r, clock: c, nodes: nodes, seed: maphash.MakeSeed()}
	for i := range l.shards {
		l.shards[i].buckets = map[K]*bucket{}
		l.shards[i].swept = c.Now()
	}
	return l
}

// Allow takes n tokens of a key if they are available. Otherwise it takes none, and returns how long to wait for them. A request for more than
// the burst takes a full bucket.
func (l *Limiter[K]) Allow(key K, n int) (wait time.Duration) {
	return l.withBucket(key, func(b *bucket, now time.Time) time.Duration {
		n := min(n, b.Burst())
		if b.AllowN(now, n) {
			return 0
		}
		return l.waitFor(b, now, n)
	})
}

// Charge takes n tokens of a key even if the bucket goes into debt, and returns how long the debt lasts.
func (l *Limiter[K]) Charge(key K, n int) (wait time.Duration) {
	return l.withBucket(key, func(b *bucket, now time.Time) time.Duration {
		if n == 0 {
			return l.waitFor(b, now, 0)
		}
		var wait time.Duration
		for n > 0 { // the bucket reserves at most a burst at once
			k := min(n, b.Burst())
			wait = b.ReserveN(now, k).DelayFrom(now)
			n -= k
		}
		return wait
	})
}

// Refund returns the tokens that Allow took.
func (l *Limiter[K]) Refund(key K, n int) {
	l.withBucket(key, func(b *bucket, now time.Time) time.Duration {
		b.AllowN(now, -min(n, b.Burst())) // the excess above the burst is dropped at the next use
		return 0
	})
}

// waitFor returns the time until there are n tokens.
func (l *Limiter[K]) waitFor(b *bucket, now time.Time, n int) time.Duration {
	lacks := float64(n) - b.TokensAt(now)
	if lacks <= 0 {
		return 0
	}
	return max(time.Duration(lacks/float64(b.Limit())*float64(time.Second)), time.Millisecond)
}

// withBucket calls do with the bucket of a key.
func (l *Limiter[K]) withBucket(key K, do func(b *bucket, now time.Time) time.Duration) time.Duration {
	if l.rate.Count == 0 {
		return 0
	}
	nodes := 1
	if l.nodes != nil {
		nodes = max(l.nodes(), 1)
	}
	now := l.clock.Now()
	s := &l.shards[maphash.Comparable(l.seed, key)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.swept) >= l.sweepEvery() || now.Before(s.swept) {
		s.sweep(now)
	}
	b := s.buckets[key]
	if b == nil {
		if len(s.buckets) >= keysPerShard && now.Sub(s.swept) >= time.Second {
			s.sweep(now)
		}
		if len(s.buckets) < keysPerShard {
			b = l.newBucket(nodes, 1)
			s.buckets[key] = b
		} else {
			if s.shared == nil {
				s.shared = l.newBucket(nodes, sharedBucketSize)
			}
			return do(s.shared, now)
		}
	}
	if b.nodes != nodes {
		limit, burst := l.share(nodes, 1)
		b.SetLimitAt(now, limit)
		b.SetBurstAt(now, burst)
		b.nodes = nodes
	}
	return do(b, now)
}

// sweepEvery is the interval at which full buckets are dropped: a new bucket is full as well.
func (l *Limiter[K]) sweepEvery() time.Duration {
	fills := time.Duration(float64(l.rate.Burst) / float64(l.rate.Count) * float64(l.rate.Per))
	return min(max(fills, time.Second), time.Minute)
}

// sweep drops full buckets. The caller holds mu.
func (s *shard[K]) sweep(now time.Time) {
	s.swept = now
	for key, b := range s.buckets {
		if b.TokensAt(now) >= float64(b.Burst()) {
			delete(s.buckets, key)
		}
	}
}

func (l *Limiter[K]) newBucket(nodes, keys int) *bucket {
	limit, burst := l.share(nodes, keys)
	return &bucket{rate.NewLimiter(limit, burst), nodes}
}

// share is this node's part of the limit of a number of keys.
func (l *Limiter[K]) share(nodes, keys int) (rate.Limit, int) {
	parts := min(nodes, maxParts)
	burst := (l.rate.Burst + parts - 1) / parts
	return rate.Limit(float64(l.rate.Count) / l.rate.Per.Seconds() / float64(parts) * float64(keys)), burst * keys
}

// Keys returns how many keys have a bucket: their buckets are not full, or were not a while ago.
func (l *Limiter[K]) Keys() (n int) {
	if l == nil {
		return 0
	}
	for i := range l.shards {
		l.shards[i].mu.Lock()
		n += len(l.shards[i].buckets)
		l.shards[i].mu.Unlock()
	}
	return n
}
