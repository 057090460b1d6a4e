package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// slowWrites is the number of writes a second of PostgreSQL's disk while it is slow.
	slowWrites = 20
	// slowCommits is the delay of a commit where the kernel cannot throttle the disk.
	slowCommits = 50 * time.Millisecond
)

// findDisk opens the disk of the servers, if the kernel can throttle it.
func (p *Postgres) findDisk() {
	p.disk, p.why = openDisk(p.pair.Primary().Folder())
}

// Disk describes how the disk is slowed down, and why.
func (p *Postgres) Disk() string {
	if p.disk == nil {
		return fmt.Sprintf("a commit_delay of %v, because the kernel cannot throttle the disk: %v", slowCommits, p.why)
	}
	return fmt.Sprintf("%d writes a second, by the blkio cgroup", slowWrites)
}

// SlowDisk throttles the primary's disk for a while.
func (p *Postgres) SlowDisk(ctx context.Context, away time.Duration) error {
	if p.disk == nil {
		return p.Slow(ctx, slowCommits, away)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	heal, err := p.disk.slow(p.pair.Primary(), slowWrites)
	if err != nil {
		return errors.Join(errors.New("throttling the disk"), err)
	}
	pause(ctx, away)
	return heal()
}
