package move

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/platform/datadir"
)

// Names in a data directory.
const (
	recordsFile  = "records.db"
	timelinesDir = "timeline"
	filesDir     = "blobs"
	lockFile     = "LOCK"
)

// source is a data directory, locked and opened read-only.
type source struct {
	dir    string
	lock   *os.File
	db     *sql.DB
	log    sourceLog
	tables []table
	// id identifies the store; its copies have the same id. epoch counts the starts of servers on it.
	id    string
	epoch uint32
	// restored is the epoch that began when entries were lost.
	restored uint32
}

// table of the records.
type table struct {
	name, statement string
	columns         []column
	indexes         []string // statements
}

// column of a table; kind is its declared type.
type column struct{ name, kind string }

func (t table) columnNames() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

func openSource(ctx context.Context, dir string, logger *slog.Logger) (_ *source, err error) {
	s := &source{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for _, name := range []string{recordsFile, timelinesDir} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("%s is not a data directory of embedded engines: %w", dir, err)
		}
	}
	if s.lock, err = lockDir(dir); err != nil {
		return nil, err
	}
	if err := datadir.Check(ctx, dir); err != nil {
		return nil, err
	}
	if s.db, err = sqldb.OpenReadOnly(filepath.Join(dir, recordsFile)); err != nil {
		return nil, err
	}
	log, err := pebblelog.Open(filepath.Join(dir, timelinesDir), pebblelog.Options{ReadOnly: true, Logger: logger})
	if err != nil {
		return nil, err
	}
	s.log, s.epoch, s.restored = directoryLog{log}, log.Epoch(), log.RestoredEpoch()
	if err := s.readTables(ctx); err != nil {
		return nil, fmt.Errorf("the records in %s: %w", dir, err)
	}
	if s.id, err = s.identify(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// lockDir prevents a server from starting during the move.
func lockDir(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use; stop the server first", dir), lock.Close())
	}
	return lock, nil
}

func (s *source) close() (err error) {
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

// strings returns the first column of a query.
func (s *source) strings(ctx context.Context, query string, args ...any) (list []string, err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}

func (s *source) readTables(ctx context.Context) error {
	names, err := s.strings(ctx, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@' AND name <> $1 ORDER BY name`, sqldb.StoreTable)
	if err != nil {
		return err
	}
	for _, name := range names {
		t := table{name: name}
		if err := s.db.QueryRowContext(ctx, `SELECT sql FROM sqlite_master WHERE type = 'table' AND name = $1`, name).Scan(&t.statement); err != nil {
			return err
		}
		if t.indexes, err = s.strings(ctx, `SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = $1 AND sql IS NOT NULL ORDER BY name`, name); err != nil {
			return err
		}
		columns, err := s.strings(ctx, `SELECT name || ' ' || type FROM pragma_table_info($1) ORDER BY cid`, name)
		if err != nil {
			return err
		}
		for _, c := range columns {
			name, kind, _ := strings.Cut(c, " ")
			t.columns = append(t.columns, column{name, strings.ToUpper(kind)})
		}
		s.tables = append(s.tables, t)
	}
	return nil
}

// lastNumber returns the highest number that the database has assigned in a table, whose row may be deleted; 0 if it does not know.
func (s *source) lastNumber(ctx context.Context, t table) (n int64, err error) {
	if strings.Contains(t.statement, "AUTOINCREMENT") {
		err = s.db.QueryRowContext(ctx, `SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = $1`, t.name).Scan(&n)
	}
	return n, err
}

// identify returns the id of the store: a hash of its secrets, which are generated at the first start and never change.
func (s *source) identify(ctx context.Context) (string, error) {
	secrets, err := s.strings(ctx, `SELECT name || ' ' || hex(value) FROM secrets ORDER BY name`)
	if err != nil || len(secrets) == 0 {
		return "", errors.Join(fmt.Errorf("%s has no secrets, so no server has run on it", s.dir), err)
	}
	sum := sha256.New()
	for _, text := range secrets {
		fmt.Fprintln(sum, text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}
