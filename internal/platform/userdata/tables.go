package userdata

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// batch is how many rows a step deletes, so that other writers do not wait long.
const batch = 500

// Table is a table with data of users.
type Table struct {
	Name string
	// Erase deletes at most $2 rows of the user $1, or removes from them what is the user's. If it is empty, another table's statement or the service's own steps do.
	Erase string
	// Export selects the rows of the user $1. If it is empty, the table has nothing that concerns the user beside what other tables have, or
	// secrets.
	Export string
	// Decode has the form of columns with bytes, by name. Other bytes are in base64.
	Decode map[string]func([]byte) (any, error)
}

// Tables are a Participant whose data are rows that nobody else needs.
type Tables struct {
	Service string
	DB      *sqldb.DB
	List    []Table
}

// FirstTable is the position at which the rows of Tables begin. A service that erases more than rows does so at the position "", and continues there.
const FirstTable = "0"

// EraseFirst is a step of such a service: it erases those of the user's things whose ids a query returns, one after another, and continues with the rows when
// there are none. It closes the rows. An erasure that was interrupted begins with what is left.
func EraseFirst(rows *sql.Rows, err error, erase func(n uint64) error) (Step, error) {
	list, err := sqldb.Column[uint64](rows, err)
	if err != nil {
		return Step{}, err
	}
	for _, n := range list {
		if err := erase(n); err != nil {
			return Step{}, err
		}
	}
	if len(list) > 0 {
		return Step{Erased: int64(len(list))}, nil
	}
	return Step{Next: FirstTable}, nil
}

// Name is the service's.
func (t *Tables) Name() string { return t.Service }

// UserTables are the names of all tables.
func (t *Tables) UserTables() []string {
	names := make([]string, len(t.List))
	for i := range t.List {
		names[i] = t.List[i].Name
	}
	return names
}

// EraseUser deletes a batch of rows of one table. The position is the table's number.
func (t *Tables) EraseUser(ctx context.Context, u id.User, from string) (Step, error) {
	at := 0
	if from != "" {
		var err error
		if at, err = strconv.Atoi(from); err != nil {
			return Step{}, fmt.Errorf("the position %q of an erasure is no number: %w", from, err)
		}
	}
	for at < len(t.List) && t.List[at].Erase == "" {
		at++
	}
	if at >= len(t.List) {
		return Step{Done: true}, nil
	}
	var n int64
	err := t.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, t.List[at].Erase, int64(u), batch)
		if err == nil {
			n, err = done.RowsAffected()
		}
		return err
	})
	if err != nil {
		return Step{}, fmt.Errorf("%s: %w", t.List[at].Name, err)
	}
	if n < batch {
		at++
	}
	return Step{Next: strconv.Itoa(at), Erased: n, Done: at == len(t.List)}, nil
}

// ExportUser writes the rows of each table as records of its name.
func (t *Tables) ExportUser(ctx context.Context, u id.User, to Writer) error {
	for i := range t.List {
		if t.List[i].Export == "" {
			continue
		}
		rows, err := t.DB.Read().QueryContext(ctx, t.List[i].Export, int64(u))
		if err == nil {
			err = t.List[i].export(rows, to)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.List[i].Name, err)
		}
	}
	return nil
}

// export writes rows by the names of their columns, and closes them. Ids are texts, since numbers of JSON have 53 bits for many readers.
func (t *Table) export(rows *sql.Rows, to Writer) error {
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, pointers := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			return err
		}
		record := make(map[string]any, len(names))
		for i, name := range names {
			if record[name], err = t.value(name, values[i]); err != nil {
				return fmt.Errorf("column %s: %w", name, err)
			}
		}
		if err := to.Record(t.Name, record); err != nil {
			return err
		}
	}
	return rows.Err()
}

// maxExact is the largest integer that all readers of JSON have exactly.
const maxExact = 1<<53 - 1

func (t *Table) value(name string, v any) (any, error) {
	switch v := v.(type) {
	case int64:
		if v > maxExact {
			return strconv.FormatInt(v, 10), nil
		}
	case []byte:
		if decode := t.Decode[name]; decode != nil && v != nil {
			return decode(slices.Clone(v))
		}
		return slices.Clone(v), nil
	case time.Time:
		return v.UnixMilli(), nil
	}
	return v, nil
}
