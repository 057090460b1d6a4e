package sqldb_test

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/base/tracing/tracingtest"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// A transaction and its statements are in the trace of who asks for them, without texts and arguments. Others leave no trace.
func TestStatementsAreTraced(t *testing.T) {
	system := "sqlite"
	if sqltest.OnPostgres() {
		system = "postgresql"
	}
	d, err := sqldb.Open(t.Context(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Migrate(t.Context(), "traced", []string{`CREATE TABLE traced (name TEXT PRIMARY KEY)`}); err != nil {
		t.Fatal(err)
	}
	r := tracingtest.New(t)
	ctx, call := r.Root("call")
	if err := d.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO traced (name) VALUES ($1)`, "a secret")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	var name string
	if err := d.Read().QueryRowContext(ctx, `SELECT name FROM traced WHERE name = $1`, "a secret").Scan(&name); err != nil || name != "a secret" {
		t.Fatalf("the query returns %q, error %v; want the stored name", name, err)
	}
	if err := d.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO traced (name) VALUES ($1)`, "a secret")
		return err
	}); !sqldb.IsUnique(err) {
		t.Fatalf("error %v, want one of a unique key", err)
	}
	if err := d.Read().QueryRowContext(t.Context(), `SELECT name FROM traced`).Scan(&name); err != nil {
		t.Fatal(err)
	}
	call.End(nil)
	var got []string
	for _, s := range r.Spans() {
		text := s.Name + " in " + s.Parent
		if s.Name == "sql.statement" {
			text = s.Attributes["db.query.summary"] + " in " + s.Parent
			if len(s.Attributes) > 3 || s.Attributes["db.system.name"] != system {
				t.Errorf("a statement has %v", s.Attributes)
			}
		}
		if s.Failure != "" {
			text += " failed"
		}
		got = append(got, text)
	}
	if want := []string{"INSERT traced in call", "sql.transaction in call", "SELECT traced in call", "INSERT traced in call failed", "sql.transaction in call failed", "call in "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
