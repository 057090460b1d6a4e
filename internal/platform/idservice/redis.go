package idservice

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// Redis issues increments of a Redis or Valkey server. Such a server may lose its last second in a crash, or its last writes in a failover,
// and would then repeat numbers. Therefore the database stores a bound for each tag, which no number exceeds, and the incarnation of the
// server that counts:
//
//   - A number is issued only if it is not above the bound that the database has for its incarnation. Bounds are raised in steps.
//   - An incarnation that has not counted a tag yet, because the server restarted, another one took over, or its data are gone, is entered
//     in the database first. Its counter then continues above the bound. Raising the bound for an earlier incarnation fails from then on, so
//     that two servers that both take themselves for the primary never give the same number.
//
// The scripts read the incarnation in the same step as they count. All methods may be called from many goroutines.
type Redis struct {
	store  counters
	server redisCounter // nil: none is configured

	mu     sync.Mutex // guards bounds
	bounds map[string]redisBound
}

// redisCounter is the server that currently answers.
type redisCounter interface {
	// count counts n numbers of a tag, up to a maximum. It returns the incarnation and the last number: 0 if the incarnation has to be
	// entered first, -1 if there are not as many numbers left.
	count(ctx context.Context, tag string, n int, maximum uint64) (incarnation string, last int64, err error)
	// enter makes an incarnation continue above a bound. It does nothing if the server has another one by now.
	enter(ctx context.Context, tag, incarnation string, bound uint64) error
	Close() error
}

// redisBound is the highest number of a tag that may be issued, and the incarnation for which it holds.
type redisBound struct {
	incarnation string
	upTo        uint64
}

const (
	// maxRedisNumber is the largest that a script counts exactly.
	maxRedisNumber = 1<<53 - 1
	redisTimeout   = 2 * time.Second
	// redisAttempts bounds how often a call is retried because the incarnation changed meanwhile.
	redisAttempts = 5
)

// checkRedis reports what is wrong with an address. It does not repeat the address, which may have a password.
func checkRedis(address string) error {
	if u, err := url.Parse(address); err != nil || u.Hostname() == "" || u.Scheme != "redis" && u.Scheme != "rediss" {
		return errors.New("ids.redis is an address as redis://host:6379/0, or rediss://user:password@host:6379/0 for TLS")
	}
	if _, err := redis.ParseURL(address); err != nil {
		return errors.New("ids.redis has an invalid database number or an unknown option")
	}
	return nil
}

// NewRedis creates the table if it is missing. It opens no connection. Without an address, requests of the scheme fail.
func NewRedis(ctx context.Context, deps CounterDeps, address string) (*Redis, error) {
	store, err := openCounters(ctx, deps.DB)
	r := &Redis{store: store, bounds: map[string]redisBound{}}
	if err != nil || address == "" {
		return r, err
	}
	if err := checkRedis(address); err != nil {
		return nil, err
	}
	options, err := redis.ParseURL(address)
	if err != nil {
		return nil, err
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = redisTimeout, redisTimeout, redisTimeout
	options.DialerRetries, options.MaxRetries = 1, 1 // callers try again
	silence()
	r.server = redisServer{redis.NewClient(options)}
	return r, nil
}

// Run closes the connections when ctx ends.
func (r *Redis) Run(ctx context.Context) error {
	<-ctx.Done()
	if r.server == nil {
		return nil
	}
	return r.server.Close()
}

// Fill returns the next numbers of a tag.
func (r *Redis) Fill(ctx context.Context, t Tag, dst []uint64) error {
	if r.server == nil {
		return errs.New(errs.Unavailable, "no_redis", "this node has no Redis server for increments; its operator names one in ids.redis")
	}
	t, err := t.complete()
	if err != nil {
		return err
	}
	for range redisAttempts {
		incarnation, last, err := r.server.count(ctx, t.Name, len(dst), t.Maximum)
		switch {
		case err != nil:
			return errRedis(err)
		case last < 0:
			return errUsedUp("the tag " + t.Name + " has fewer numbers left up to its maximum, " + decimal(t.Maximum) + "; raise it, or create another tag")
		case last > 0:
			if ok, err := r.mayIssue(ctx, t, incarnation, uint64(last)); err != nil {
				return err
			} else if ok {
				for i := range dst {
					dst[i] = uint64(last) - uint64(len(dst)-1-i)
				}
				return nil
			}
		}
		if err := r.enter(ctx, t.Name, incarnation); err != nil {
			return err
		}
	}
	return errRedis(errors.New("the server's incarnation kept changing"))
}

// mayIssue reports whether numbers up to last may be issued, and raises the bound if necessary.
func (r *Redis) mayIssue(ctx context.Context, t Tag, incarnation string, last uint64) (bool, error) {
	r.mu.Lock()
	bound := r.bounds[t.Name]
	r.mu.Unlock()
	if bound.incarnation == incarnation && last <= bound.upTo {
		return true, nil
	}
	upTo := min(last+t.Step, maxRedisNumber)
	current, err := r.store.raiseRedisBound(ctx, t.Name, incarnation, upTo)
	if err != nil || !current {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.bounds[t.Name]; known.incarnation != incarnation || known.upTo < upTo {
		r.bounds[t.Name] = redisBound{incarnation, upTo}
	}
	return true, nil
}

// enter makes an incarnation the one that counts a tag, above all numbers that were issued.
func (r *Redis) enter(ctx context.Context, tag, incarnation string) error {
	bound, err := r.store.enterRedis(ctx, tag, incarnation)
	if err != nil {
		return err
	}
	if err := r.server.enter(ctx, tag, incarnation, bound); err != nil {
		return errRedis(err)
	}
	return nil
}

func errRedis(err error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "ids_unavailable", Message: "the Redis server of increments does not answer; try again", Retry: time.Second, Cause: err}
}
