package cluster

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/rialto-im/rialto/internal/sqldb"
)

var steps = []string{
	`CREATE TABLE cluster_nodes (name TEXT PRIMARY KEY, incarnation BIGINT NOT NULL, beat BIGINT NOT NULL, since BIGINT NOT NULL)`,
	`CREATE TABLE cluster_parts (kind TEXT NOT NULL, number BIGINT NOT NULL, node TEXT NOT NULL, term BIGINT NOT NULL, PRIMARY KEY (kind, number))`,
	`ALTER TABLE cluster_nodes ADD COLUMN address TEXT NOT NULL DEFAULT ''`,
	`ALTER TABLE cluster_nodes ADD COLUMN build TEXT NOT NULL DEFAULT ''`,
	`ALTER TABLE cluster_nodes ADD COLUMN speaks BIGINT NOT NULL DEFAULT 1`,
	`ALTER TABLE cluster_nodes ADD COLUMN understands BIGINT NOT NULL DEFAULT 1`,
	`CREATE TABLE cluster_agreed (id BIGINT PRIMARY KEY, protocol BIGINT NOT NULL)`,
	`INSERT INTO cluster_agreed (id, protocol) VALUES (1, 0)`,
	`ALTER TABLE cluster_nodes ADD COLUMN idle BOOLEAN NOT NULL DEFAULT FALSE`,
	`CREATE TABLE cluster_places (kind TEXT PRIMARY KEY, place TEXT NOT NULL)`,
	`ALTER TABLE cluster_nodes ADD COLUMN cut TEXT NOT NULL DEFAULT '?'`,
}

// records is the store in the records' database. What it writes is apart from the rooms' writers: who waits for them is dead to the others.
type records struct{ db *sqldb.DB }

func (r records) beat(ctx context.Context, m member, first bool) (state, error) {
	var s state
	err := r.db.WriteApart(ctx, func(tx *sql.Tx) error {
		s = state{members: map[string]member{}, parts: map[part]holding{}}
		if err := put(ctx, tx, m, first); err != nil {
			return err
		}
		return s.read(ctx, tx)
	})
	return s, err
}

// put writes a node's row. The last process that came with a name has it.
func put(ctx context.Context, tx *sql.Tx, m member, first bool) error {
	if !first {
		done, err := tx.ExecContext(ctx, `UPDATE cluster_nodes SET beat = $3, cut = $4 WHERE name = $1 AND incarnation = $2`, m.Name, int64(m.incarnation), int64(m.beat), m.cut)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
	}
	// It comes, or comes back after it was forgotten. Who agrees looks at all rows and changes this one, so that of two the later sees the
	// earlier: either this row is seen there, or here what was agreed.
	if _, err := tx.ExecContext(ctx, `UPDATE cluster_agreed SET protocol = protocol WHERE id = 1`); err != nil {
		return err
	}
	insert := `INSERT INTO cluster_nodes (name, incarnation, beat, since, address, build, speaks, understands, idle, cut) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (name) DO UPDATE SET `
	row := []any{m.Name, int64(m.incarnation), int64(m.beat), m.Since, m.Address, m.Release, m.Speaks, m.Understands, m.Idle, m.cut}
	if first {
		_, err := tx.ExecContext(ctx, insert+`incarnation = $2, beat = $3, since = $4, address = $5, build = $6, speaks = $7, understands = $8, idle = $9, cut = $10`, row...)
		return err
	}
	done, err := tx.ExecContext(ctx, insert+`beat = $3, cut = $10 WHERE cluster_nodes.incarnation = $2`, row...)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return errOther
}

func (s *state) read(ctx context.Context, tx *sql.Tx) error {
	nodes, err := tx.QueryContext(ctx, `SELECT name, incarnation, beat, since, address, build, speaks, understands, idle, cut FROM cluster_nodes`)
	if err != nil {
		return err
	}
	defer nodes.Close()
	for nodes.Next() {
		var m member
		if err := nodes.Scan(&m.Name, &m.incarnation, &m.beat, &m.Since, &m.Address, &m.Release, &m.Speaks, &m.Understands, &m.Idle, &m.cut); err != nil {
			return err
		}
		s.members[m.Name] = m
	}
	if err := nodes.Err(); err != nil {
		return err
	}
	parts, err := tx.QueryContext(ctx, `SELECT kind, number, node, term FROM cluster_parts`)
	if err != nil {
		return err
	}
	defer parts.Close()
	for parts.Next() {
		var p part
		var h holding
		if err := parts.Scan(&p.kind, &p.number, &h.node, &h.term); err != nil {
			return err
		}
		s.parts[p] = h
	}
	if err := parts.Err(); err != nil {
		return err
	}
	return tx.QueryRowContext(ctx, `SELECT protocol FROM cluster_agreed WHERE id = 1`).Scan(&s.agreed)
}

func (r records) peek(ctx context.Context) (s state, err error) {
	err = r.db.WriteApart(ctx, func(tx *sql.Tx) error { // from the primary
		s = state{members: map[string]member{}, parts: map[part]holding{}}
		return s.read(ctx, tx)
	})
	return s, err
}

// agree looks at the rows in the transaction that moves the protocol. A node of an older release that joins meanwhile either is seen here,
// or sees what was agreed: see put.
func (r records) agree(ctx context.Context, protocol int) (made bool, err error) {
	err = r.db.WriteApart(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE cluster_agreed SET protocol = $1 WHERE id = 1 AND protocol < $1
			AND NOT EXISTS (SELECT 1 FROM cluster_nodes WHERE speaks < $1)`, protocol)
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		made = n > 0
		return err
	})
	return made, err
}

// apply makes the changes of a round in one statement: a node that comes takes dozens of parts.
func (r records) apply(ctx context.Context, changes []change) (made []bool, err error) {
	at := map[part]int{}
	var rows []string
	var args []any
	for i, c := range changes {
		at[c.part] = i
		n := len(args)
		rows = append(rows, fmt.Sprintf("($%d, $%d, $%d, $%d)", n+1, n+2, n+3, n+4))
		args = append(args, c.kind, c.number, c.to, int64(c.term+1))
	}
	err = r.db.WriteApart(ctx, func(tx *sql.Tx) error {
		made = make([]bool, len(changes))
		found, err := tx.QueryContext(ctx, `INSERT INTO cluster_parts (kind, number, node, term) VALUES `+strings.Join(rows, ", ")+`
			ON CONFLICT (kind, number) DO UPDATE SET node = excluded.node, term = excluded.term WHERE cluster_parts.term = excluded.term - 1
			RETURNING kind, number`, args...)
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			var p part
			if err := found.Scan(&p.kind, &p.number); err != nil {
				return err
			}
			made[at[p]] = true
		}
		return found.Err()
	})
	return made, err
}

func (r records) leave(ctx context.Context, m member) error {
	return r.db.WriteApart(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM cluster_nodes WHERE name = $1 AND incarnation = $2`, m.Name, int64(m.incarnation))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err // its name, and so its parts, are another's
		}
		_, err = tx.ExecContext(ctx, `UPDATE cluster_parts SET node = '', term = term + 1 WHERE node = $1`, m.Name)
		return err
	})
}

func (r records) forget(ctx context.Context, dead []member) error {
	if len(dead) == 0 {
		return nil
	}
	return r.db.WriteApart(ctx, func(tx *sql.Tx) error {
		for _, m := range dead {
			if _, err := tx.ExecContext(ctx, `DELETE FROM cluster_nodes WHERE name = $1 AND incarnation = $2 AND beat = $3`, m.Name, int64(m.incarnation), int64(m.beat)); err != nil {
				return err
			}
		}
		return nil
	})
}

// alone is the store of a node that has no others: what it has locked nobody else can have.
type alone struct {
	member member
	agreed int
	parts  map[part]holding
}

func (a *alone) beat(_ context.Context, m member, _ bool) (state, error) {
	a.member = m
	s := state{members: map[string]member{m.Name: m}, parts: map[part]holding{}, agreed: a.agreed}
	for p, h := range a.parts {
		s.parts[p] = h
	}
	return s, nil
}

func (a *alone) apply(_ context.Context, changes []change) ([]bool, error) {
	made := make([]bool, len(changes))
	if a.parts == nil {
		a.parts = map[part]holding{}
	}
	for i, c := range changes {
		a.parts[c.part], made[i] = holding{c.to, c.term + 1}, true
	}
	return made, nil
}

func (a *alone) peek(context.Context) (state, error) { return state{agreed: a.agreed}, nil }

func (a *alone) agree(_ context.Context, protocol int) (bool, error) {
	a.agreed = protocol
	return true, nil
}

func (*alone) leave(context.Context, member) error { return nil }

func (*alone) forget(context.Context, []member) error { return nil }
