package datadir

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/base/filecopy"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
)

// backupDir keeps what repair cut off or replaced.
const backupDir = "before-repair"

// Diagnose returns the reason why Open would refuse a directory, or nil. It changes no more than a start and a stop do.
func Diagnose(ctx context.Context, dir string, o Options) error {
	if !slices.ContainsFunc([]string{MarkerFile, DatabaseFile, TimelinesDir, FilesDir}, func(name string) bool { return exists(filepath.Join(dir, name)) }) {
		return fmt.Errorf("%s is no data directory", dir)
	}
	s, err := Open(ctx, dir, o)
	if err != nil {
		return err
	}
	return s.Close()
}

// Repair makes a directory usable again without the lost data: the end of a write-ahead log, the marker, or the newest part of one store.
// The caller has locked the directory. Inboxes continue in a new epoch, above every epoch that either store knows, so that no position is
// used twice. What is replaced or cut off is kept in a directory beside it. Repair lists what it did.
func Repair(ctx context.Context, dir string, o Options) (done []string, err error) {
	f := &findings{dir: dir}
	marker, unread := readMarker(dir, false)
	if unread == nil {
		defer marker.file.Close()
	}
	if err := f.checkDatabase(ctx, marker, maxCheckedAtStart); err != nil {
		return nil, err
	}
	if f.database.ID == "" && (exists(f.path(MarkerFile)) || len(f.database.Tables) == 0) {
		f.addUnreadable("%s contains none of the data that was stored in it", f.path(DatabaseFile))
	}
	f.checkTimelines(nil)
	if f.unreadable {
		return nil, f.err()
	}
	kept := f.path(backupDir)
	for n := 1; exists(kept); n++ {
		kept = f.path(fmt.Sprint(backupDir, ".", n))
	}
	if err := os.Mkdir(kept, 0o700); err != nil {
		return nil, err
	}
	var expected []pebblelog.WALPosition
	if unread == nil {
		for _, l := range marker.Logs() {
			expected = append(expected, pebblelog.WALPosition(l))
		}
	}
	for _, name := range []string{MarkerFile, DatabaseFile + "-wal"} {
		if err := copyIfExists(filepath.Join(kept, name), f.path(name)); err != nil {
			return nil, err
		}
	}
	done = append(done, "what was replaced or cut off was copied to "+kept)
	cut, err := pebblelog.TruncateWALs(f.path(TimelinesDir), kept, expected)
	done = append(done, cut...)
	if err != nil {
		return done, err
	}
	adopted, err := adopt(ctx, dir, o, 0)
	if err != nil {
		return done, err
	}
	return append(done, fmt.Sprintf("the stores belong together again (%s)", adopted)), nil
}

// adopt marks the stores of a directory as belonging together. Inboxes continue in a new epoch, as many above every epoch that either store knows as a
// server may have started since. Devices with positions of earlier epochs are reset: they may have what is lost.
func adopt(ctx context.Context, dir string, o Options, starts uint32) (adopted string, err error) {
	fresh, err := createMarker(dir, Adopting)
	if err != nil {
		return "", err
	}
	if err := fresh.Close(); err != nil {
		return "", err
	}
	s, err := open(ctx, dir, o, loss{accepted: true, starts: starts})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("directory %.8s…, epoch %d", s.marker.Identity().ID, s.Log.Epoch()), s.Close()
}

// Adopt makes a directory usable whose stores were copied from a backup; it has no marker yet. starts is how often a server may have started on the
// original since the backup: see Repair for the epoch. The caller has locked the directory.
func Adopt(ctx context.Context, dir string, o Options, starts uint32) (adopted string, err error) {
	f := &findings{dir: dir}
	if err := f.checkDatabase(ctx, nil, math.MaxInt64); err != nil {
		return "", err
	}
	if f.database.ID == "" {
		f.addUnreadable("%s contains none of the data that was stored in it", f.path(DatabaseFile))
	}
	f.checkTimelines(nil)
	if err := f.err(); err != nil {
		return "", err
	}
	return adopt(ctx, dir, o, starts)
}

// copyIfExists copies a file, if it exists.
func copyIfExists(to, from string) error {
	if !exists(from) {
		return nil
	}
	return filecopy.Copy(to, from)
}

// Describe lists what Diagnose found, for people.
func Describe(err error) string {
	if damaged := (*DamagedError)(nil); errors.As(err, &damaged) {
		return "  - " + strings.Join(damaged.Problems, "\n  - ")
	}
	return err.Error()
}
