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
)

// markFile in a data directory that was moved.
const markFile = "MOVED"

// putMark says in a data directory where its records and timelines are now, durably.
func putMark(dir, where string) (err error) {
	path := filepath.Join(dir, markFile)
	f, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s on %s\n", where, time.Now().UTC().Format(time.RFC3339))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// CheckSource says why a data directory may not be served with its embedded engines: it was moved.
func CheckSource(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, markFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("what is in %s was moved to %s; start with that configuration, as postgres=ADDRESS. To go back to the directory, and lose what came after the move: rialto move --data %s --undo", dir, strings.TrimSpace(string(b)), dir)
}

// Undo takes the mark away: the directory can be served again, as it was.
func Undo(dir string) error {
	lock, err := hold(dir)
	if err != nil {
		return err
	}
	err = os.Remove(filepath.Join(dir, markFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s was not moved", dir)
	}
	return errors.Join(err, lock.Close())
}

// CheckTarget says why a PostgreSQL may not be served: a move into it is not complete.
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
		return errors.New("a move into this database is not complete; run rialto move again, with the same directory and target, and it goes on")
	}
	return nil
}
