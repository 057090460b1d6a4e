package job

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Info is what operators see of a job.
type Info struct {
	ID                     int64
	Kind, Queue            string
	Args                   json.RawMessage
	Priority               Priority
	State                  State
	Cancelling             bool
	Due, Created           time.Time
	Attempted, Finished    time.Time // zero: not yet
	AttemptedBy            string    // node of the last attempt
	Attempt, Failures, Max int
	Timeout                time.Duration
	Unique, Error          string
}

const maxPage = 1000

const infoColumns = `n, kind, queue, args, priority, state, cancelling, due_ms, created_ms, attempted_ms, finished_ms, attempted_by, attempt, failures, max_failures, timeout_ms, COALESCE(unique_key, ''), error`

func scanInfo(scan func(...any) error) (i Info, err error) {
	var due, created, attempted, finished, timeout int64
	var args []byte
	err = scan(&i.ID, &i.Kind, &i.Queue, &args, &i.Priority, &i.State, &i.Cancelling, &due, &created, &attempted, &finished, &i.AttemptedBy, &i.Attempt, &i.Failures, &i.Max, &timeout, &i.Unique, &i.Error)
	moment := func(ms int64) time.Time {
		if ms == 0 {
			return time.Time{}
		}
		return time.UnixMilli(ms).UTC()
	}
	i.Args, i.Timeout = args, time.Duration(timeout)*time.Millisecond
	i.Due, i.Created, i.Attempted, i.Finished = moment(due), moment(created), moment(attempted), moment(finished)
	return i, err
}

// Get returns a job.
func (s *Service) Get(ctx context.Context, id int64) (Info, error) {
	i, err := scanInfo(s.deps.DB.Read().QueryRowContext(ctx, `SELECT `+infoColumns+` FROM jobs WHERE n = $1`, id).Scan)
	return i, noJob(err)
}

// infoOf is Get in a transaction.
func infoOf(ctx context.Context, tx *sql.Tx, id int64) (Info, error) {
	i, err := scanInfo(tx.QueryRowContext(ctx, `SELECT `+infoColumns+` FROM jobs WHERE n = $1`, id).Scan)
	return i, noJob(err)
}

// List returns at most limit jobs in a state: finished ones as they ended, the last first; waiting ones of a queue as they are due, by priority;
// running ones by node.
func (s *Service) List(ctx context.Context, state State, queue string, limit int) (list []Info, err error) {
	if limit < 1 || limit > maxPage {
		return nil, fmt.Errorf("the limit is %d; it is 1 to %d", limit, maxPage)
	}
	add := func(rows *sql.Rows) error {
		i, err := scanInfo(rows.Scan)
		list = append(list, i)
		return err
	}
	switch state {
	case Completed, Cancelled, Discarded:
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+infoColumns+` FROM jobs WHERE state = $1 AND finished_ms > 0 ORDER BY finished_ms DESC, n DESC LIMIT $2`, string(state), limit)
		return list, sqldb.EachRow(rows, err, add)
	case Running:
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+infoColumns+` FROM jobs WHERE state = 'running' ORDER BY n LIMIT $1`, limit)
		return list, sqldb.EachRow(rows, err, add)
	case Available:
		for _, p := range priorities {
			rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+infoColumns+` FROM jobs WHERE state = 'available' AND queue = $1 AND priority = $2 ORDER BY due_ms, n LIMIT $3`, queue, int64(p), limit-len(list))
			if err := sqldb.EachRow(rows, err, add); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return nil, fmt.Errorf("unknown state %q; it is %s, %s, %s, %s or %s", state, Available, Running, Completed, Cancelled, Discarded)
}
