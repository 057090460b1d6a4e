package app

import (
	"runtime"
	"time"
)

// threads decides how many threads run goroutines, which is GOMAXPROCS.
//
// While all threads run goroutines, Go's scheduler looks at the network each 10 ms only, and takes what became ready there last. On a machine with few
// processors this delays each call by several times that, while something computes for long. Such work therefore gets more threads than there are
// processors: the kernel shares these among them, and prefers a thread that has waited. At other times, the threads would cost a tenth more CPU time for each message.
//
// It is safe for concurrent use.
type threads struct {
	processors int
	set        func(n int)
	end        *time.Timer // of the extra threads
}

const (
	// manyThreads run goroutines beside work that computes for long, if there are fewer processors.
	manyThreads = 4
	// manyThreadsFor is how long they stay after the last call of more.
	manyThreadsFor = 2 * time.Second
)

func newThreads(set func(int)) *threads {
	t := &threads{processors: runtime.GOMAXPROCS(0), set: set}
	t.end = time.AfterFunc(manyThreadsFor, func() { set(t.processors) })
	t.end.Stop()
	return t
}

// setThreads sets how many threads run goroutines, which stops all of them for a moment if it is another number.
func setThreads(n int) {
	if n != runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
}

// more gives work that computes for long more threads, for manyThreadsFor.
func (t *threads) more() {
	if t.processors < manyThreads {
		t.set(manyThreads)
		t.end.Reset(manyThreadsFor)
	}
}
