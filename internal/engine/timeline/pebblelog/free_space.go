package pebblelog

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"golang.org/x/sys/unix"
)

func freeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// isInMemory reports whether the files of a directory are kept in memory, by Linux's tmpfs. The directory need not exist yet.
func isInMemory(dir string) bool {
	const tmpfs = 0x01021994 // TMPFS_MAGIC of statfs(2)
	var s unix.Statfs_t
	for ; ; dir = filepath.Dir(dir) {
		err := unix.Statfs(dir, &s)
		if !errors.Is(err, unix.ENOENT) || dir == filepath.Dir(dir) {
			return err == nil && uint64(s.Type) == tmpfs
		}
	}
}

// minFree is the free space in bytes to open a log, besides the size of its write-ahead logs.
const minFree = 8 << 20

// checkSpace returns an error if the disk has too little space to open a log. Pebble first writes the contents of the write-ahead logs to
// tables. Without space it would retry forever.
func checkSpace(dir string, o Options) error {
	if o.Free == nil || o.ReadOnly {
		return nil
	}
	fs := o.FS
	if fs == nil {
		fs = vfs.Default
	}
	names, err := fs.List(dir)
	if err != nil {
		return nil // there is no log yet, or Pebble reports the error
	}
	need := uint64(minFree)
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		if info, err := fs.Stat(fs.PathJoin(dir, name)); err == nil {
			need += uint64(info.Size())
		}
	}
	free, err := o.Free()
	if err != nil || free >= need {
		return nil // if it is unknown, try to open
	}
	return fmt.Errorf("the disk is full: it has %d MiB free, and %d MiB are needed to start; free some space, and start again", free>>20, need>>20+1)
}

// Pebble repeats failed background work (flushes, compactions) at once. These pauses keep it from a busy loop and from filling the log.
// Readers do not wait for them.
const (
	pauseFull  = time.Second
	pauseOther = 50 * time.Millisecond
)

// eventListener reports background failures and corruption that a reader met. The reader gets an error and everything else continues; by
// default Pebble would end the process.
func eventListener(o Options, corrupt *corruptFiles, stop <-chan struct{}) *pebble.EventListener {
	damaged := func(i pebble.DataCorruptionInfo) {
		corrupt.add(i.Path)
		o.Logger.Error("a file of the timelines is corrupt: run rialto verify, and restore a backup", "file", i.Path, "error", i.Details)
	}
	return &pebble.EventListener{DataCorruption: damaged, BackgroundError: func(err error) {
		pause := pauseOther
		if errors.Is(err, unix.ENOSPC) {
			pause = pauseFull
		}
		o.Logger.Error("a flush or compaction failed and is repeated", "error", err, "pause", pause)
		_ = backoff.SleepOrWake(context.Background(), pause, stop) // without a context, it has no error
	}}
}
