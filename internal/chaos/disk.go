package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// slowWrites in a second are what PostgreSQL's disk takes while it is slow.
	slowWrites = 20
	// slowCommits wait for so long instead, where the kernel cannot be told.
	slowCommits = 50 * time.Millisecond
)

// find the disk of the servers, which is slow by the kernel's hand where that is allowed.
func (p *Postgres) find() {
	p.disk, p.why = openDisk(p.pair.Primary().Folder())
}

// Disk says how it is made slow, and why.
func (p *Postgres) Disk() string {
	if p.disk == nil {
		return fmt.Sprintf("a commit_delay of %v, as the kernel cannot be told to be slow: %v", slowCommits, p.why)
	}
	return fmt.Sprintf("%d writes in a second, by the blkio cgroup", slowWrites)
}

// SlowDisk has the primary's disk take few writes in a second for a while.
func (p *Postgres) SlowDisk(ctx context.Context, away time.Duration) error {
	if p.disk == nil {
		return p.Slow(ctx, slowCommits, away)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	heal, err := p.disk.slow(p.pair.Primary(), slowWrites)
	if err != nil {
		return errors.Join(errors.New("making the disk slow"), err)
	}
	pause(ctx, away)
	return heal()
}
