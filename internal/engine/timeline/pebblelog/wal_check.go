package pebblelog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
	"github.com/rialto-im/rialto/internal/base/filecopy"
)

// WALPosition is a position in a write-ahead log that was synced: see WALObserver.
type WALPosition struct{ Log, Position uint64 }

// CheckFiles returns what a log lacks: its directory, a marker file of Pebble, the manifest, or write-ahead logs, whole or in part. It changes
// nothing. Pebble does not detect these losses: without a marker file it creates a new log and removes the tables, and it takes a
// truncated or missing write-ahead log for one that ends there.
func CheckFiles(dir string, expected []WALPosition) error {
	fs := vfs.Default
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", dir, err)
	}
	for _, prefix := range []string{"marker.manifest.", "marker.format-version."} {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix) }) {
			return fmt.Errorf("%s is missing: it names the file that lists the tables", filepath.Join(dir, prefix+"*"))
		}
	}
	desc, err := pebble.Peek(dir, fs)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", dir, err)
	}
	if err := checkManifest(fs, desc.ManifestFilename); err != nil {
		return err
	}
	if err := checkOptions(fs, dir, desc.OptionsFilename); err != nil {
		return err
	}
	var problems []error
	for _, e := range expected {
		problems = append(problems, checkWAL(fs, dir, e))
	}
	return errors.Join(problems...)
}

// checkOptions reports a file of options that Pebble refuses, without its name. Pebble writes another one at each start, and needs none.
func checkOptions(fs vfs.FS, dir, path string) error {
	if path == "" {
		return nil
	}
	f, err := fs.Open(path)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	o := &pebble.Options{}
	o.EnsureDefaults()
	if err := o.CheckCompatibility(dir, string(b)); err != nil {
		return fmt.Errorf("%s is damaged, and nothing needs it: remove this file, and start again", path)
	}
	return nil
}

// IsCorruption reports whether Open failed because a file is missing or corrupt.
func IsCorruption(err error) bool {
	return pebble.IsCorruptionError(err) || errors.Is(err, os.ErrNotExist) || errors.Is(err, pebble.ErrDBDoesNotExist) || isTableSizeWrong(err)
}

// isTableSizeWrong reports whether a table is shorter or longer than the manifest says. Pebble has no error value for it, only this text.
func isTableSizeWrong(err error) bool {
	return err != nil && strings.Contains(err.Error(), "object size mismatch")
}

// CorruptFile returns the path of the corrupt file that an error names, or "".
func CorruptFile(err error) string {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return info.Path
	}
	return ""
}

func walPath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%06d.log", number))
}

// checkWAL returns an error if a write-ahead log cannot be read up to its synced position.
func checkWAL(fs vfs.FS, dir string, e WALPosition) error {
	path := walPath(dir, e.Log)
	logs, err := wal.Scan(wal.Dir{FS: fs, Dirname: dir})
	if err != nil {
		return err
	}
	log, ok := logs.Get(wal.NumWAL(e.Log))
	if !ok {
		return fmt.Errorf("%s is missing: a write-ahead log with messages that were acknowledged and are nowhere else", path)
	}
	to, _, err := scanWAL(log)
	if to >= e.Position {
		return nil
	}
	why := "it ends early"
	if err != nil {
		why = err.Error()
	}
	return fmt.Errorf("%s is truncated or corrupt: it can be read up to change %d, and was synced up to change %d; messages that were acknowledged are missing (%s)", path, to, e.Position, why)
}

// scanWAL returns the position after the last readable batch, and the offset in the file where that batch ends.
func scanWAL(log wal.LogicalLog) (position uint64, end int64, err error) {
	r := log.OpenForRead()
	defer func() { err = errors.Join(err, r.Close()) }()
	var b bytes.Buffer
	for {
		record, at, err := r.NextRecord()
		end = at.Physical
		if errors.Is(err, io.EOF) {
			return position, end, nil
		}
		if err != nil {
			return position, end, err
		}
		b.Reset()
		if _, err := b.ReadFrom(record); err != nil {
			return position, end, err
		}
		h, ok := batchrepr.ReadHeader(b.Bytes())
		if !ok {
			return position, end, errors.New("a batch without a header")
		}
		position = uint64(h.SeqNum) + uint64(h.Count)
	}
}

// TruncateWALs truncates the write-ahead logs after the last change before which nothing is missing or corrupt, so that the log can be opened
// again. It moves later logs to another directory and keeps copies of truncated ones there. It returns a list of what it did.
func TruncateWALs(dir, kept string, expected []WALPosition) (done []string, err error) {
	logs, err := wal.Scan(wal.Dir{FS: vfs.Default, Dirname: dir})
	if err != nil {
		return nil, err
	}
	missing := uint64(math.MaxUint64) // the first missing log
	for _, e := range expected {
		if _, ok := logs.Get(wal.NumWAL(e.Log)); !ok {
			missing = min(missing, e.Log)
		}
	}
	over := false
	for i, log := range logs {
		path := walPath(dir, uint64(log.Num))
		if over = over || uint64(log.Num) > missing; over {
			if err := os.Rename(path, filepath.Join(kept, filepath.Base(path))); err != nil {
				return done, err
			}
			done = append(done, path+" was moved away: it follows a log that is missing or corrupt")
			continue
		}
		_, end, damaged := scanWAL(log)
		if damaged == nil || i == len(logs)-1 && errors.Is(damaged, record.ErrUnexpectedEOF) {
			continue // Pebble ends there by itself
		}
		over = true
		if err := truncateWAL(path, filepath.Join(kept, filepath.Base(path)), end); err != nil {
			return done, err
		}
		done = append(done, fmt.Sprintf("%s was truncated at byte %d: %v", path, end, damaged))
	}
	return done, nil
}

// truncateWAL keeps a copy of a log and truncates it.
func truncateWAL(path, kept string, at int64) error {
	if err := filecopy.Copy(kept, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(at), f.Sync(), f.Close())
}
