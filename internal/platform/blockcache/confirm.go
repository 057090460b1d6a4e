package blockcache

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// state of a group.
type state struct {
	confirmed time.Time // when its owner last said that it is there
	stored    time.Time // when that was last noted on disk
}

// state returns that of a group that is here. The caller holds mu.
func (c *Cache) state(g hash) *state {
	s := c.states[g]
	if s == nil {
		now := time.Now()
		s = &state{confirmed: now, stored: now}
		c.states[g] = s
	}
	return s
}

// Confirm notes that the files of a group are still there for those who may read them. From time to time that is noted on disk, as the time of a block's file.
func (c *Cache) Confirm(group string) {
	g, now := hashOf(group), time.Now()
	c.mu.Lock()
	if c.groups[g] == nil {
		c.mu.Unlock()
		return
	}
	s := c.state(g)
	s.confirmed = now
	var id blockID
	touch := now.Sub(s.stored) >= c.config.Keep/4
	if touch {
		s.stored = now
		id = c.anyOf(g)
	}
	c.mu.Unlock()
	if !touch {
		return
	}
	if err := os.Chtimes(c.join(id.path()), now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.logger.Warn("the confirmation of a cached file could not be stored; after a restart the file may be fetched again", "error", err)
	}
}

// anyOf returns a block of a group. The caller holds mu.
func (c *Cache) anyOf(g hash) (id blockID) {
	for _, f := range c.groups[g] {
		for _, b := range f.blocks {
			return b.id
		}
	}
	return id
}

// sweepAll drops groups that nobody confirms, until the cache is closed.
func (c *Cache) sweepAll() {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case now := <-tick.C:
			c.sweep(now)
		}
	}
}

// sweep drops groups that were not confirmed for long.
func (c *Cache) sweep(now time.Time) {
	var gone []blockID
	c.mu.Lock()
	for g, s := range c.states {
		if now.Sub(s.confirmed) >= c.config.Keep {
			gone = append(gone, c.forgetGroup(g)...)
		}
	}
	c.mu.Unlock()
	c.unlink(gone)
}
