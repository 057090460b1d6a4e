//go:build cluster

package idservice

import (
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/platform/idgen/idcheck"
)

// serve runs a Redis server without persistence until kill is called.
func serve(t *testing.T, address string) (kill func()) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("install redis-server: ", err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(path, "--bind", host, "--port", port, "--save", "", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			server.Process.Kill() //nolint:errcheck // it may have ended
			server.Wait()         //nolint:errcheck // it was killed
		}
	}
	t.Cleanup(kill)
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	eventually.True(t, "the server answers", func() bool { return client.Ping(t.Context()).Err() == nil })
	return kill
}

// A real server counts without a hole. After it was killed and lost its data, numbers continue above those that were issued.
func TestRedisServer(t *testing.T) {
	port, err := loopback.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	db, tag := redisTag(t, Tag{Step: 100})
	var nodes []*Redis
	for range 2 {
		r, err := NewRedis(t.Context(), CounterDeps{DB: db, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, "redis://"+address+"/0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.server.Close() })
		nodes = append(nodes, r)
	}
	seen := idcheck.Set[uint64]{}
	last := uint64(0)
	for round := range 3 {
		kill := serve(t, address)
		for i := range 200 {
			dst := make([]uint64, 1+i%7)
			if err := nodes[i%2].Fill(t.Context(), tag, dst); err != nil {
				t.Fatal(err)
			}
			if i > 0 && dst[0] != last+1 || i == 0 && (dst[0] <= last || dst[0] > last+2*tag.Step) {
				t.Errorf("round %d: %d follows %d", round, dst[0], last)
			}
			if err := seen.Add(dst...); err != nil {
				t.Fatal(err)
			}
			last = dst[len(dst)-1]
		}
		kill()
	}
	if err := nodes[0].Fill(t.Context(), tag, make([]uint64, 1)); err == nil {
		t.Error("a number without a server")
	}

	serve(t, address) // 2^53-1 is counted exactly
	if err := nodes[0].Fill(t.Context(), tag, make([]uint64, 1)); err != nil {
		t.Fatal(err)
	}
	if err := nodes[0].server.enter(t.Context(), tag.Name, incarnationOf(t, nodes[0], tag), maxRedisNumber-2); err != nil {
		t.Fatal(err)
	}
	dst := make([]uint64, 2)
	if err := nodes[0].Fill(t.Context(), tag, dst); err != nil || dst[1] != maxRedisNumber {
		t.Errorf("ids %v, want the last one at the maximum; error %v", dst, err)
	}
	if err := nodes[0].Fill(t.Context(), tag, dst[:1]); err == nil {
		t.Error("a number above the largest")
	}
}

func incarnationOf(t *testing.T, r *Redis, tag Tag) string {
	t.Helper()
	incarnation, _, err := r.server.count(t.Context(), tag.Name, 1, tag.Maximum)
	if err != nil {
		t.Fatal(err)
	}
	return incarnation
}
