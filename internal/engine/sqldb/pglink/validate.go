package pglink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Queries for a server's status. The name of a WAL file begins with its timeline. After the crash of one of its processes a server restarts with
// the same postmaster, but with a new checkpointer.
const (
	settingsQuery = `SELECT pg_is_in_recovery()::text, current_setting('synchronous_commit'), current_setting('synchronous_standby_names')`

	epochColumns = `, CASE WHEN pg_is_in_recovery() THEN '' ELSE pg_walfile_name(pg_current_wal_insert_lsn()) END, (SELECT system_identifier::text FROM pg_control_system()),
		pg_postmaster_start_time()::text || coalesce((SELECT max(backend_start)::text FROM pg_stat_activity WHERE backend_type = 'checkpointer'), '')`

	// A commit that waits for the standby. The advisory lock makes other attempts wait for it, so that only one connection waits for the standby.
	confirmingCommit = `BEGIN READ WRITE; SET LOCAL lock_timeout = '1s'; SELECT pg_advisory_xact_lock(7886431950240182); SELECT pg_logical_emit_message(true, 'rialto', ''); COMMIT`
)

// status of a server.
type status struct {
	standby       bool
	commit, names string // settings
	primaryEpoch
	start string // identifies this run of the server; "" if unknown
}

func queryStatus(ctx context.Context, conn *pgconn.PgConn) (*status, error) {
	rows, err := conn.Exec(ctx, settingsQuery+epochColumns).ReadAll()
	switch sqlState(err) {
	case "0A000", "42501", "42883": // some hosted services forbid the query; then a former primary cannot be recognized
		rows, err = conn.Exec(ctx, settingsQuery).ReadAll()
	}
	if sqlState(err) == "0A000" { // a standby refuses all statements of a serializable session
		return &status{standby: true}, nil
	}
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 || len(rows[0].Rows) != 1 {
		return nil, errors.New("the server does not answer like PostgreSQL")
	}
	row := rows[0].Rows[0]
	s := &status{standby: string(row[0]) == "true", commit: string(row[1]), names: string(row[2])}
	if len(row) == 3 || s.standby {
		return s, nil
	}
	s.system, s.start = string(row[4]), string(row[5])
	if len(row[3]) < 8 {
		return nil, fmt.Errorf("the server names a WAL file %q", row[3])
	}
	s.timeline, err = strconv.ParseUint(string(row[3][:8]), 16, 32)
	return s, err
}

// validate returns the reason why a connection must not be used, or nil.
func (f *Fence) validate(ctx context.Context, conn *pgconn.PgConn, l *Link) error {
	s, err := queryStatus(ctx, conn)
	if err != nil {
		return err
	}
	where := conn.Conn().RemoteAddr().String()
	switch {
	case s.standby:
		return errStandby
	case s.commit != "on" && s.commit != "remote_apply":
		return fmt.Errorf("synchronous_commit is %s on a connection to %s that asked for on: a proxy drops settings; connect to the server directly", s.commit, where)
	}
	if err := f.observe(s.primaryEpoch, where); err != nil {
		return err
	}
	l.epoch, l.noStandby = s.primaryEpoch, strings.TrimSpace(s.names) == ""
	if through := f.confirmedStart.Load(); !l.noStandby && s.start != "" && (through == nil || *through != s.start) {
		ctx, cancel := context.WithTimeout(ctx, hostTimeout)
		defer cancel()
		if _, err := conn.Exec(ctx, confirmingCommit).ReadAll(); err != nil {
			return fmt.Errorf("%s has started, and its standby does not confirm commits: %v", where, err) // a wrapped timeout would be shown without this text
		}
		if l.unconfirmed.Load() {
			return fmt.Errorf("%s has started, and its commit did not wait for the standby", where)
		}
		f.confirmedStart.Store(&s.start)
	}
	return nil
}

// sqlState returns the SQLSTATE of a PostgreSQL error, or "".
func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
