//go:build cluster

package cache_test

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/loopback"
	"github.com/rialto-im/rialto/internal/platform/cache"
)

// server is a Redis server without persistence.
type server struct {
	t       *testing.T
	address string
	process *exec.Cmd
	client  *redis.Client
}

func serve(t *testing.T) *server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("install redis-server: ", err)
	}
	port, err := loopback.FreePort()
	must(t, err)
	s := &server{t: t, address: fmt.Sprintf("127.0.0.1:%d", port)}
	s.process = exec.Command(path, "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--save", "", "--dir", t.TempDir())
	must(t, s.process.Start())
	t.Cleanup(s.kill)
	s.client = redis.NewClient(&redis.Options{Addr: s.address})
	t.Cleanup(func() { must(t, s.client.Close()) })
	eventually.True(t, "the server answers", func() bool { return s.client.Ping(t.Context()).Err() == nil })
	return s
}

func (s *server) kill() {
	_ = s.process.Process.Kill() // it may have ended
	_ = s.process.Wait()         // it was killed
}

func (s *server) signal(n syscall.Signal) {
	s.t.Helper()
	must(s.t, s.process.Process.Signal(n))
}

// open is a node's own connection.
func (s *server) open() *cache.Shared {
	s.t.Helper()
	shared, err := cache.OpenShared(cache.SharedConfig{Redis: "redis://" + s.address + "/0"})
	must(s.t, err)
	s.t.Cleanup(func() { must(s.t, shared.Close()) })
	return shared
}

// answers waits until all nodes use the server.
func (f *fixture) answers(keys ...post) {
	f.t.Helper()
	for n := range f.nodes {
		eventually.True(f.t, "the server is used", func() bool {
			before := f.nodes[n].FromShared()
			f.nodes[n].ForgetHere(keys...)
			for _, key := range keys {
				f.get(n, key)
			}
			return f.nodes[n].FromShared() > before
		})
	}
}

// 10,000 concurrent readers on three nodes cause one load of a missing key.
func TestReadersOnThreeNodesShareOneLoad(t *testing.T) {
	f := open(t, 3, serve(t).open, cache.Config[post, int]{})
	f.rows.put(7, 1)
	release := make(chan struct{})
	f.rows.before = func([]post) { <-release }
	var readers sync.WaitGroup
	for reader := range 10_000 {
		readers.Go(func() { f.expect("a reader", reader%3, 7, 1) })
	}
	eventually.True(t, "all wait", func() bool {
		return f.nodes[0].Joined()+f.nodes[1].Joined()+f.nodes[2].Joined() == 10_000-3 && f.rows.running.Load() > 0
	})
	close(release)
	readers.Wait()
	if n := f.rows.loaded(7); n != 1 {
		t.Errorf("%d loads", n)
	}
}

// A copy that one node has loaded serves the others, also that a key does not exist.
func TestCopiesAreShared(t *testing.T) {
	f := open(t, 2, serve(t).open, cache.Config[post, int]{})
	f.rows.put(7, 1)
	for key, want := range map[post]int{7: 1, 8: 0} {
		f.expect("the first node", 0, key, want)
		eventually.True(t, "the copy is shared", func() bool {
			f.nodes[1].ForgetHere(key)
			before := f.nodes[1].FromShared()
			f.expect("the second node", 1, key, want)
			return f.nodes[1].FromShared() > before
		})
	}
	f.clock.Advance(12 * time.Second)
	f.rows.put(8, 1)
	f.expect("the second node, when the copy is old", 1, 8, 1)
}

// A load from before a commit fills neither this node nor the server, on whichever node it is, even if its node has not got the event.
func TestALoadFromBeforeAnInvalidationFillsNothing(t *testing.T) {
	f := open(t, 3, serve(t).open, cache.Config[post, int]{})
	f.rows.put(7, 1)
	read, release := make(chan struct{}), make(chan struct{})
	var loads atomic.Int32
	f.rows.after = func([]post) {
		if loads.Add(1) == 1 {
			close(read)
			<-release
		}
	}
	var slow sync.WaitGroup
	slow.Go(func() { f.expect("the slow reader", 0, 7, 1) })
	<-read
	f.rows.put(7, 2)
	f.nodes[1].Invalidate(t.Context(), 7)
	f.expect("the node of the commit", 1, 7, 2)
	close(release)
	slow.Wait()
	f.expect("a third node, from the server", 2, 7, 2)
	f.nodes[0].InvalidateLater(7)
	f.expect("the slow node, after the event", 0, 7, 2)
	f.expect("the third node", 2, 7, 2)
}

// A node that has not got the event, and whose replica lags, fills nothing stale: the server knows of the invalidation.
func TestALaggingReplicaFillsNothing(t *testing.T) {
	f := open(t, 3, serve(t).open, cache.Config[post, int]{})
	f.rows.put(7, 1)
	f.rows.write(7, 2)
	f.nodes[0].Invalidate(t.Context(), 7)
	f.expect("a node without the event", 1, 7, 2)
	f.expect("a third one", 2, 7, 2)
}

// While the server does not answer, invalidations are not lost: when it is back with old copies, no node uses them.
func TestAServerThatReturnsWithOldCopies(t *testing.T) {
	s := serve(t)
	f := open(t, 2, s.open, cache.Config[post, int]{})
	for key := range post(50) {
		f.rows.put(key+1, 1)
		f.get(0, key+1)
	}
	f.answers(1)
	s.signal(syscall.SIGSTOP)
	for key := range post(50) {
		f.rows.write(key+1, 2) // the replica lags
		f.nodes[0].Invalidate(t.Context(), key+1)
		f.nodes[1].InvalidateLater(key + 1)
		f.expect("without the server", int(key%2), key+1, 2)
	}
	s.signal(syscall.SIGCONT)
	for key := range post(50) {
		for n := range 2 {
			f.expect("when it is back", n, key+1, 2)
		}
	}
	eventually.True(t, "the server knows of all", func() bool { return f.nodes[0].Owed()+f.nodes[1].Owed() == 0 })
	f.nodes[0].ForgetHere(1)
	f.expect("afterwards", 0, 1, 2)
}

// After events were missed, all copies at the server are void.
func TestMissedEventsVoidTheServersCopies(t *testing.T) {
	f := open(t, 2, serve(t).open, cache.Config[post, int]{})
	f.rows.put(7, 1)
	f.expect("at first", 0, 7, 1)
	f.answers(7)
	f.rows.write(7, 2)
	f.nodes[0].InvalidateAll()
	f.expect("the node that missed events", 0, 7, 2)
	eventually.True(t, "the server knows", func() bool { return f.nodes[0].Owed() == 0 })
	f.rows.replicate()
	f.nodes[1].ForgetHere(7)
	f.expect("the other node", 1, 7, 2)
}

// The loss of the server multiplies loads at most by the number of nodes, as long as the keys fit into the processes, and at most as many loads
// run at once as configured.
func TestLosingTheServerAtPeak(t *testing.T) {
	const nodes, keys, most = 3, 500, 4
	s := serve(t)
	f := open(t, nodes, s.open, cache.Config[post, int]{MaxLoads: most})
	for key := range post(keys) {
		f.rows.write(key+1, 1)
	}
	f.rows.replicate()
	peak := func() int {
		before := f.rows.total()
		var readers sync.WaitGroup
		for n := range nodes {
			for reader := range 20 {
				readers.Go(func() {
					for i := range post(keys) {
						f.expect("a reader", n, (i*7+post(reader)*31)%keys+1, 1)
					}
				})
			}
		}
		readers.Wait()
		return f.rows.total() - before
	}
	with := peak()
	if with < keys || with > keys*5/4 {
		t.Errorf("%d loads of %d keys with the server", with, keys)
	}
	f.clock.Advance(12 * time.Second) // all copies are old
	s.kill()
	without := peak()
	t.Logf("%d loads with the server, and %d without", with, without)
	if without > nodes*keys {
		t.Errorf("%d loads of %d keys on %d nodes without the server", without, keys, nodes)
	}
	if n := f.rows.most.Load(); n > nodes*most {
		t.Errorf("%d loads at once", n)
	}
}

// While the server is killed and the database fails, copies in the processes are served.
func TestCopiesAreServedWithoutServerAndDatabase(t *testing.T) {
	s := serve(t)
	f := open(t, 1, s.open, cache.Config[post, int]{})
	f.rows.put(7, 1)
	f.expect("at first", 0, 7, 1)
	s.kill()
	f.rows.fail(errDown)
	f.clock.Advance(time.Hour)
	f.expect("after an hour", 0, 7, 1)
}

// A copy at the server is served while the database fails, by a node that has none.
func TestTheServersCopyIsServedWhileLoadsFail(t *testing.T) {
	f := open(t, 2, serve(t).open, cache.Config[post, int]{})
	f.rows.put(7, 1)
	f.expect("at first", 0, 7, 1)
	f.answers(7)
	f.rows.fail(errDown)
	f.clock.Advance(time.Hour)
	f.nodes[1].ForgetHere(7)
	f.expect("another node after an hour", 1, 7, 1)
}

// Random writers and readers on three nodes, with a lagging replica and a server that is paused now and then.
func TestReadsFollowCommitsOnThreeNodes(t *testing.T) {
	s := serve(t)
	f := open(t, 3, s.open, cache.Config[post, int]{MaxBytes: 8 * 128})
	ctx, cancel := context.WithCancel(t.Context())
	var pausing sync.WaitGroup
	pausing.Go(func() {
		for ctx.Err() == nil {
			before := f.rows.reads.Load()
			eventually.True(t, "some loads", func() bool { return ctx.Err() != nil || f.rows.reads.Load() > before+200 })
			s.signal(syscall.SIGSTOP)
			before = f.rows.reads.Load()
			eventually.True(t, "some more loads", func() bool { return ctx.Err() != nil || f.rows.reads.Load() > before+100 })
			s.signal(syscall.SIGCONT)
		}
	})
	readsFollowCommits(t, f)
	cancel()
	pausing.Wait()
}
