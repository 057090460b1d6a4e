package move

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/filecopy"
)

// markerFile is the marker in a data directory that was moved.
const markerFile = "MOVED"

// writeMarker stores durably in a data directory where its records and timelines were moved.
func writeMarker(dir, where string) (err error) {
	return filecopy.Replace(filepath.Join(dir, markerFile), fmt.Appendf(nil, "%s on %s\n", where, time.Now().UTC().Format(time.RFC3339)))
}

// CheckSource returns an error if a data directory was moved, and so may not be served with its embedded engines.
func CheckSource(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, markerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("the data in %s was moved to %s; start with that configuration, such as postgres=ADDRESS. To return to the directory, and lose everything stored since the move: rialto move --data %s --undo", dir, strings.TrimSpace(string(b)), dir)
}

// Undo removes the marker, so that the directory can be served again, unchanged.
func Undo(dir string) error {
	lock, err := lockDir(dir)
	if err != nil {
		return err
	}
	err = os.Remove(filepath.Join(dir, markerFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s was not moved", dir)
	}
	return errors.Join(err, lock.Close())
}

// CheckTarget returns an error if a move into a database is incomplete, and so the database may not be served.
func CheckTarget(ctx context.Context, db *sql.DB) error {
	var there bool
	if err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'moves')`).Scan(&there); err != nil || !there {
		return err
	}
	var open int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM moves WHERE ended IS NULL`).Scan(&open); err != nil {
		return err
	}
	if open > 0 {
		return errors.New("a move into this database is not complete; run rialto move again with the same directory and target to resume it")
	}
	return nil
}
