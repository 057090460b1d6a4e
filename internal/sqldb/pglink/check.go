package pglink

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// What is asked of a server. A file of the log is named by its timeline first. A server that starts anew after one of its processes
// crashed is the same, and has another checkpointer.
const (
	askSettings = `SELECT pg_is_in_recovery()::text, current_setting('synchronous_commit'), current_setting('synchronous_standby_names')`

	askReign = `, CASE WHEN pg_is_in_recovery() THEN '' ELSE pg_walfile_name(pg_current_wal_insert_lsn()) END, (SELECT system_identifier::text FROM pg_control_system()),
		pg_postmaster_start_time()::text || coalesce((SELECT max(backend_start)::text FROM pg_stat_activity WHERE backend_type = 'checkpointer'), '')`

	// A commit that waits for the standby; those of others wait for it and not beside it, so that one connection waits, however many
	// are tried.
	comeThrough = `BEGIN READ WRITE; SET LOCAL lock_timeout = '1s'; SELECT pg_advisory_xact_lock(7886431950240182); SELECT pg_logical_emit_message(true, 'rialto', ''); COMMIT`
)

// status of a server.
type status struct {
	standby       bool
	commit, names string // settings
	reign
	start string // names this run of it; "" where it does not tell
}

func ask(ctx context.Context, conn *pgconn.PgConn) (*status, error) {
	rows, err := conn.Exec(ctx, askSettings+askReign).ReadAll()
	switch code(err) {
	case "0A000", "42501", "42883": // some services do not let their users ask: then no primary is known to be an old one
		rows, err = conn.Exec(ctx, askSettings).ReadAll()
	}
	if code(err) == "0A000" { // a standby takes nothing from a session that is to be serializable
		return &status{standby: true}, nil
	}
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 || len(rows[0].Rows) != 1 {
		return nil, errors.New("it does not answer as PostgreSQL does")
	}
	row := rows[0].Rows[0]
	s := &status{standby: string(row[0]) == "true", commit: string(row[1]), names: string(row[2])}
	if len(row) == 3 || s.standby {
		return s, nil
	}
	s.system, s.start = string(row[4]), string(row[5])
	if len(row[3]) < 8 {
		return nil, fmt.Errorf("it names a file of its log %q", row[3])
	}
	s.timeline, err = strconv.ParseUint(string(row[3][:8]), 16, 32)
	return s, err
}

// check tells why a connection is not to be used, or nothing.
func (f *Fence) check(ctx context.Context, conn *pgconn.PgConn, l *Link) error {
	s, err := ask(ctx, conn)
	if err != nil {
		return err
	}
	where := conn.Conn().RemoteAddr().String()
	switch {
	case s.standby:
		return errStandby
	case s.commit != "on" && s.commit != "remote_apply":
		return fmt.Errorf("synchronous_commit is %s on a connection to %s that asked for on: what stands between drops settings; connect to the server itself", s.commit, where)
	}
	if err := f.raise(s.reign, where); err != nil {
		return err
	}
	l.reign, l.alone = s.reign, strings.TrimSpace(s.names) == ""
	if through := f.through.Load(); !l.alone && s.start != "" && (through == nil || *through != s.start) {
		ctx, cancel := context.WithTimeout(ctx, perHost)
		defer cancel()
		if _, err := conn.Exec(ctx, comeThrough).ReadAll(); err != nil {
			return fmt.Errorf("%s has started, and its standby does not take what it commits: %v", where, err) // a wrapped timeout would be shown without the words
		}
		if l.unconfirmed.Load() {
			return fmt.Errorf("%s has started, and its commit did not wait for the standby", where)
		}
		f.through.Store(&s.start)
	}
	return nil
}

// code of an error of PostgreSQL, "" of others.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
