package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Shared is a Redis or Valkey server that the nodes of a deployment share. It has copies only, and may lose them. All methods are safe for
// concurrent use.
type Shared struct {
	client  *redis.Client
	prefix  string
	retryAt atomic.Int64 // after a failure, the server is not asked before, in ns since start
	start   time.Time
}

// SharedConfig is the configuration of a Shared. The zero value of each is the documented default.
type SharedConfig struct {
	// Redis is the Redis or Valkey server that all nodes share for copies of rows, as redis://host:6379/0, or rediss:// for TLS. Default none:
	// copies are in the memory of each node only.
	Redis string `yaml:"redis"`
	// Prefix is put before all keys at the server; default rialto. Deployments that share a database of a server need different ones.
	Prefix string `yaml:"prefix"`
}

const (
	sharedTimeout = 250 * time.Millisecond
	// sharedPause is how long the server is not asked after a failure.
	sharedPause = 500 * time.Millisecond
	// leaseTime is how long a node may take to load a key before another one does.
	leaseTime = 3 * time.Second
)

// Check returns what is wrong with a configuration. It does not repeat the address, which may have a password.
func (c SharedConfig) Check() error {
	if c.Redis == "" {
		return nil
	}
	if u, err := url.Parse(c.Redis); err != nil || u.Hostname() == "" || u.Scheme != "redis" && u.Scheme != "rediss" {
		return errors.New("cache.redis is an address as redis://host:6379/0, or rediss://user:password@host:6379/0 for TLS")
	}
	if _, err := redis.ParseURL(c.Redis); err != nil {
		return errors.New("cache.redis has an invalid database number or an unknown option")
	}
	if strings.ContainsAny(c.Prefix, " \t\r\n:") || len(c.Prefix) > 64 {
		return fmt.Errorf("cache.prefix is %q; it has at most 64 characters, no colon and no space", c.Prefix)
	}
	return nil
}

// OpenShared returns the server of a configuration; nil if it names none. It opens no connection.
func OpenShared(config SharedConfig) (*Shared, error) {
	if err := config.Check(); err != nil || config.Redis == "" {
		return nil, err
	}
	options, err := redis.ParseURL(config.Redis)
	if err != nil {
		return nil, err
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = sharedTimeout, sharedTimeout, sharedTimeout
	options.DialerRetries, options.MaxRetries = 1, -1 // the database is asked instead
	silence()
	if config.Prefix == "" {
		config.Prefix = "rialto"
	}
	return &Shared{client: redis.NewClient(options), prefix: config.Prefix, start: time.Now()}, nil
}

// silence keeps the client from writing to the standard error. The errors that it returns say the same.
var silence = sync.OnceFunc(func() { redis.SetLogger(noLog{}) })

type noLog struct{}

func (noLog) Printf(context.Context, string, ...any) {}

// Close closes the connections.
func (s *Shared) Close() error { return s.client.Close() }

var (
	errPaused = errors.New("the shared cache did not answer a moment ago")
	errAnswer = errors.New("the script's answer cannot be read")
)

// ask calls the server, unless it did not answer a moment ago.
func (s *Shared) ask(call func() error) error {
	if int64(time.Since(s.start)) < s.retryAt.Load() {
		return errPaused
	}
	err := call()
	if err != nil {
		s.retryAt.Store(int64(time.Since(s.start) + sharedPause))
	}
	return err
}

// Kinds of keys at the server.
const (
	copyKey  = "v" // a copy (docs/formats/cache.md)
	leaseKey = "l" // the token of the load in progress
	markKey  = "m" // the key was invalidated a short time ago
)

func (s *Shared) key(cache, kind string, key uint64) string {
	return s.prefix + ":cache:" + cache + ":" + kind + ":" + strconv.FormatUint(key, 10)
}

func (s *Shared) generationKey(cache string) string {
	return s.prefix + ":cache:" + cache + ":generation"
}

// get returns the copies of keys in their order, nil for those that it does not have, and the generation. Copies of another one are invalid.
func (s *Shared) get(ctx context.Context, cache string, keys []uint64) (generation uint64, copies [][]byte, err error) {
	names := make([]string, 0, len(keys)+1)
	names = append(names, s.generationKey(cache))
	for _, key := range keys {
		names = append(names, s.key(cache, copyKey, key))
	}
	err = s.ask(func() error {
		list, err := s.client.MGet(ctx, names...).Result()
		if err != nil {
			return err
		}
		copies = make([][]byte, len(keys))
		for i, item := range list {
			text, ok := item.(string)
			switch {
			case !ok:
			case i > 0:
				copies[i-1] = []byte(text)
			default:
				if generation, err = strconv.ParseUint(text, 10, 62); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return generation, copies, err
}

// grant is the answer to a request for a lease.
type grant struct {
	token   string // "": another node has the lease
	primary bool   // the key was invalidated a short time ago
	copy    []byte // the copy of that moment: another node may have filled it since it was asked for; nil if there is none
}

var leaseScript = redis.NewScript(`if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return {-1, ''} end
return {redis.call('EXISTS', KEYS[2]), redis.call('GET', KEYS[3]) or ''}`)

// lease asks for the leases of keys.
func (s *Shared) lease(ctx context.Context, cache string, keys []uint64) (grants []grant, err error) {
	grants = make([]grant, len(keys))
	tokens, answers := make([]string, len(keys)), make([]*redis.Cmd, len(keys))
	err = s.ask(func() error {
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				tokens[i] = rand.Text()
				answers[i] = leaseScript.Eval(ctx, p, []string{s.key(cache, leaseKey, key), s.key(cache, markKey, key), s.key(cache, copyKey, key)}, tokens[i], leaseTime.Milliseconds())
			}
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, answer := range answers {
		parts, err := answer.Slice()
		if err != nil {
			return nil, err
		}
		if len(parts) != 2 {
			return nil, errAnswer
		}
		marked, isNumber := parts[0].(int64)
		kept, isText := parts[1].(string)
		if !isNumber || !isText {
			return nil, errAnswer
		}
		if marked >= 0 {
			grants[i] = grant{tokens[i], marked > 0, []byte(kept)}
		}
	}
	return grants, nil
}

// fill is a copy to keep, for some time; without a body only the lease is returned.
type fill struct {
	key   uint64
	token string
	stamp uint64
	body  []byte
	forMs int64
}

var fillScript = redis.NewScript(`if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
if ARGV[2] == '' or (redis.call('GET', KEYS[3]) or '0') ~= ARGV[4] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`)

// fill keeps copies whose leases are still the present ones, and ends these leases.
func (s *Shared) fill(ctx context.Context, cache string, fills []fill) error {
	if len(fills) == 0 {
		return nil
	}
	return s.ask(func() error {
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, f := range fills {
				fillScript.Eval(ctx, p, []string{s.key(cache, copyKey, f.key), s.key(cache, leaseKey, f.key), s.generationKey(cache)}, f.token, f.body, f.forMs, strconv.FormatUint(f.stamp, 10))
			}
			return nil
		})
		return err
	})
}

// invalidate forgets the copies and leases of keys, or of all keys, in one step.
func (s *Shared) invalidate(ctx context.Context, cache string, keys []uint64, all bool) error {
	return s.ask(func() error {
		_, err := s.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			if all {
				p.Incr(ctx, s.generationKey(cache))
			}
			for _, key := range keys {
				p.Del(ctx, s.key(cache, copyKey, key), s.key(cache, leaseKey, key))
				p.Set(ctx, s.key(cache, markKey, key), "1", primaryTime)
			}
			return nil
		})
		return err
	})
}
