package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"golang.org/x/sys/unix"
)

func insert(db *sqldb.DB, t *testing.T, n int, name string) error {
	return db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO things (n, name) VALUES ($1, $2)`, n, name)
		return err
	})
}

func stored(t *testing.T, db *sqldb.DB) map[int]bool {
	t.Helper()
	rows, err := db.Read().QueryContext(t.Context(), `SELECT n FROM things`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[int]bool{}
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		all[n] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// The settings of the connection make a commit durable. A test that only kills the process would not notice wrong ones.
func TestEachCommitIsSynced(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "records.db"))
	defer db.Close()
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1"} {
		var got string
		if err := db.Write(t.Context(), func(tx *sql.Tx) error { return tx.QueryRow("PRAGMA " + pragma).Scan(&got) }); err != nil || got != want {
			t.Errorf("%s is %q (%v), and must be %s", pragma, got, err, want)
		}
	}
}

// meet lets writers share few transactions, and returns the error of each.
func meet(t *testing.T, db *sqldb.DB, from, count int, name string) []error {
	outcome := make([]error, count)
	var wait sync.WaitGroup
	for i := range outcome {
		wait.Go(func() { outcome[i] = insert(db, t, from+i, name) })
	}
	wait.Wait()
	return outcome
}

// On a full or failing disk writers get an error with the reason. Acknowledged writes are stored, failed ones are not, reads continue, and
// writes continue when there is space again.
func TestAFullDiskFailsWritesWithItsReason(t *testing.T) {
	// Larger than any existing page, so each insert needs space.
	name := strings.Repeat("x", 10_000)
	for _, c := range []struct {
		reason     string
		shut, open func(t *testing.T, db *sqldb.DB, path string)
	}{
		{"storage_full", func(t *testing.T, db *sqldb.DB, _ string) { pages(t, db, 60) }, func(t *testing.T, db *sqldb.DB, _ string) { pages(t, db, 1<<30) }},
		{"storage", func(t *testing.T, _ *sqldb.DB, path string) {
			info, err := os.Stat(path + "-wal")
			if err != nil {
				t.Fatal(err)
			}
			sizeOfFiles(t, uint64(info.Size())+100_000)
		}, func(t *testing.T, _ *sqldb.DB, _ string) { sizeOfFiles(t, unix.RLIM_INFINITY) }},
	} {
		t.Run(c.reason, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "records.db")
			db := open(t, path)
			defer db.Close()
			if err := insert(db, t, 1, name); err != nil {
				t.Fatal(err)
			}
			want := map[int]bool{1: true}
			c.shut(t, db, path)
			refused := 0
			for round := range 3 {
				for i, err := range meet(t, db, 100*(round+1), 60, name) {
					e := errs.Of(err)
					switch {
					case err == nil:
						want[100*(round+1)+i] = true
					case e.Kind == errs.Unavailable && e.Reason == c.reason && e.Cause != nil:
						refused++
					default:
						t.Errorf("a writer got %v", err)
					}
				}
			}
			if refused == 0 {
				t.Error("no writer failed")
			}
			if got := stored(t, db); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("stored %v, acknowledged %v", got, want)
			}
			c.open(t, db, path)
			for i, err := range meet(t, db, 1000, 20, name) {
				if want[1000+i] = true; err != nil {
					t.Errorf("with space again: %v", err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = open(t, path)
			defer db.Close()
			if got := stored(t, db); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("after a restart: stored %v, acknowledged %v", got, want)
			}
		})
	}
}

// pages limits the file's size like a full disk.
func pages(t *testing.T, db *sqldb.DB, most int) {
	t.Helper()
	if err := db.Write(t.Context(), func(tx *sql.Tx) error {
		var got int
		return tx.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", most)).Scan(&got)
	}); err != nil {
		t.Fatal(err)
	}
}

// sizeOfFiles makes writes of this process beyond a size fail.
func sizeOfFiles(t *testing.T, most uint64) {
	t.Helper()
	var now unix.Rlimit
	if err := unix.Prlimit(0, unix.RLIMIT_FSIZE, nil, &now); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(0, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: min(most, now.Max), Max: now.Max}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Prlimit(0, unix.RLIMIT_FSIZE, &now, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestDamagedFilesAreNotOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records.db")
	db := open(t, path)
	for n := range 200 {
		if err := insert(db, t, n, "a name"); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"another's header": func(b []byte) []byte { copy(b, "SQLite format 2"); return b },
		"no more than 100": func(b []byte) []byte { return b[:100] },
		"half":             func(b []byte) []byte { return b[:len(b)/2] },
		"a schema of zeros": func(b []byte) []byte {
			clear(b[100:4096])
			return b
		},
	} {
		bad := filepath.Join(t.TempDir(), "records.db")
		if err := os.WriteFile(bad, change(append([]byte(nil), good...)), 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := sqldb.Open(t.Context(), bad)
		if err == nil {
			t.Errorf("%s: the file was opened", name)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		} else if !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v does not name the file", name, err)
		}
	}
}

func TestFailedMigrationsContinueAtTheirStep(t *testing.T) { onBoth(t, testMigrationsThatFail) }

func testMigrationsThatFail(t *testing.T, place string) {
	db := open(t, place)
	steps := []string{`CREATE TABLE others (n BIGINT PRIMARY KEY)`, `CREATE TABLE nonsense (`, `CREATE TABLE later (n BIGINT)`}
	err := db.Migrate(t.Context(), "component", steps)
	if err == nil || !strings.Contains(err.Error(), "migration 1 of component") {
		t.Fatalf("the second step failed with %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, place)
	defer db.Close()
	steps[1] = `CREATE TABLE sense (n BIGINT)`
	if err := db.Migrate(t.Context(), "component", steps); err != nil { // continues after the first step, which would fail now
		t.Fatal(err)
	}
	if err := db.Migrate(t.Context(), "another component", steps[2:]); err == nil {
		t.Error("another component's step of that number counted as done")
	}
}

// A number of a deleted row is not assigned to another row, also after a restart.
func TestNumbersAreAssignedOnce(t *testing.T) { onBoth(t, testNumbers) }

func testNumbers(t *testing.T, place string) {
	var last int64
	for range 2 {
		db := open(t, place)
		if err := db.Migrate(t.Context(), "numbers", []string{`CREATE TABLE numbered (n {number}, name TEXT NOT NULL)`}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var n int64
			if err := db.Write(t.Context(), func(tx *sql.Tx) error {
				return tx.QueryRow(`INSERT INTO numbered (name) VALUES ('x') RETURNING n`).Scan(&n)
			}); err != nil {
				t.Fatal(err)
			}
			if n <= last {
				t.Errorf("number %d was assigned after %d", n, last)
			}
			last = n
			if err := db.Write(t.Context(), func(tx *sql.Tx) error {
				_, err := tx.Exec(`DELETE FROM numbered`)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// When the database closes, each waiting writer is stored or gets an error.
func TestCloseAnswersEveryWriter(t *testing.T) { onBoth(t, testClosing) }

func testClosing(t *testing.T, place string) {
	db := open(t, place)
	outcome := make([]error, 300)
	var wait, begun sync.WaitGroup
	begun.Add(len(outcome) / 2)
	for i := range outcome {
		wait.Go(func() {
			if i%2 == 0 {
				begun.Done()
			} else {
				begun.Wait()
			}
			outcome[i] = insert(db, t, i, "")
		})
	}
	begun.Wait()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	if err := insert(db, t, 1000, ""); !errs.Is(err, errs.Unavailable) {
		t.Errorf("a closed database returned %v", err)
	}
	want := map[int]bool{}
	for i, err := range outcome {
		if err == nil {
			want[i] = true
		} else if e := errs.Of(err); e.Reason != "closing" {
			t.Errorf("writer %d: %v", i, err)
		}
	}
	db = open(t, place)
	defer db.Close()
	if got := stored(t, db); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("stored %v, acknowledged %v", got, want)
	}
}

func TestACancelledWriterIsNotRun(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "records.db"))
	defer db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // each attempt could win a race with the check of the context
		if err := db.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.Exec(`INSERT INTO things (n) VALUES (7)`)
			return err
		}); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled writer got %v", err)
		}
	}
	if got := stored(t, db); len(got) != 0 {
		t.Errorf("stored %v", got)
	}
}

// A caller that cancels a running statement ends it and its transaction. The other writers of the batch are not affected, nor by a caller
// whose deadline passes, which looks like an unavailable database.
func TestACancelledWriterDoesNotAffectOthers(t *testing.T) {
	testAWriterWhoGoes(t, sqltest.Schema(t, sqltest.Postgres(t)), func(ctx context.Context) context.Context { return ctx })
	onBoth(t, func(t *testing.T, place string) { // each takes long on SQLite, with the race detector
		testAWriterWhoGoes(t, place, func(ctx context.Context) context.Context { return over{ctx} })
	})
}

// over is a context that reports DeadlineExceeded when it has ended.
type over struct{ context.Context }

func (o over) Err() error {
	if o.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

func testAWriterWhoGoes(t *testing.T, place string, as func(context.Context) context.Context) {
	db := open(t, place)
	defer db.Close()
	alone := errors.New("no other writer is in the transaction")
	for round, gone := 0, false; !gone; round++ {
		var (
			mu   sync.Mutex // guards met
			met  = map[*sql.Tx]bool{}
			wait sync.WaitGroup
		)
		hold, running, went := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		for i := range 10 {
			wait.Go(func() {
				if err := db.Write(t.Context(), func(tx *sql.Tx) error {
					<-hold
					mu.Lock()
					met[tx] = true
					mu.Unlock()
					_, err := tx.Exec(`INSERT INTO things (n) VALUES ($1)`, 10*round+i)
					return err
				}); err != nil {
					t.Errorf("a writer beside a cancelled one: %v", err)
				}
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		ctx = as(ctx)
		wait.Go(func() {
			went <- db.Write(ctx, func(tx *sql.Tx) error {
				<-hold
				mu.Lock()
				ok := met[tx]
				mu.Unlock()
				if !ok {
					return alone
				}
				close(running)
				_, err := tx.ExecContext(ctx, `WITH RECURSIVE c(n) AS (SELECT 100000 UNION ALL SELECT n + 1 FROM c) INSERT INTO things (n) SELECT n FROM c`)
				return err
			})
		})
		runtime.Gosched()
		close(hold)
		select {
		case <-running:
			eventually.True(t, "the endless statement runs", func() bool { return endlessUnderWay(t, db, place) })
			gone = true
			cancel()
			if err := <-went; err == nil {
				t.Error("a cancelled writer succeeded")
			}
		case err := <-went:
			if !errors.Is(err, alone) {
				t.Fatalf("error %v, want %v", err, alone)
			}
		}
		cancel()
		wait.Wait()
		if got := stored(t, db); len(got) != 10*(round+1) {
			t.Fatalf("%d rows are stored after round %d, want those of the ten others", len(got), round)
		}
	}
}

// endlessUnderWay reports whether the endless statement is running.
func endlessUnderWay(t *testing.T, db *sqldb.DB, place string) bool {
	if strings.HasPrefix(place, "postgres") {
		var n int
		if err := db.Read().QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'WITH RECURSIVE c(n)%'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n > 0
	}
	wal, err := os.Stat(place + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return wal.Size() > 1<<20 // its pages no longer fit in memory
}
