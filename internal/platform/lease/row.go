// Package lease has what all leases in the SQL database share: rows that say who holds something and in which term (Table), who is alive
// (Heartbeats), and how long a holder may rely on its own lease (Validity).
//
// A lease has a row with a holder, a term that rises with each holder, and a mark. The mark is a number that its holders only raise: the
// step of an outbox, the bound of a section of ids, or the time up to which a worker may generate ids. Each change of a row is a compare-and-set
// from the row that the caller read, so that one of two concurrent callers fails. Writes to other stores under a lease carry its term.
//
// No clock of another machine is ever compared. A holder considers itself the holder only until its own clock says otherwise, and others
// consider it dead only when their own clocks have measured a longer silence.
//
// It may use sqldb. A Table is safe for concurrent use. Each user has a table of its own, because transactions of one table can conflict.
package lease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Key identifies a lease within a table.
type Key struct {
	Kind   string
	Number uint64
}

// Row is the state of a lease. The zero Row stands for a lease that nobody has held.
type Row struct {
	// Holder is the node, machine or process that holds the lease; "" if nobody does.
	Holder string
	// Token identifies the process, or the write, where the holder's name does not.
	Token string
	// Term rises with each holder. It is at least 1.
	Term uint64
	// Mark is raised by the holders.
	Mark uint64
}

// Change of a row. It is made only if the row is still Old.
type Change struct {
	Key
	Old, New Row
}

// Table is the name of a table of leases.
type Table string

// Create is the statement that creates the table.
func (t Table) Create() string {
	return `CREATE TABLE ` + string(t) + ` (kind TEXT NOT NULL, number BIGINT NOT NULL, holder TEXT NOT NULL, token TEXT NOT NULL, term BIGINT NOT NULL, mark BIGINT NOT NULL,
		PRIMARY KEY (kind, number))`
}

// Get returns a lease's row.
func (t Table) Get(ctx context.Context, q sqldb.Querier, k Key) (r Row, err error) {
	row := q.QueryRowContext(ctx, `SELECT holder, token, term, mark FROM `+string(t)+` WHERE kind = $1 AND number = $2`, k.Kind, int64(k.Number))
	if err := row.Scan(&r.Holder, &r.Token, &r.Term, &r.Mark); !errors.Is(err, sql.ErrNoRows) {
		return r, err
	}
	return Row{}, nil
}

// List returns the rows of a kind, or of all kinds if it is "".
func (t Table) List(ctx context.Context, q sqldb.Querier, kind string) (map[Key]Row, error) {
	rows, err := q.QueryContext(ctx, `SELECT kind, number, holder, token, term, mark FROM `+string(t)+` WHERE kind = $1 OR $1 = ''`, kind)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[Key]Row{}
	for rows.Next() {
		var k Key
		var r Row
		if err := rows.Scan(&k.Kind, &k.Number, &r.Holder, &r.Token, &r.Term, &r.Mark); err != nil {
			return nil, err
		}
		all[k] = r
	}
	return all, rows.Err()
}

// Swap makes one change, and reports whether it did.
func (t Table) Swap(ctx context.Context, tx *sql.Tx, k Key, old, next Row) (bool, error) {
	made, err := t.SwapAll(ctx, tx, []Change{{k, old, next}})
	return len(made) == 1 && made[0], err
}

// SwapAll makes changes, at most one for each key, with one statement for new rows and one for others. It reports which ones it made.
func (t Table) SwapAll(ctx context.Context, tx *sql.Tx, changes []Change) (made []bool, err error) {
	made = make([]bool, len(changes))
	at := make(map[Key]int, len(changes))
	var created, changed arguments
	for i, c := range changes {
		at[c.Key] = i
		if c.Old.Term == 0 {
			created.add(textColumn, c.Kind, numberColumn, c.Number, textColumn, c.New.Holder, textColumn, c.New.Token, numberColumn, c.New.Term, numberColumn, c.New.Mark)
		} else {
			changed.add(textColumn, c.Kind, numberColumn, c.Number, textColumn, c.New.Holder, textColumn, c.New.Token, numberColumn, c.New.Term, numberColumn, c.New.Mark,
				textColumn, c.Old.Token, numberColumn, c.Old.Term, numberColumn, c.Old.Mark)
		}
	}
	run := func(a arguments, statement string) error {
		if err != nil || len(a.rows) == 0 {
			return err
		}
		rows, err := tx.QueryContext(ctx, fmt.Sprintf(statement, t, strings.Join(a.rows, ", ")), a.values...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var k Key
			if err := rows.Scan(&k.Kind, &k.Number); err != nil {
				return err
			}
			made[at[k]] = true
		}
		return rows.Err()
	}
	err = run(created, `INSERT INTO %s (kind, number, holder, token, term, mark) VALUES %s ON CONFLICT (kind, number) DO NOTHING RETURNING kind, number`)
	err = run(changed, `UPDATE %s AS t SET holder = v.column3, token = v.column4, term = v.column5, mark = v.column6 FROM (VALUES %s) AS v
		WHERE kind = v.column1 AND number = v.column2 AND token = v.column7 AND term = v.column8 AND mark = v.column9 RETURNING kind, number`)
	return made, err
}

// Release ends all leases of a holder, each in a new term.
func (t Table) Release(ctx context.Context, tx *sql.Tx, holder string) error {
	_, err := tx.ExecContext(ctx, `UPDATE `+string(t)+` SET holder = '', token = '', term = term + 1 WHERE holder = $1`, holder)
	return err
}

// Revoke ends all leases of a kind, each in a new term. Their marks stay.
func (t Table) Revoke(ctx context.Context, tx *sql.Tx, kind string) error {
	_, err := tx.ExecContext(ctx, `UPDATE `+string(t)+` SET holder = '', token = '', term = term + 1 WHERE kind = $1`, kind)
	return err
}

const (
	textColumn   = "CAST($%d AS TEXT)"
	numberColumn = "CAST($%d AS BIGINT)"
)

// arguments of a VALUES list.
type arguments struct {
	rows   []string
	values []any
}

// add adds a row of pairs: the form of a column, and its value.
func (a *arguments) add(pairs ...any) {
	columns := make([]string, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		value := pairs[i+1]
		if n, ok := value.(uint64); ok {
			value = int64(n)
		}
		a.values = append(a.values, value)
		columns = append(columns, fmt.Sprintf(pairs[i].(string), len(a.values)))
	}
	a.rows = append(a.rows, "("+strings.Join(columns, ", ")+")")
}
