package gateway

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// countingTransport counts the flushes, and those before an event was queued.
type countingTransport struct {
	transport
	event   atomic.Bool
	early   atomic.Int32
	flushed chan struct{}
}

func (t *countingTransport) flush(*conn) {
	if !t.event.Load() {
		t.early.Add(1)
	}
	t.flushed <- struct{}{}
}

// A goroutine that is ready when the flusher is woken queues its events first. It is the only test that runs meanwhile: it sets the number
// of processors to one.
func TestFlusherLetsReadyGoroutinesGoFirst(t *testing.T) { //nolint:paralleltest // see above
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ctx, stop := context.WithCancel(context.Background())
	f := newFlusher()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.run(ctx)
	}()
	carrier := &countingTransport{flushed: make(chan struct{})}
	c := &conn{transport: carrier}
	const rounds = 200
	for range rounds {
		carrier.event.Store(false)
		commit, delivered := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(delivered)
			<-commit
			carrier.event.Store(true)
		}()
		for range 10 {
			runtime.Gosched() // the goroutine waits for the commit, and the flusher for a signal
		}
		f.add(c)
		close(commit)
		f.signal() // the flusher is the next to run
		<-carrier.flushed
		<-delivered
	}
	stop()
	<-ended
	// The runtime may run its own goroutines between; without the yields, nearly all are early.
	if n := carrier.early.Load(); n > rounds/10 {
		t.Errorf("%d of %d flushes came before the event that was ready", n, rounds)
	}
}

// What is for many is written a slice at a time while there is always something for one connection, which is written before each slice.
func TestPushesToManyAreNotStarved(t *testing.T) {
	t.Parallel()
	const turns = 10
	ctx, stop := context.WithCancel(context.Background())
	f := newFlusher()
	ended := make(chan struct{})
	done := make(chan struct{})
	later, passes, wrong := 0, 0, 0
	one := &conn{}
	one.transport = orderedTransport{flushed: func() {
		if passes++; passes < 100*turns {
			f.add(one)
		}
	}}
	for range turns * laterSlice {
		f.addLater(&conn{writeFlow: writeFlow{queuedLater: true}, transport: orderedTransport{flushed: func() {
			if passes != later/laterSlice+1 {
				wrong++
			}
			if later++; later == turns*laterSlice {
				close(done)
			}
		}}})
	}
	f.add(one)
	f.signal()
	go func() {
		defer close(ended)
		f.run(ctx)
	}()
	<-done
	stop()
	<-ended
	if wrong > 0 {
		t.Errorf("%d of %d were not written in a slice after each write of the connection that always has something", wrong, turns*laterSlice)
	}
}

// Answers to pings come after what is for one connection: thousands of clients may send theirs at once. What else a connection is sent takes them along.
func TestAnswersToPingsComeLast(t *testing.T) {
	t.Parallel()
	ping := must(proto.Marshal(&gatewayv1.ClientFrame{Request: 3, Ping: &gatewayv1.Ping{}}))
	for name, input := range map[string][]byte{"frame": clientFrame(opBinary, ping), "ping of WebSocket": clientFrame(opPing, []byte("x"))} {
		c, _ := bench(t)
		c.readLocked(input)
		if c.queued || !c.queuedLater || c.pending() == 0 {
			t.Errorf("%s: queued for one: %v, for many: %v, with %d bytes; want a later answer", name, c.queued, c.queuedLater, c.pending())
		}
		c.sendFrame(&gatewayv1.ServerFrame{})
		if !c.queued {
			t.Errorf("%s: another answer waits behind that to the ping", name)
		}
	}
}
