package pebblelog

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/rialto-im/rialto/internal/base/wakeup"
)

// compactions is a scheduler that starts as many compactions as the store allows, but none while the store opens. pebble.Open waits for
// running compactions, which would delay a start by seconds after heavy load.
type compactions struct {
	db pebble.DBForCompaction // set by Register, before any other call

	mu       sync.Mutex // guards the fields below; locked after the store's own locks, never held while calling Schedule
	opened   bool
	ended    bool
	granting bool
	running  int
	idle     *sync.Cond // granting has become false

	more chan struct{} // the store may allow more than before
}

var (
	_ pebble.CompactionScheduler   = (*compactions)(nil)
	_ pebble.CompactionGrantHandle = (*compactions)(nil)
)

func newCompactions() *compactions {
	c := &compactions{more: make(chan struct{}, 1)}
	c.idle = sync.NewCond(&c.mu)
	return c
}

// run starts waiting compactions until stop is closed. The store must be open.
func (c *compactions) run(stop <-chan struct{}) {
	c.mu.Lock()
	c.opened = true
	c.mu.Unlock()
	tick := time.NewTicker(100 * time.Millisecond) // writes raise the allowed number without a notification
	defer tick.Stop()
	for {
		c.grant()
		select {
		case <-tick.C:
		case <-c.more:
		case <-stop:
			return
		}
	}
}

// grant starts waiting compactions. Its callers take turns.
func (c *compactions) grant() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.granting {
		c.idle.Wait()
	}
	if !c.opened || c.ended {
		return
	}
	c.granting = true
	for c.db.GetAllowedWithoutPermission() > c.running {
		c.running++
		c.mu.Unlock()
		waiting, _ := c.db.GetWaitingCompaction()
		started := waiting && c.db.Schedule(c)
		c.mu.Lock()
		if !started {
			c.running--
			break
		}
	}
	c.granting = false
	c.idle.Broadcast()
}

// Register is called once, while the store opens.
func (c *compactions) Register(_ int, db pebble.DBForCompaction) { c.db = db }

// Unregister returns after the last compaction was started.
func (c *compactions) Unregister() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for c.granting {
		c.idle.Wait()
	}
}

// TrySchedule is called by the store with its lock held.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.opened || c.ended || c.db.GetAllowedWithoutPermission() <= c.running {
		return false, nil
	}
	c.running++
	return true, c
}

// UpdateGetAllowedWithoutPermission is called by the store with its lock held.
func (c *compactions) UpdateGetAllowedWithoutPermission() {
	wakeup.Signal(c.more)
}

// Done is called when a compaction has ended.
func (c *compactions) Done() {
	c.mu.Lock()
	c.running--
	c.mu.Unlock()
	c.grant()
}

// Started is called when a compaction begins.
func (c *compactions) Started() {}

// MeasureCPU is not used.
func (c *compactions) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats is not used.
func (c *compactions) CumulativeStats(pebble.CompactionGrantHandleStats) {}
