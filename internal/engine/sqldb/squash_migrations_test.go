package sqldb

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"
)

// schemaSteps change tables as packages do from release to release.
var schemaSteps = []string{
	`CREATE TABLE users (id BIGINT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (id)) WITHOUT ROWID`,
	`CREATE INDEX users_by_name ON users (name)`,
	`ALTER TABLE users ADD COLUMN born_ms BIGINT NOT NULL DEFAULT 0`,
	`UPDATE users SET born_ms = 1`,
	`CREATE TABLE letters (n {number}, user_id BIGINT REFERENCES users (id), body {bytes}); CREATE INDEX letters_by_user ON letters (user_id)`,
	`CREATE TABLE old (n BIGINT)`,
	`ALTER TABLE old RENAME TO renamed`,
	`DROP INDEX users_by_name`,
	`CREATE UNIQUE INDEX users_by_name ON users (name) WHERE name <> ''`,
}

// migrated opens a new file, and runs the first steps of a package, with each of some counts of them.
func migrated(t *testing.T, steps []string, counts ...int) *DB {
	t.Helper()
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, n := range counts {
		if err := db.Migrate(t.Context(), "component", steps[:n]); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// TestASquashedSchemaIsThatOfTheSteps: a new file has the schema of one that was changed step by step.
func TestASquashedSchemaIsThatOfTheSteps(t *testing.T) {
	schema := func(counts ...int) []string {
		rows, err := migrated(t, schemaSteps, counts...).Read().QueryContext(t.Context(), `SELECT type || ' ' || name || ' of ' || tbl_name || ': ' || coalesce(sql, '') FROM sqlite_master ORDER BY 1`)
		list, err := Collect(rows, err, func(scan func(...any) error) (line string, err error) {
			err = scan(&line)
			return line, err
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	want := schema(1, 2, 3, 4, 5, 6, 7, 8, 9)
	for _, counts := range [][]int{{9}, {3, 9}, {8, 9}} {
		if got := schema(counts...); !slices.Equal(got, want) {
			t.Errorf("after %v steps the schema is\n%q\nwant\n%q", counts, got, want)
		}
	}
	named := migrated(t, nil).dialect.typeNames
	steps := slices.Clone(schemaSteps)
	for i, step := range steps {
		steps[i] = named.Replace(step)
	}
	if statements, ok := squashMigrations(t.Context(), steps); !ok || len(statements) != 5 { // three tables, two indexes
		t.Errorf("the schema is created by %q", statements)
	}
}

// TestRowsOfStepsAreKept: steps that write rows run in the file, and none runs twice.
func TestRowsOfStepsAreKept(t *testing.T) {
	steps := []string{`CREATE TABLE versions (version BIGINT NOT NULL)`, `INSERT INTO versions VALUES (7)`, `ALTER TABLE versions ADD COLUMN name TEXT NOT NULL DEFAULT 'seed'`, `UPDATE versions SET version = version + 1`}
	db := migrated(t, steps, 4, 4)
	var count, version int
	var name string
	err := db.ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRowContext(t.Context(), `SELECT count(*), max(version), max(name) FROM versions`).Scan(&count, &version, &name)
	})
	if err != nil || count != 1 || version != 8 || name != "seed" {
		t.Errorf("there are %d rows, with version %d and name %q: %v", count, version, name, err)
	}
}
