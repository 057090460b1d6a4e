package counter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/axiomhq/hyperloglog"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

const (
	viewInterval = time.Second // between two writes of the views that wait
	// maxViewed bounds the subjects whose views wait. Views of further ones are dropped and counted.
	maxViewed = 4096
	viewBatch = 100 // subjects of a transaction; a sketch has up to 16 KiB
	// stopTimeout bounds the write of the last views when the node stops.
	stopTimeout = 2 * time.Second
)

// views that wait to be written.
type views struct {
	full chan struct{} // half of maxViewed subjects wait

	mu      sync.Mutex // guards waiting and its sketches
	waiting map[setKey]*hyperloglog.Sketch

	writing sync.Mutex // held by the one call of flushViews that runs
}

func newViews() views {
	return views{full: make(chan struct{}, 1), waiting: map[setKey]*hyperloglog.Sketch{}}
}

// View counts a view of a subject by a user. It is written within about a second; a node that is killed loses the views of that time.
func (s *Service) View(k Kind, subject uint64, u id.User) {
	v, key := &s.views, setKey{k, subject}
	v.mu.Lock()
	defer v.mu.Unlock()
	sketch := v.waiting[key]
	if sketch == nil {
		if len(v.waiting) >= maxViewed {
			s.metrics.droppedViews.Add(1)
			return
		}
		sketch = hyperloglog.New14()
		v.waiting[key] = sketch
		if len(v.waiting) >= maxViewed/2 {
			wakeup.Signal(v.full)
		}
	}
	sketch.InsertHash(id.Hash(uint64(u)))
}

// runViews writes views until ctx ends, and then those that wait.
func (s *Service) runViews(ctx context.Context) {
	tick := time.NewTicker(viewInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			s.logViews(s.FlushViews(last))
			return
		case <-tick.C:
		case <-s.views.full:
		}
		s.logViews(s.FlushViews(ctx))
	}
}

func (s *Service) logViews(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		s.deps.Logger.Warn("views could not be written; they are written later", "error", err)
	}
}

// FlushViews writes the views that wait. Those that it could not write wait on.
func (s *Service) FlushViews(ctx context.Context) error {
	v := &s.views
	v.writing.Lock()
	defer v.writing.Unlock()
	v.mu.Lock()
	taken := v.waiting
	v.waiting = map[setKey]*hyperloglog.Sketch{}
	v.mu.Unlock()
	var faults []error
	for len(taken) > 0 {
		some := make(map[setKey]*hyperloglog.Sketch, viewBatch)
		for k, sketch := range taken {
			if len(some) == viewBatch {
				break
			}
			some[k] = sketch
			delete(taken, k)
		}
		rest, err := s.writeViews(ctx, some)
		faults = append(faults, err, s.keepViews(rest))
	}
	return errors.Join(faults...)
}

// keepViews puts sketches back among those that wait.
func (s *Service) keepViews(sketches map[setKey]*hyperloglog.Sketch) error {
	v := &s.views
	v.mu.Lock()
	defer v.mu.Unlock()
	for k, sketch := range sketches {
		if newer := v.waiting[k]; newer != nil {
			if err := sketch.Merge(newer); err != nil {
				return err
			}
		}
		v.waiting[k] = sketch
	}
	return nil
}

// writeViews merges sketches into their rows, and returns those that it did not write. The rows are read before the transaction, and written if
// their versions are the same: in PostgreSQL, nodes that read in it what others write would abort each other's transactions.
func (s *Service) writeViews(ctx context.Context, sketches map[setKey]*hyperloglog.Sketch) (rest map[setKey]*hyperloglog.Sketch, err error) {
	bucket := s.bucket()
	var rows []viewRow
	for k, sketch := range sketches {
		row := viewRow{key: k, sketch: sketch.Clone()}
		if err := s.mergeStored(ctx, bucket, &row); err != nil {
			return sketches, err
		}
		rows = append(rows, row)
	}
	var written []setKey
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		written = written[:0] // this may run again
		for _, row := range rows {
			body, err := row.sketch.MarshalBinary()
			if err != nil {
				return err
			}
			done, err := tx.ExecContext(ctx, `INSERT INTO counter_views (kind, subject, bucket, version, estimate, sketch) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (kind, subject, bucket) DO UPDATE SET version = excluded.version, estimate = excluded.estimate, sketch = excluded.sketch WHERE counter_views.version = excluded.version - 1`,
				int64(row.key.kind), int64(row.key.subject), bucket, row.version+1, int64(row.sketch.Estimate()), body)
			if err != nil {
				return err
			}
			n, err := done.RowsAffected()
			if err != nil {
				return err
			}
			if n == 1 {
				written = append(written, row.key)
			}
		}
		return nil
	})
	if err != nil {
		return sketches, err
	}
	for _, k := range written {
		delete(sketches, k)
	}
	return sketches, nil
}

// viewRow is a sketch with the version of its row; 0 if there is none.
type viewRow struct {
	key     setKey
	sketch  *hyperloglog.Sketch
	version int64
}

// mergeStored merges the stored sketch into a row.
func (s *Service) mergeStored(ctx context.Context, bucket int64, row *viewRow) error {
	var body []byte
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT version, sketch FROM counter_views WHERE kind = $1 AND subject = $2 AND bucket = $3`, int64(row.key.kind), int64(row.key.subject), bucket).Scan(&row.version, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return mergeInto(row.sketch, row.key, body)
}

func mergeInto(sketch *hyperloglog.Sketch, k setKey, body []byte) error {
	stored := hyperloglog.New14()
	err := stored.UnmarshalBinary(body)
	if err == nil {
		err = sketch.Merge(stored)
	}
	if err != nil {
		return fmt.Errorf("the sketch of %s of %d in counter_views cannot be read; delete the row to count anew: %w", k.kind, k.subject, err)
	}
	return nil
}

// mergeBuckets merges the sketches of all nodes.
func (r Reads) mergeBuckets(ctx context.Context, k Kind, subjects []uint64) (map[uint64]*hyperloglog.Sketch, error) {
	merged := map[uint64]*hyperloglog.Sketch{}
	if len(subjects) == 0 {
		return merged, nil
	}
	placeholders, args := sqldb.Placeholders(2, subjects, func(subject uint64) int64 { return int64(subject) })
	rows, err := r.from(ctx).QueryContext(ctx, `SELECT subject, sketch FROM counter_views WHERE kind = $1 AND subject IN (`+placeholders+`)`, append([]any{int64(k)}, args...)...)
	err = sqldb.EachRow(rows, err, func(row *sql.Rows) error {
		var subject uint64
		var body []byte
		if err := row.Scan(&subject, &body); err != nil {
			return err
		}
		if merged[subject] == nil {
			merged[subject] = hyperloglog.New14()
		}
		return mergeInto(merged[subject], setKey{k, subject}, body)
	})
	return merged, err
}
