package netpoll

import (
	"os"
	"runtime"
	"sync/atomic"
	"testing"
)

// A goroutine that yields lets another one go on that waits for input. It is the only test that runs meanwhile: it occupies the only
// processor.
func TestYieldPollsTheNetwork(t *testing.T) { //nolint:paralleltest // see above
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	y, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	var received atomic.Int32
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for b := make([]byte, 1); ; received.Add(1) {
			if _, err := reader.Read(b); err != nil {
				return
			}
		}
	}()
	y.Yield() // the reader waits for input from now on
	const rounds = 200
	late := 0
	for n := range int32(rounds) {
		if _, err := writer.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		y.Yield()
		runtime.Gosched() // the first may return before the reader runs, which the same poll found
		if received.Load() != n+1 {
			late++
			for received.Load() != n+1 {
				y.Yield()
			}
		}
	}
	// The runtime may run its own goroutines between; with Gosched, nearly all are late.
	if late > rounds/10 {
		t.Errorf("%d of %d inputs were not received while the writer yielded twice", late, rounds)
	}
	writer.Close()
	<-ended
}

// Several goroutines yield at once.
func TestYieldersDoNotBlockEachOther(t *testing.T) {
	t.Parallel()
	y, err := New()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	for range 4 {
		go func() {
			for range 2000 {
				y.Yield()
			}
			done <- struct{}{}
		}()
	}
	for range 4 {
		<-done
	}
	if err := y.Close(); err != nil {
		t.Fatal(err)
	}
	y.Yield() // of a closed one returns
}
