package pebblelog

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// compactions lets as many run as the store allows, but none while the store is being opened: pebble.Open waits for those
// that run, and a start would take as long as one does (seconds, after heavy load).
type compactions struct {
	db pebble.DBForCompaction // set by Register, before any other call

	mu       sync.Mutex // guards the rest; taken after the store's own locks, and never held while calling Schedule
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

// run grants what waits until stop is closed. The store is open when it begins.
func (c *compactions) run(stop <-chan struct{}) {
	c.mu.Lock()
	c.opened = true
	c.mu.Unlock()
	tick := time.NewTicker(100 * time.Millisecond) // what is allowed grows with what is written, which is not told
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

// grant starts compactions that wait, one caller at a time.
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

// Register is called once, while the store is being opened.
func (c *compactions) Register(_ int, db pebble.DBForCompaction) { c.db = db }

// Unregister returns when nothing is granted any more.
func (c *compactions) Unregister() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for c.granting {
		c.idle.Wait()
	}
}

// TrySchedule is asked by the store, which holds its lock.
func (c *compactions) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.opened || c.ended || c.db.GetAllowedWithoutPermission() <= c.running {
		return false, nil
	}
	c.running++
	return true, c
}

// UpdateGetAllowedWithoutPermission is called by the store, which holds its lock.
func (c *compactions) UpdateGetAllowedWithoutPermission() {
	select {
	case c.more <- struct{}{}:
	default:
	}
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

// MeasureCPU would tell which goroutines a compaction uses.
func (c *compactions) MeasureCPU(pebble.CompactionGoroutineKind) {}

// CumulativeStats would tell what a compaction has written.
func (c *compactions) CumulativeStats(pebble.CompactionGrantHandleStats) {}
