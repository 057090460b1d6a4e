package gateway

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
	f := newFlusher(runtime.Gosched)
	f.most = time.Hour
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

// What is for many is written although there is always something for one connection.
func TestPushesToManyAreNotStarved(t *testing.T) {
	t.Parallel()
	const turns = 10
	ctx, stop := context.WithCancel(context.Background())
	f := newFlusher(runtime.Gosched)
	ended := make(chan struct{})
	done := make(chan struct{})
	later := 0
	one := &conn{}
	one.transport = orderedTransport{flushed: func() {
		select {
		case <-done:
		default:
			f.add(one)
			f.signal()
		}
	}}
	for range turns * laterSlice {
		f.addLater(&conn{writeFlow: writeFlow{queuedLater: true}, transport: orderedTransport{flushed: func() {
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
}

// While what is for many waits in a yield, what is for one connection is written.
func TestWhatIsForOneIsWrittenDuringAYield(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(context.Background())
	written, ended := make(chan struct{}), make(chan struct{})
	var f *flusher
	f = newFlusher(func() {
		f.add(&conn{transport: orderedTransport{flushed: func() { close(written) }}})
		f.signal()
		<-written
	})
	f.addLater(&conn{writeFlow: writeFlow{queuedLater: true}, transport: orderedTransport{flushed: func() {}}})
	go func() {
		defer close(ended)
		f.run(ctx)
	}()
	f.signal()
	<-written
	stop()
	<-ended
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

// After each slice of what is for many, others go on, and what they queue for one connection is written before the next slice.
func TestOthersGoOnAfterEachSlice(t *testing.T) {
	t.Parallel()
	const slices = 5
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	var f *flusher
	later, yields, ones, wrong := 0, 0, 0, 0
	one := &conn{transport: orderedTransport{flushed: func() { ones++ }}}
	f = newFlusher(func() {
		if yields++; later != yields*laterSlice {
			wrong++
		}
		if yields < slices {
			f.add(one)
		}
	})
	f.most = time.Hour
	for range slices * laterSlice {
		f.addLater(&conn{writeFlow: writeFlow{queuedLater: true}, transport: orderedTransport{flushed: func() {
			if ones != later/laterSlice {
				wrong++
			}
			if later++; later == slices*laterSlice {
				close(done)
			}
		}}})
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.run(ctx)
	}()
	f.signal()
	<-done
	stop()
	<-ended
	if wrong > 0 || ones != slices-1 {
		t.Errorf("%d times the order was wrong, and %d of %d were written for one connection", wrong, ones, slices-1)
	}
}

// What is added during a write is written at its own signal, and not before: more may be added to it until then.
func TestWhatIsAddedDuringAWriteWaitsForItsSignal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		f := newFlusher(runtime.Gosched)
		written := 0
		second := &conn{transport: orderedTransport{flushed: func() { written++ }}}
		f.add(&conn{transport: orderedTransport{flushed: func() {
			written++
			f.add(second)
		}}})
		go f.run(ctx)
		f.signal()
		synctest.Wait()
		if written != 1 {
			t.Errorf("before the second signal, %d are written, want the first", written)
		}
		f.signal()
		synctest.Wait()
		if written != 2 {
			t.Errorf("then %d are written, want both", written)
		}
		stop()
		synctest.Wait()
	})
}

// Goroutines that are ready again and again go first once for each yield of the flusher, and not for as long as any of them is ready. It is the only test that runs meanwhile.
func TestFlusherWaitsForNoBurst(t *testing.T) { //nolint:paralleltest // it sets the number of processors to one
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ctx, stop := context.WithCancel(context.Background())
	f := newFlusher(runtime.Gosched)
	var group sync.WaitGroup
	group.Go(func() { f.run(ctx) })
	const busy, rounds = 4, 100
	var turns atomic.Int32
	for range busy {
		group.Go(func() {
			y := newReadyYielder()
			defer y.close()
			for ctx.Err() == nil {
				turns.Add(1)
				y.yield()
			}
		})
	}
	carrier := &countingTransport{flushed: make(chan struct{})}
	c := &conn{transport: carrier}
	waited := int32(0)
	for range rounds {
		before := turns.Load()
		f.add(c)
		f.signal()
		<-carrier.flushed
		waited += turns.Load() - before
	}
	stop()
	group.Wait()
	if most := int32(2 * (flushYields + 1) * busy * rounds); waited > most {
		t.Errorf("before %d writes, %d goroutines had %d turns, of which %d are to be expected at most", rounds, busy, waited, most)
	}
}
