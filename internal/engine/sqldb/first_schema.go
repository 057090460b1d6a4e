package sqldb

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// firstSchema returns statements that create in an empty file of SQLite what a package's first steps make there, each table at once. SQLite parses the whole schema of a
// file after each ALTER, which would be most of the time of a first start. So the steps run in memory, where nothing but the package's tables is, and SQLite tells the
// result. It returns false if the steps have to run in the file: none alters a table, one failed, which the file reports, or they left rows.
func firstSchema(ctx context.Context, steps []string) ([]string, bool) {
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
