package pebblelog

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Flush writes what is only in write-ahead logs into tables, so that CopyTo copies little.
func (l *Log) Flush() error {
	if l.full.Load() {
		return fmt.Errorf("the timelines are not flushed: the disk is full")
	}
	return l.db.Flush()
}

// CopyTo makes a copy of the log in a new directory, as of one moment of the call: it has all that was appended or posted before the call, and
// of what is written meanwhile a part without gaps. Tables are hard links if the directory is on the same file system. The copy does not observe
// its write-ahead logs, and does not use the spare disk space. If it fails, it removes the directory.
func (l *Log) CopyTo(dir string) error {
	if err := l.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("a copy of the timelines in %s: %w", dir, err)
	}
	return nil
}
