package fanout

import (
	"context"
	"sync"
)

// crew are goroutines that begin when there is work, and end with Run.
type crew struct {
	mu   sync.Mutex      // guards ctx, and what else whoever has the crew names
	ctx  context.Context // of Run; nil before and after it: none begins
	wait sync.WaitGroup
}

func (c *crew) start(ctx context.Context) {
	c.mu.Lock()
	c.ctx = ctx
	c.mu.Unlock()
}

// stop waits until the goroutines have seen that the context ended.
func (c *crew) stop() {
	c.mu.Lock()
	c.ctx = nil
	c.mu.Unlock()
	c.wait.Wait()
}
