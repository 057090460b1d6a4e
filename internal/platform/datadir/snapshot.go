package datadir

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// BackupDir has what a backup in progress copies: links to the timelines' tables, and files that were deleted meanwhile.
const BackupDir = "backup"

// Identity of the directory.
func (s *Stores) Identity() Identity { return s.marker.Identity() }

// Cut copies the timelines into a new directory, with links where the file system allows it, and returns a snapshot of the database of the same moment:
// what each store has then is what a killed process would leave. Messages are appended meanwhile; transactions of the database wait while the
// timelines are linked. The caller closes the snapshot, and removes the directory.
func (s *Stores) Cut(ctx context.Context, timelines string) (*sqldb.FileSnapshot, error) {
	if damage := s.Damaged(); damage != "" {
		return nil, &DamagedError{Dir: s.dir, Problems: []string{damage}, WhileServed: true}
	}
	if err := s.Log.Flush(); err != nil { // else the database would wait while logs are copied
		return nil, err
	}
	return s.DB.SnapshotFile(ctx, func() error {
		if err := os.RemoveAll(timelines); err != nil { // of an attempt whose commit failed
			return err
		}
		return s.Log.CopyTo(timelines)
	})
}

// RemoveBackupFiles removes what a backup that was interrupted has left in a directory. The caller has locked the directory.
func RemoveBackupFiles(dir string) error {
	if err := os.RemoveAll(filepath.Join(dir, BackupDir)); err != nil {
		return errors.Join(errors.New("what an interrupted backup left cannot be removed"), err)
	}
	return nil
}
