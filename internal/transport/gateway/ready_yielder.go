package gateway

import "sync"

// readyYielder lets each goroutine that is ready run first, once. It does not wait for input from the network, as a pollYielder does: it is for work that is to be done
// soon, but behind what is ready now.
//
// runtime.Gosched lets them go for as long as any is ready: it puts its caller into the queue of all processors, at which a processor looks when its own queue is empty, or after 61 goroutines. While
// calls come in bursts, that is tens of milliseconds, by which each receipt and each delivery would be late. So the readyYielder makes two goroutines ready that wait for it. The scheduler runs the one
// that became ready last next, and the other one behind all that were ready before. That one wakes the caller, who runs next. Where the scheduler does otherwise, a yield is longer or shorter, and
// nothing else.
type readyYielder struct {
	behind, next, back chan struct{}
	group              sync.WaitGroup
}

// newReadyYielder returns a readyYielder, which close ends. One goroutine may use it.
func newReadyYielder() *readyYielder {
	y := &readyYielder{make(chan struct{}), make(chan struct{}), make(chan struct{}), sync.WaitGroup{}}
	y.group.Go(func() {
		for range y.behind {
			y.back <- struct{}{}
		}
	})
	y.group.Go(func() {
		for range y.next { //nolint:revive // to be ready is all that it is for
		}
	})
	return y
}

func (y *readyYielder) yield() {
	y.behind <- struct{}{}
	y.next <- struct{}{}
	<-y.back
}

func (y *readyYielder) close() {
	close(y.behind)
	close(y.next)
	y.group.Wait()
}
