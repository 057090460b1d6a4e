package idservice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/idgen/idcheck"
)

// fakeRedis is a Redis server that crashes, loses writes and returns as a test directs.
type fakeRedis struct {
	incarnation string
	keys        map[string]fakeKey
	away        bool
}

type fakeKey struct {
	incarnation string
	last        uint64
}

var errRedisAway = errors.New("connection refused")

func (f *fakeRedis) count(_ context.Context, tag string, n int, maximum uint64) (string, int64, error) {
	k := f.keys[tag]
	switch {
	case f.away:
		return "", 0, errRedisAway
	case k.incarnation != f.incarnation:
		return f.incarnation, 0, nil
	case k.last+uint64(n) > maximum:
		return f.incarnation, -1, nil
	}
	k.last += uint64(n)
	f.keys[tag] = k
	return f.incarnation, int64(k.last), nil
}

func (f *fakeRedis) enter(_ context.Context, tag, incarnation string, bound uint64) error {
	if f.away {
		return errRedisAway
	}
	if incarnation == f.incarnation {
		f.keys[tag] = fakeKey{incarnation, max(f.keys[tag].last, bound)}
	}
	return nil
}

func (f *fakeRedis) Close() error { return nil }

// copyOf is a server with the data of another one, with some of the last numbers lost, as a replica has them.
func copyOf(f *fakeRedis, name string, lost uint64) *fakeRedis {
	to := &fakeRedis{incarnation: name, keys: map[string]fakeKey{}}
	for tag, k := range f.keys {
		to.keys[tag] = fakeKey{k.incarnation, k.last - min(k.last, lost)}
	}
	return to
}

func redisOn(t *testing.T, db Records, server redisCounter) *Redis {
	t.Helper()
	r, err := NewRedis(t.Context(), CounterDeps{DB: db, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, "")
	if err != nil {
		t.Fatal(err)
	}
	r.server = server
	return r
}

// redisTag creates a tag of the scheme.
func redisTag(t *testing.T, tag Tag) (*sqldb.DB, Tag) {
	t.Helper()
	db, err := sqldb.Open(context.Background(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	tags, err := NewTags(t.Context(), CounterDeps{DB: db, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	tag.Name, tag.Scheme = "orders", SchemeRedis
	if tag, err = tags.PutTag(t.Context(), tag); err != nil {
		t.Fatal(err)
	}
	return db, tag
}

// The numbers of one server are 1, 2, 3 … without a hole, for all nodes together.
func TestRedisIncrements(t *testing.T) {
	db, tag := redisTag(t, Tag{Step: 50})
	server := &fakeRedis{incarnation: "a", keys: map[string]fakeKey{}}
	nodes := []*Redis{redisOn(t, db, server), redisOn(t, db, server)}
	want := uint64(1)
	for i := range 300 {
		dst := make([]uint64, 1+i%3)
		if err := nodes[i%2].Fill(t.Context(), tag, dst); err != nil {
			t.Fatal(err)
		}
		for _, n := range dst {
			if n != want {
				t.Fatalf("got %d, want %d", n, want)
			}
			want++
		}
	}
}

// Whatever data the server loses, and even if several servers act as the primary, no number is issued twice.
func TestNoNumberIsRepeatedAfterRedisLosesData(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			db, tag := redisTag(t, Tag{Step: 20})
			random := rand.New(rand.NewPCG(seed, 1))
			servers := []*fakeRedis{{incarnation: "0", keys: map[string]fakeKey{}}}
			nodes := []*Redis{redisOn(t, db, servers[0]), redisOn(t, db, servers[0]), redisOn(t, db, servers[0])}
			seen := idcheck.Set[uint64]{}
			for range 150 {
				node := nodes[random.IntN(len(nodes))]
				switch random.IntN(8) {
				case 0: // a restart, or a failover: the last numbers may be lost, and the old server may continue
					servers = append(servers, copyOf(servers[random.IntN(len(servers))], fmt.Sprint(len(servers)), random.Uint64N(60)))
				case 1: // a node reaches another server, which may be an old one
					node.server = servers[random.IntN(len(servers))]
				case 2: // somebody deletes the data of a running server
					clear(servers[random.IntN(len(servers))].keys)
				default:
					dst := make([]uint64, 1+random.IntN(30))
					if err := node.Fill(t.Context(), tag, dst); err != nil {
						t.Fatal(err)
					}
					if err := seen.Add(dst...); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

// Requests that cannot be served fail with a reason, and nothing is issued.
func TestRedisRefusals(t *testing.T) {
	db, tag := redisTag(t, Tag{Maximum: 10})
	server := &fakeRedis{incarnation: "a", keys: map[string]fakeKey{}}
	r := redisOn(t, db, server)
	fill := func(n int, want string) {
		t.Helper()
		dst := make([]uint64, n)
		if err := r.Fill(t.Context(), tag, dst); (err == nil) != (want == "") || err != nil && errs.Of(err).Reason != want {
			t.Errorf("%d numbers: got %v, want %q", n, err, want)
		}
	}
	fill(8, "")
	fill(3, "ids_used_up")
	fill(2, "")
	fill(1, "ids_used_up")
	server.away = true
	fill(1, "ids_unavailable")
	r.server = nil
	fill(1, "no_redis")
	for address, ok := range map[string]bool{"redis://127.0.0.1:6379/0": true, "rediss://user:secret@host:6380/2": true, "127.0.0.1:6379": false, "http://host": false, "redis://host:6379/x": false} {
		if err := (Config{Redis: address}).Check(); (err == nil) != ok {
			t.Errorf("%s: error %v, want success %v", address, err, ok)
		}
	}
}
