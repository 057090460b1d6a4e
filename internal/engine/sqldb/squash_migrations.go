package sqldb

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// squash executes what leaves in the database of a transaction what a package's first steps would. It reports false, and does nothing, if the steps have to run.
func (d *DB) squash(ctx context.Context, tx *sql.Tx, done int, steps []string) (bool, error) {
	if done > 0 || d.dialect.squash == nil {
		return false, nil
	}
	named := make([]string, len(steps))
	for i, step := range steps {
		named[i] = d.dialect.typeNames.Replace(step)
	}
	statements, ok := d.dialect.squash(ctx, named)
	if !ok {
		return false, nil
	}
	return true, execEach(ctx, tx, statements)
}

// squashMigrations returns statements that create in an empty file of SQLite what a package's steps would leave there, each table at once. SQLite parses the whole schema
// again after each ALTER, which would take most of a first start. So the steps run in memory, where nothing but the package's tables is, and SQLite tells the result.
// It returns false if the steps have to run in the file: none alters a table, one failed, which the file reports, or they left rows.
func squashMigrations(ctx context.Context, steps []string) ([]string, bool) {
	if !slices.ContainsFunc(steps, func(step string) bool { return strings.HasPrefix(step, "ALTER ") }) {
		return nil, false
	}
	db, err := openCached(":memory:", nil)
	if err != nil {
		return nil, false
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection has a database of its own
	if err := execEach(ctx, db, steps); err != nil {
		return nil, false
	}
	var statements, tables []string
	rows, err := db.QueryContext(ctx, `SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid`)
	err = EachRow(rows, err, func(rows *sql.Rows) error {
		var kind, name, statement string
		if err := rows.Scan(&kind, &name, &statement); err != nil {
			return err
		}
		if statements = append(statements, statement); kind == "table" {
			tables = append(tables, name)
		}
		return nil
	})
	if err != nil {
		return nil, false
	}
	for _, name := range tables {
		var filled bool
		if err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+name+`)`).Scan(&filled); err != nil || filled {
			return nil, false
		}
	}
	return statements, true
}

func execEach(ctx context.Context, db interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, statements []string) error {
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
