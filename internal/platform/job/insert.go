package job

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Args are the arguments of a kind of job. They are stored as JSON, which operators can read.
type Args interface {
	// Kind is the name of the kind. It must not depend on the arguments, and must not change while jobs are stored.
	Kind() string
}

// Options of a job. The zero value of each is the documented default.
type Options struct {
	// Queue is DefaultQueue if it is empty.
	Queue string
	// Priority is Normal if it is 0.
	Priority Priority
	// At is when the job is due. If it is zero or has passed, the job is due at once.
	At time.Time
	// Unique is a key among the jobs of the kind. If one with this key is stored, in any state but Cancelled, nothing is inserted. "" is none.
	Unique string
	// MaxFailures is how many attempts may fail before the job is discarded; 0 is 16: with the delays between them, two to four hours.
	MaxFailures int
	// Timeout of each attempt; 0 is a minute, the maximum a day.
	Timeout time.Duration
}

// Inserted says which job an Insert stored.
type Inserted struct {
	ID int64
	// Duplicate reports that nothing was inserted, because this job has the unique key.
	Duplicate bool
}

// Insert inserts a job in a transaction of its own.
func (s *Service) Insert(ctx context.Context, args Args, o Options) (done Inserted, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		done, err = s.InsertTx(ctx, tx, args, o)
		return err
	})
	if err == nil {
		s.Wake()
	}
	return done, err
}

// InsertTx inserts a job in the caller's transaction: it exists if and only if that is committed. Call Wake after the commit.
func (s *Service) InsertTx(ctx context.Context, tx *sql.Tx, args Args, o Options) (Inserted, error) {
	body, err := o.prepare(args)
	if err != nil {
		return Inserted{}, err
	}
	now := s.nowMs()
	due := now
	if !o.At.IsZero() {
		due = max(due, o.At.UnixMilli())
	}
	key := sql.NullString{String: o.Unique, Valid: o.Unique != ""}
	var id int64
	err = tx.QueryRowContext(ctx, `INSERT INTO jobs (kind, args, queue, priority, state, due_ms, created_ms, max_failures, timeout_ms, unique_key)
		VALUES ($1, $2, $3, $4, 'available', $5, $6, $7, $8, $9) ON CONFLICT (kind, unique_key) DO NOTHING RETURNING n`,
		args.Kind(), body, o.Queue, int64(o.Priority), due, now, o.MaxFailures, o.Timeout.Milliseconds(), key).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return Inserted{ID: id}, err
	}
	err = tx.QueryRowContext(ctx, `SELECT n FROM jobs WHERE kind = $1 AND unique_key = $2`, args.Kind(), o.Unique).Scan(&id)
	return Inserted{ID: id, Duplicate: true}, err
}

// prepare checks a job, sets the defaults, and encodes the arguments.
func (o *Options) prepare(args Args) ([]byte, error) {
	if o.Queue == "" {
		o.Queue = DefaultQueue
	}
	if o.Priority == 0 {
		o.Priority = Normal
	}
	if o.MaxFailures == 0 {
		o.MaxFailures = defaultFailures
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	kind := args.Kind()
	switch {
	case kind == "" || len(kind) > maxName:
		return nil, fmt.Errorf("job: the kind %q must have 1 to %d bytes", kind, maxName)
	case len(o.Queue) > maxName:
		return nil, fmt.Errorf("job: the queue %q must have at most %d bytes", o.Queue, maxName)
	case o.Priority < High || o.Priority > Low:
		return nil, fmt.Errorf("job: the priority of %s is %d; it must be High, Normal or Low", kind, o.Priority)
	case len(o.Unique) > maxKey:
		return nil, fmt.Errorf("job: the unique key of %s must have at most %d bytes", kind, maxKey)
	case o.MaxFailures < 0:
		return nil, fmt.Errorf("job: MaxFailures of %s is %d; it must not be negative", kind, o.MaxFailures)
	case o.Timeout < time.Millisecond || o.Timeout > maxTimeout:
		return nil, fmt.Errorf("job: the timeout of %s is %v; it must be 1ms to %v", kind, o.Timeout, maxTimeout)
	}
	body, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("job: the arguments of %s cannot be encoded: %w", kind, err)
	}
	if len(body) > maxArgs {
		return nil, fmt.Errorf("job: the arguments of %s have %d bytes; they must have at most %d: store the data elsewhere and name it", kind, len(body), maxArgs)
	}
	return body, nil
}
