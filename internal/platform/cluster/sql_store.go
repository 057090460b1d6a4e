package cluster

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/lease"
)

var migrations = []string{
	// The defaults are those of a node that knows only the columns before them.
	`CREATE TABLE cluster_nodes (name TEXT PRIMARY KEY, incarnation BIGINT NOT NULL, heartbeat BIGINT NOT NULL, since BIGINT NOT NULL,
		address TEXT NOT NULL DEFAULT '', build TEXT NOT NULL DEFAULT '', speaks BIGINT NOT NULL DEFAULT 1, understands BIGINT NOT NULL DEFAULT 1,
		idle BOOLEAN NOT NULL DEFAULT FALSE, unreachable TEXT NOT NULL DEFAULT '?')`,
	`CREATE TABLE cluster_protocol (id BIGINT PRIMARY KEY, protocol BIGINT NOT NULL)`,
	`INSERT INTO cluster_protocol (id, protocol) VALUES (1, 0)`,
	`CREATE TABLE cluster_settings (name TEXT PRIMARY KEY, value TEXT NOT NULL)`,
	partLeases.Create(),
	`ALTER TABLE cluster_nodes ADD COLUMN gateway TEXT NOT NULL DEFAULT ''`,
}

// partLeases is the table with the owners of parts. Marks and tokens are not used.
const partLeases = lease.Table("cluster_leases")

// sqlStore is the store in the SQL database. It writes by a dedicated connection: if a heartbeat had to queue behind the writes of other
// packages, other nodes would consider this one dead.
type sqlStore struct{ db *sqldb.DB }

func (r sqlStore) heartbeat(ctx context.Context, m member, first bool) (state, error) {
	var s state
	err := r.db.WriteDedicated(ctx, func(tx *sql.Tx) error {
		s = state{parts: map[part]ownership{}}
		if err := upsertMember(ctx, tx, m, first); err != nil {
			return err
		}
		return s.read(ctx, tx)
	})
	return s, err
}

// upsertMember writes a node's row. A name belongs to the process that registered it last.
func upsertMember(ctx context.Context, tx *sql.Tx, m member, first bool) error {
	if !first {
		done, err := tx.ExecContext(ctx, `UPDATE cluster_nodes SET heartbeat = $3, unreachable = $4, gateway = $5 WHERE name = $1 AND incarnation = $2`, m.Name, int64(m.incarnation), int64(m.heartbeat), m.unreachable, m.gateway)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return err
		}
	}
	// The node joins, or its row was deleted while it was considered dead. raiseProtocol reads all member rows and updates the row of
	// cluster_protocol. Updating that row here as well serializes the two: either raiseProtocol sees the new member, or the member sees
	// the new protocol.
	if _, err := tx.ExecContext(ctx, `UPDATE cluster_protocol SET protocol = protocol WHERE id = 1`); err != nil {
		return err
	}
	insert := `INSERT INTO cluster_nodes (name, incarnation, heartbeat, since, address, build, speaks, understands, idle, unreachable, gateway) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (name) DO UPDATE SET `
	row := []any{m.Name, int64(m.incarnation), int64(m.heartbeat), m.Since, m.Address, m.Release, m.Speaks, m.Understands, m.Idle, m.unreachable, m.gateway}
	if first {
		_, err := tx.ExecContext(ctx, insert+`incarnation = $2, heartbeat = $3, since = $4, address = $5, build = $6, speaks = $7, understands = $8, idle = $9, unreachable = $10, gateway = $11`, row...)
		return err
	}
	done, err := tx.ExecContext(ctx, insert+`heartbeat = $3, unreachable = $10, gateway = $11 WHERE cluster_nodes.incarnation = $2`, row...)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return errNameTaken
}

func (s *state) read(ctx context.Context, tx *sql.Tx) error {
	nodes, err := tx.QueryContext(ctx, `SELECT name, incarnation, heartbeat, since, address, build, speaks, understands, idle, unreachable, gateway FROM cluster_nodes`)
	if err != nil {
		return err
	}
	defer nodes.Close()
	for nodes.Next() {
		var m member
		if err := nodes.Scan(&m.Name, &m.incarnation, &m.heartbeat, &m.Since, &m.Address, &m.Release, &m.Speaks, &m.Understands, &m.Idle, &m.unreachable, &m.gateway); err != nil {
			return err
		}
		s.members = append(s.members, &m)
	}
	if err := nodes.Err(); err != nil {
		return err
	}
	orderByName(s.members) // the database may order by a language's rules
	rows, err := partLeases.List(ctx, tx, "")
	if err != nil {
		return err
	}
	for k, row := range rows {
		s.parts[part{k.Kind, int(k.Number)}] = ownership{row.Holder, row.Term}
	}
	return tx.QueryRowContext(ctx, `SELECT protocol FROM cluster_protocol WHERE id = 1`).Scan(&s.protocol)
}

func (r sqlStore) read(ctx context.Context) (s state, err error) {
	err = r.db.WriteDedicated(ctx, func(tx *sql.Tx) error { // reads the primary
		s = state{parts: map[part]ownership{}}
		return s.read(ctx, tx)
	})
	return s, err
}

// raiseProtocol reads the member rows in the transaction that raises the protocol. If a node of an older release joins at the same time,
// either it is seen here, or it sees the new protocol (upsertMember).
func (r sqlStore) raiseProtocol(ctx context.Context, protocol int) (made bool, err error) {
	err = r.db.WriteDedicated(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE cluster_protocol SET protocol = $1 WHERE id = 1 AND protocol < $1
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

// apply makes all changes at once, because a node that joins takes dozens of parts.
func (r sqlStore) apply(ctx context.Context, changes []change) (made []bool, err error) {
	list := make([]lease.Change, len(changes))
	for i, c := range changes {
		list[i] = lease.Change{Key: lease.Key{Kind: c.kind, Number: uint64(c.number)}, Old: lease.Row{Term: c.term}, New: lease.Row{Holder: c.owner, Term: c.next}}
	}
	err = r.db.WriteDedicated(ctx, func(tx *sql.Tx) (err error) {
		made, err = partLeases.SwapAll(ctx, tx, list)
		return err
	})
	return made, err
}

func (r sqlStore) leave(ctx context.Context, m member) error {
	return r.db.WriteDedicated(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM cluster_nodes WHERE name = $1 AND incarnation = $2`, m.Name, int64(m.incarnation))
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err // another process has taken over the name, and with it the parts
		}
		return partLeases.Release(ctx, tx, m.Name)
	})
}

func (r sqlStore) removeDead(ctx context.Context, dead []*member) error {
	if len(dead) == 0 {
		return nil
	}
	return r.db.WriteDedicated(ctx, func(tx *sql.Tx) error {
		for _, m := range dead {
			if _, err := tx.ExecContext(ctx, `DELETE FROM cluster_nodes WHERE name = $1 AND incarnation = $2 AND heartbeat = $3`, m.Name, int64(m.incarnation), int64(m.heartbeat)); err != nil {
				return err
			}
		}
		return nil
	})
}
