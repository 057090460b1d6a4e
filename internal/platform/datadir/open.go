// Package datadir opens the stores of a data directory: the database, the timelines, and the marker, which records that they belong together and
// which position each had reached. After the first start, no missing part of a directory is created again: the server names what is missing and
// does not start. docs/formats/datadir.md has the marker's format.
package datadir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/filecopy"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"golang.org/x/sys/unix"
)

// Options of Open.
type Options struct {
	Logger   *slog.Logger
	Listener timeline.Listener
	// MoreThreads is that of pebblelog.Options.
	MoreThreads func()
	// Spare is how many bytes of disk space are kept in reserve for what must work on a full disk; 0 is 64 MiB.
	Spare uint64
	// CheckedAtStart is the size in bytes up to which the database's pages are checked before it is served; 0 is 64 MiB. Those of a larger
	// one are checked while it is served, because a start does not depend on the amount of data.
	CheckedAtStart int64
	// Files means that the directory holds the users' files. Otherwise they are elsewhere, or not used.
	Files bool
	// CacheReads is that of sqldb.Options.
	CacheReads func(name string) (count func(hits, misses int))
}

// Stores are the open stores of a data directory.
type Stores struct {
	DB  *sqldb.DB
	Log *pebblelog.Log

	dir          string
	logger       *slog.Logger
	cacheReads   func(name string) (count func(hits, misses int))
	marker       *Marker
	files        bool // the directory holds the users' files
	spare        *Spare
	lost         loss                                               // of what the stores lack, if that was accepted
	checkedSize  int64                                              // a database up to this size is checked at the start
	pagesChecked bool                                               // the database's pages were checked at the start
	pages        func(context.Context) (damage []string, err error) // checks the database's pages
	damaged      atomic.Pointer[string]
	damage       chan struct{} // closed at the first damage
	writeFailed  atomic.Bool   // a position could not be written, which was logged
}

// Open opens the stores of a directory, and creates them if none was ever served. The caller has locked the directory.
func Open(ctx context.Context, dir string, o Options) (_ *Stores, err error) {
	return open(ctx, dir, o, loss{})
}

// loss is what may be lost of a directory.
type loss struct {
	// accepted: the stores are opened despite losses, and marked as belonging together. Streams go on in a RestoredEpoch.
	accepted bool
	// starts is how often a server may have started since: devices may have positions of as many epochs that the stores do not know.
	starts uint32
}

// open opens the stores.
func open(ctx context.Context, dir string, o Options, lost loss) (_ *Stores, err error) {
	s, f := &Stores{dir: dir, logger: o.Logger, files: o.Files, lost: lost, checkedSize: cmp.Or(o.CheckedAtStart, maxCheckedAtStart), damage: make(chan struct{})}, &findings{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(ExplainFull(err), s.Close())
		}
	}()
	if err := s.openMarker(ctx, f); err != nil {
		return nil, err
	}
	if err := s.checkStores(ctx, f, true); err != nil {
		return nil, err
	}
	if s.spare, err = openSpare(dir, int64(min(cmp.Or(o.Spare, 64<<20), 1<<50)), o.Logger); err != nil {
		return nil, err
	}
	identity := s.marker.Identity()
	if err := s.openDatabase(ctx, f); err != nil {
		return nil, err
	}
	exist := identity.State == Serving || identity.State == Adopting
	s.Log, err = pebblelog.Open(filepath.Join(dir, TimelinesDir), pebblelog.Options{Logger: o.Logger, Listener: o.Listener, MoreThreads: o.MoreThreads, MustExist: exist,
		ID: identity.ID, Epoch: f.database.Epoch + lost.starts, Restored: lost.accepted, WALObserver: s.marker, DatabaseCommits: s.marker.Commits, Spare: s.spare,
		Check: func(m pebblelog.Meta) error { return s.checkIdentity(f, identity, m) }})
	if refused := (*DamagedError)(nil); exist && !errors.As(err, &refused) && pebblelog.IsCorruption(err) {
		f.addUnreadable("%v", err)
		err = f.err()
	}
	if err != nil {
		return nil, err
	}
	if err := s.DB.SetEpoch(ctx, s.Log.Epoch()); err != nil {
		return nil, err
	}
	if identity.State == Serving {
		return s, nil
	}
	if s.files {
		if err := createFilesDir(dir); err != nil {
			return nil, err
		}
	}
	return s, s.marker.SetState(Serving)
}

// OpenDatabase opens only the database of a directory, and creates it if the directory is new. It refuses what a server would refuse. The caller
// has locked the directory.
func OpenDatabase(ctx context.Context, dir string, logger *slog.Logger) (_ *Stores, err error) {
	s, f := &Stores{dir: dir, logger: logger, checkedSize: maxCheckedAtStart, damage: make(chan struct{})}, &findings{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(ExplainFull(err), s.Close())
		}
	}()
	if err := s.openMarker(ctx, f); err != nil {
		return nil, err
	}
	if err := s.checkStores(ctx, f, false); err != nil {
		return nil, err
	}
	if err := s.openDatabase(ctx, f); err != nil {
		return nil, err
	}
	if s.marker.Identity().State == Creating {
		err = s.marker.SetState(DatabaseOnly)
	}
	return s, err
}

// createFilesDir creates the directory of the users' files, durably, unless it exists.
func createFilesDir(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, FilesDir), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return filecopy.SyncDir(dir)
}

// checkStores checks that the directory has what its state requires.
func (s *Stores) checkStores(ctx context.Context, f *findings, timelines bool) error {
	identity := s.marker.Identity()
	if identity.State == Creating {
		return nil
	}
	marker := s.marker
	if identity.State == Adopting {
		marker = nil // the stores may not have the id yet
	}
	known := exists(f.path(DamageFile))
	size := s.checkedSize
	if known {
		size = math.MaxInt64
	}
	if err := f.checkDatabase(ctx, marker, size); err != nil {
		return err
	}
	if known && len(f.problems) == 0 { // it was repaired, or replaced by a backup
		if err := os.Remove(f.path(DamageFile)); err != nil {
			return err
		}
	}
	if timelines && identity.State != DatabaseOnly {
		f.checkTimelines(marker)
	}
	if s.files {
		if err := f.checkFilesDir(identity.State); err != nil {
			return err
		}
	}
	return f.err()
}

// openDatabase opens the database, after checkStores.
func (s *Stores) openDatabase(ctx context.Context, f *findings) (err error) {
	identity := s.marker.Identity()
	exist := identity.State != Creating
	s.pagesChecked = f.pagesChecked || !exist
	s.DB, err = sqldb.OpenWith(ctx, f.path(DatabaseFile), sqldb.Options{Logger: s.logger, CacheReads: s.cacheReads,
		Store: sqldb.StoreOptions{MustExist: exist, ID: identity.ID, Committed: s.committed, Release: s.spare.Release, Damaged: s.pageDamaged}})
	s.pages = func(ctx context.Context) ([]string, error) { return sqldb.CheckPages(ctx, s.DB.Read(), false) }
	if err == nil && len(f.database.Tables) > 0 && !f.database.Checksums {
		s.logger.Warn("the database's pages have no checksums, because an earlier build created the file: corruption may stay undetected", "file", f.path(DatabaseFile))
	}
	return err
}

// checkIdentity checks that the timelines belong to the directory.
func (s *Stores) checkIdentity(f *findings, identity Identity, m pebblelog.Meta) error {
	switch {
	case s.lost.accepted:
		return nil
	case identity.State == Serving:
		f.compareMeta(identity.ID, m)
	case m.ID != "" && m.ID != identity.ID:
		f.add("%s is missing, and %s has been served with one", f.path(MarkerFile), f.path(TimelinesDir))
	}
	return f.err()
}

// openMarker opens the marker. It creates one if there is no store yet, or if both stores are of a release without markers.
func (s *Stores) openMarker(ctx context.Context, f *findings) (err error) {
	s.marker, err = readMarker(s.dir, true)
	if err == nil {
		return nil
	}
	if !errors.Is(err, errNoMarker) {
		f.add("%v", err)
		return f.err()
	}
	state := Creating
	if exists(f.path(DatabaseFile)) || exists(f.path(TimelinesDir)) {
		if err := f.checkDatabase(ctx, nil, 0); err != nil {
			return err
		}
		if !f.isDatabaseOnly() {
			f.checkTimelines(nil)
			state = Adopting
		}
		if f.database.ID != "" {
			f.add("%s is missing: it says which stores belong together, and which positions they had reached", f.path(MarkerFile))
		}
		if err := f.err(); err != nil {
			return err
		}
	} else if err := errors.Join(f.checkFilesAlone(), f.err()); err != nil {
		return err
	}
	s.marker, err = createMarker(s.dir, state)
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ExplainFull adds to an error at the start that the disk is full, if that is its cause.
func ExplainFull(err error) error {
	if errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("the disk is full: free some space and start again (%w)", err)
	}
	return err
}

func (s *Stores) committed(n uint64) {
	if err := s.marker.Committed(n); err != nil && !s.writeFailed.Swap(true) {
		s.logger.Error("could not write the database's position to the marker: a loss may go unnoticed at the next start", "error", err)
	}
}

// Run syncs the marker about once a second, refills the spare disk space, and meanwhile checks the pages of a large database once. It ends with a
// DamagedError when the database is found to be damaged: what a server reads and writes afterwards may be wrong.
func (s *Stores) Run(ctx context.Context) error {
	var check sync.WaitGroup
	defer check.Wait()
	checking, stopChecking := context.WithCancel(ctx)
	defer stopChecking()
	if !s.pagesChecked {
		check.Go(func() { s.checkPages(checking) })
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.damage:
			return &DamagedError{Dir: s.dir, Problems: []string{filepath.Join(s.dir, DatabaseFile) + ": " + s.Damaged()}, WhileServed: true}
		case <-tick.C:
			if err := s.marker.Sync(); err != nil && !s.writeFailed.Swap(true) {
				s.logger.Error("could not sync the marker: a loss may go unnoticed after a power failure", "error", err)
			}
			s.spare.Restore()
		}
	}
}

// maxPageChecks is how often a check that fails is tried, within about two hours.
const maxPageChecks = 8

// checkPages checks the database's pages. Only what it finds in them is damage: a check that fails for another reason, such as too many open
// files, is repeated later.
func (s *Stores) checkPages(ctx context.Context) {
	file, retry := filepath.Join(s.dir, DatabaseFile), backoff.New(time.Minute, time.Hour)
	for failed := 1; ; failed++ {
		found, err := s.pages(ctx)
		if sqldb.IsCorruption(err) {
			found, err = append(found, err.Error()), nil
		}
		for _, d := range found {
			s.recordDamage(d)
		}
		switch {
		case len(found) > 0 || err == nil || ctx.Err() != nil:
			return
		case failed == maxPageChecks:
			s.logger.Error("the database's pages could not be checked: whether they are damaged is unknown; remove the cause, and restart the server or run rialto verify", "file", file, "attempts", failed, "error", err)
			return
		}
		s.logger.Warn("the database's pages could not be checked; the check is repeated later", "file", file, "attempts", failed, "error", err)
		if retry.Wait(ctx) != nil {
			return
		}
	}
}

// pageDamaged is called for the first page that a statement could not read.
func (s *Stores) pageDamaged(err error) { s.recordDamage(err.Error()) }

func (s *Stores) recordDamage(damage string) {
	s.logger.Error("the database is damaged: the server stops; run rialto verify, and restore a backup", "file", filepath.Join(s.dir, DatabaseFile), "damage", damage)
	if !s.damaged.CompareAndSwap(nil, &damage) {
		return
	}
	if err := os.WriteFile(filepath.Join(s.dir, DamageFile), []byte(damage+"\n"), 0o600); err != nil {
		s.logger.Error("the damage could not be recorded: the next start may serve the database until it finds the damage again", "error", err)
	}
	close(s.damage)
}

// Damaged describes known damage of the database; empty if there is none.
func (s *Stores) Damaged() string {
	if d := s.damaged.Load(); d != nil {
		return *d
	}
	return ""
}

// Close closes the stores. The database is last: the timelines store its position when they close.
func (s *Stores) Close() (err error) {
	if s.Log != nil {
		err = errors.Join(err, s.Log.Close())
	}
	if s.DB != nil {
		err = errors.Join(err, s.DB.Close())
	}
	if s.marker != nil {
		err = errors.Join(err, s.marker.Close())
	}
	return errors.Join(err, s.spare.Close())
}
