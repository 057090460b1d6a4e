package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
)

// Names in a data directory.
const (
	DatabaseFile = "records.db"
	TimelinesDir = "timeline"
	// FilesDir holds the files that users have sent. This package only checks whether there are any.
	FilesDir = "blobs"
	// SearchDir holds the search indexes of the node, which are built again from the stores if they are lost.
	SearchDir = "search"
	// DamageFile exists after a server has found that its database is damaged. The next start checks all pages, whatever their number.
	DamageFile = "DAMAGED"
)

// maxCheckedAtStart bounds the size of a database whose pages are checked at the start. A larger one is checked while the server runs.
const maxCheckedAtStart = 64 << 20

// DamagedError lists what is wrong with a data directory.
type DamagedError struct {
	Dir      string
	Problems []string
	// Repairable means that both stores exist and can be read, so that the loss can be accepted.
	Repairable bool
	// FilesOnly means that only the directory of the users' files is missing.
	FilesOnly bool
	// WhileServed means that the damage was found by a running server.
	WhileServed bool
}

func (e *DamagedError) Error() string {
	do := fmt.Sprintf("Put back what is missing, or replace the whole directory by a backup. To continue without what is lost: rialto repair --data %s --accept-loss", e.Dir)
	is := "is not served"
	switch {
	case e.WhileServed:
		is = "is no longer served"
		do = fmt.Sprintf("Look at it with rialto verify --data %s, and replace the whole directory by a backup.", e.Dir)
	case e.FilesOnly:
		do = fmt.Sprintf("Put back what is missing, or replace the whole directory by a backup. To continue without the files, or if they were in S3 until now: mkdir %s", filepath.Join(e.Dir, FilesDir))
	case !e.Repairable:
		do = "Put back what is missing, or replace the whole directory by a backup. No data was changed. To start without data, choose an empty directory with --data, or move the remaining contents of this one elsewhere and keep them."
	}
	return fmt.Sprintf("the data directory %s is damaged and %s:\n  - %s\n%s (docs/operating/backup.md)", e.Dir, is, strings.Join(e.Problems, "\n  - "), do)
}

// findings of a check.
type findings struct {
	dir          string
	problems     []string
	unreadable   bool // a store is missing, or cannot be read
	filesOnly    bool // only the directory of the users' files is missing
	database     sqldb.Meta
	pagesChecked bool // the database's pages were checked
}

func (f *findings) add(format string, args ...any) {
	f.problems = append(f.problems, fmt.Sprintf(format, args...))
}

func (f *findings) addUnreadable(format string, args ...any) {
	f.add(format, args...)
	f.unreadable = true
}

func (f *findings) err() error {
	if len(f.problems) == 0 {
		return nil
	}
	return &DamagedError{Dir: f.dir, Problems: f.problems, Repairable: !f.unreadable && !f.filesOnly, FilesOnly: f.filesOnly}
}

// CheckFilesDir returns an error if a server that keeps users' files in the directory has used it, and the directory of these files is missing.
func CheckFilesDir(dir string) error {
	marker, err := readMarker(dir, false)
	if errors.Is(err, errNoMarker) {
		return nil
	}
	if err != nil {
		return err
	}
	defer marker.file.Close()
	f := &findings{dir: dir}
	if err := f.checkFilesDir(marker.Identity().State); err != nil {
		return err
	}
	return f.err()
}

// checkFilesDir reports that the directory of the users' files is missing. The first start creates it before the marker says that it served.
func (f *findings) checkFilesDir(s State) error {
	if s != Serving {
		return nil
	}
	_, err := os.Stat(f.path(FilesDir))
	if errors.Is(err, fs.ErrNotExist) {
		f.filesOnly = len(f.problems) == 0
		f.add("%s is missing: all files that users have sent are in it", f.path(FilesDir))
		return nil
	}
	return err
}

// checkFilesAlone reports a directory that has users' files, but no marker and no store: it was served, and has lost them.
func (f *findings) checkFilesAlone() error {
	dir := f.path(FilesDir)
	found := errors.New("found a file")
	// With the separator, the walk follows a symbolic link to a directory elsewhere.
	err := filepath.WalkDir(dir+string(filepath.Separator), func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".part": // uploads that were never completed
			return fs.SkipDir
		case !e.IsDir():
			return found
		}
		return nil
	})
	if errors.Is(err, found) {
		f.addUnreadable("%s holds users' files, but %s, %s and %s are missing: accounts and messages were in them", dir, f.path(MarkerFile), f.path(DatabaseFile), f.path(TimelinesDir))
		return nil
	}
	return err
}

func (f *findings) path(name string) string { return filepath.Join(f.dir, name) }

// checkDatabase checks the database file. marker may be nil.
func (f *findings) checkDatabase(ctx context.Context, marker *Marker, maxBytes int64) error {
	path := f.path(DatabaseFile)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.addUnreadable("%s is missing: accounts, members and settings are in it", path)
		return nil
	case err != nil:
		return err
	case info.Size() == 0:
		f.addUnreadable("%s is empty: accounts, members and settings were in it", path)
		return nil
	}
	meta, damage, checked, err := sqldb.InspectFile(ctx, path, maxBytes)
	f.database, f.pagesChecked = meta, checked
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		f.addUnreadable("%s cannot be read: %v", path, err)
		return nil
	}
	for i, d := range damage {
		if i == 5 {
			f.addUnreadable("%s: and %d more", path, len(damage)-i)
			break
		}
		f.addUnreadable("%s: %s", path, d)
	}
	if marker == nil {
		return nil
	}
	id := marker.Identity().ID
	switch {
	case meta.ID == "" && damage == nil:
		f.addUnreadable("%s lacks the table that every data directory has: its write-ahead log %s-wal is missing, empty or damaged, or the file is another one", path, path)
	case meta.ID != id && damage == nil:
		f.add("%s is of another data directory (%.8s…) than %s (%.8s…)", path, meta.ID, f.path(MarkerFile), id)
	case meta.Commits < marker.Commits():
		f.add("%s lacks the last %d acknowledged transactions: its write-ahead log %s-wal is missing, cut or damaged, or the file is an older copy", path, marker.Commits()-meta.Commits, path)
	}
	return nil
}

// isDatabaseOnly reports whether a directory of an earlier release was only used for ids: a server creates the timelines before the table of
// conversations.
func (f *findings) isDatabaseOnly() bool {
	return len(f.problems) == 0 && f.database.ID == "" && !exists(f.path(TimelinesDir)) && !slices.Contains(f.database.Tables, "conversations")
}

// checkTimelines checks the files of the timelines.
func (f *findings) checkTimelines(marker *Marker) {
	dir := f.path(TimelinesDir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		f.addUnreadable("%s is missing: all messages are in it", dir)
		return
	}
	if err := pebblelog.CheckFiles(dir, nil); err != nil {
		f.addUnreadable("%v", err)
		return
	}
	if marker == nil {
		return
	}
	var expected []pebblelog.WALPosition
	for _, l := range marker.Logs() {
		expected = append(expected, pebblelog.WALPosition(l))
	}
	if err := pebblelog.CheckFiles(dir, expected); err != nil {
		for line := range strings.Lines(err.Error()) {
			f.add("%s", strings.TrimSpace(line))
		}
	}
}

// compareMeta compares what the timelines say with the marker and the database.
func (f *findings) compareMeta(id string, m pebblelog.Meta) {
	dir := f.path(TimelinesDir)
	if m.ID != id {
		f.add("%s is of another data directory (%.8s…) than %s (%.8s…)", dir, m.ID, f.path(MarkerFile), id)
		return
	}
	if m.Epoch < f.database.Epoch {
		f.add("%s is older than %s: it was started %d times, and the database knows of %d starts", dir, f.path(DatabaseFile), m.Epoch, f.database.Epoch)
	}
	if f.database.Commits < m.DatabaseCommits {
		f.add("%s is older than %s: it has %d transactions, and the timelines know of %d", f.path(DatabaseFile), dir, f.database.Commits, m.DatabaseCommits)
	}
}

// Compare lists the contradictions between the database and the timelines of a directory that Check found complete.
func Compare(dir string, records sqldb.Meta, timelines pebblelog.Meta) []string {
	f := &findings{dir: dir, database: records}
	marker, err := readMarker(dir, false)
	if err != nil {
		return nil // a release without markers, which has nothing to compare
	}
	defer marker.file.Close()
	if i := marker.Identity(); i.State == Serving {
		f.compareMeta(i.ID, timelines)
	}
	return f.problems
}

// Check lists what a directory lacks, as far as its files and the database show it. It changes nothing. A directory of a release without markers
// must have both stores.
func Check(ctx context.Context, dir string) error {
	f := &findings{dir: dir}
	marker, err := readMarker(dir, false)
	switch {
	case err == nil:
		defer marker.file.Close()
		switch marker.Identity().State {
		case Serving:
		case Adopting:
			marker = nil
		default:
			return fmt.Errorf("no server has run on %s, or its first start did not end: there is nothing to read", dir)
		}
	case errors.Is(err, errNoMarker):
		marker = nil
	default:
		f.add("%v", err)
		marker = nil
	}
	// The pages are checked by callers that read the whole database.
	if err := f.checkDatabase(ctx, marker, 0); err != nil {
		return err
	}
	f.checkTimelines(marker)
	if marker == nil && f.database.ID != "" && len(f.problems) == 0 {
		f.add("%s is missing: it says which stores belong together, and which positions they had reached", f.path(MarkerFile))
	}
	return f.err()
}
