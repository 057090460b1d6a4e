package pebblelog

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"
)

func freeBytes(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// leastFree bytes to open a log, besides what its write-ahead log is written to again.
const leastFree = 8 << 20

// room says what the disk lacks for a log to be opened. Pebble writes what the write-ahead log holds to tables first, and
// where it finds no space it tries again for ever.
func room(dir string, o Options) error {
	if o.Free == nil || o.ReadOnly {
		return nil
	}
	fs := o.FS
	if fs == nil {
		fs = vfs.Default
	}
	names, err := fs.List(dir)
	if err != nil {
		return nil // there is no log yet, or Pebble will say what is wrong with it
	}
	need := uint64(leastFree)
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
		return nil // unknown: opening is tried
	}
	return fmt.Errorf("the disk has %d MiB free, and %d MiB are needed to start: free some space, and start again", free>>20, need>>20+1)
}

// Pebble tries what failed in the background (writing tables, merging them) again at once. It is kept from doing nothing
// else, and from filling the log; nobody who reads waits for that.
const (
	pauseFull  = time.Second
	pauseOther = 50 * time.Millisecond
)

// background is told of such failures, and of damage that a reader met: the reader is answered with an error, and everything
// else goes on, where Pebble by itself would end the process.
func background(o Options, stop <-chan struct{}) *pebble.EventListener {
	damaged := func(i pebble.DataCorruptionInfo) {
		o.Logger.Error("a file of the timelines is damaged: run rialto verify, and restore a backup", "file", i.Path, "error", i.Details)
	}
	return &pebble.EventListener{DataCorruption: damaged, BackgroundError: func(err error) {
		pause := pauseOther
		if errors.Is(err, unix.ENOSPC) {
			pause = pauseFull
		}
		o.Logger.Error("the store could not be tidied, and tries again", "error", err, "pause", pause)
		t := time.NewTimer(pause)
		defer t.Stop()
		select {
		case <-t.C:
		case <-stop:
		}
	}}
}
