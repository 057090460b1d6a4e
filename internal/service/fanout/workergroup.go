package fanout

import (
	"context"
	"sync"
)

// workerGroup runs goroutines that start when there is work and end with Run.
type workerGroup struct {
	mu   sync.Mutex      // guards ctx, and fields of the embedding struct that name it
	ctx  context.Context // of Run; nil before and after it, when no goroutine may start
	wait sync.WaitGroup
}

func (c *workerGroup) start(ctx context.Context) {
	c.mu.Lock()
	c.ctx = ctx
	c.mu.Unlock()
}

// stop waits until the goroutines have ended with the context.
func (c *workerGroup) stop() {
	c.mu.Lock()
	c.ctx = nil
	c.mu.Unlock()
	c.wait.Wait()
}
