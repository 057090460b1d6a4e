package presence

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/directory"
)

const (
	// Bounds of one transaction, and of one statement.
	rowsPerTransaction = 500
	rowsPerStatement   = 100
	// maxWaiting bounds the times that wait while the database does not answer. The oldest ones beyond are lost.
	maxWaiting = 100_000
	// shutdownTimeout bounds storing the times of users who are online when the node stops.
	shutdownTimeout = 5 * time.Second
)

// lastActiveWriter stores when users were last active, on a goroutine of its own, so that nothing else waits if the database does not answer.
type lastActiveWriter struct {
	s    *Service
	jobs chan writeJob
	// Used by the directory's goroutine, in write, and after that has ended by end:
	waiting []directory.Departure
	// Used by run, and after that has ended by end:
	unwritten []directory.Departure
}

type writeJob struct {
	list []directory.Departure
	done chan struct{}
}

func newLastActiveWriter(s *Service) *lastActiveWriter {
	return &lastActiveWriter{s: s, jobs: make(chan writeJob)}
}

// write hands departures over to run, and waits until they are stored and published, or ctx ends.
func (k *lastActiveWriter) write(ctx context.Context, list []directory.Departure) {
	k.waiting = append(k.waiting, list...)
	if over := len(k.waiting) - maxWaiting; over > 0 {
		k.s.deps.Logger.Warn("times of last activity were lost, because the database does not answer", "users", over)
		k.s.notifyDeparted(k.waiting[:over])
		k.waiting = slices.Delete(k.waiting, 0, over)
	}
	if len(k.waiting) == 0 {
		return
	}
	d := writeJob{k.waiting, make(chan struct{})}
	select {
	case k.jobs <- d:
		k.waiting = nil
	default: // the previous ones are still being stored
		return
	}
	select {
	case <-d.done:
	case <-ctx.Done():
	}
}

func (k *lastActiveWriter) run(ctx context.Context) {
	for {
		select {
		case d := <-k.jobs:
			k.unwritten = k.s.writeLastActive(ctx, d.list)
			k.s.notifyDeparted(d.list)
			close(d.done)
		case <-ctx.Done():
			return
		}
	}
}

// end stores what is left after run has ended.
func (k *lastActiveWriter) end(ctx context.Context, online []directory.Departure) {
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	k.s.writeLastActive(ctx, slices.Concat(k.unwritten, k.waiting, online))
}

// notifyDeparted publishes departures, once they are stored.
func (s *Service) notifyDeparted(list []directory.Departure) {
	for _, l := range list {
		if l.Notify {
			s.deps.Directory.PublishChange(l.User)
		}
	}
}

// writeLastActive stores when users were last active. It returns what it did not store before ctx ended.
func (s *Service) writeLastActive(ctx context.Context, list []directory.Departure) (rest []directory.Departure) {
	list = latest(list)
	for begin := 0; begin < len(list); begin += rowsPerTransaction {
		some := list[begin:min(begin+rowsPerTransaction, len(list))]
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			for some := range slices.Chunk(some, rowsPerStatement) {
				if err := store(ctx, tx, some); err != nil {
					return err
				}
			}
			return nil
		})
		if ctx.Err() != nil && err != nil {
			return list[begin:]
		}
		if err != nil {
			s.deps.Logger.Warn("times of last activity were lost", "users", len(some), "error", err)
		}
	}
	return nil
}

// latest returns the latest departure of each user.
func latest(list []directory.Departure) []directory.Departure {
	at := make(map[id.User]int, len(list))
	kept := make([]directory.Departure, 0, len(list))
	for _, l := range list {
		i, known := at[l.User]
		if !known {
			at[l.User] = len(kept)
			kept = append(kept, l)
			continue
		}
		kept[i].LastActiveMs = max(kept[i].LastActiveMs, l.LastActiveMs)
	}
	return kept
}

const (
	insertLastActive = `INSERT INTO last_active (owner, ms) VALUES `
	keepLatest       = ` ON CONFLICT (owner) DO UPDATE SET ms = CASE WHEN last_active.ms < excluded.ms THEN excluded.ms ELSE last_active.ms END`
)

// insertMany inserts rowsPerStatement rows. Fewer rows are inserted one by one, so that only two statements have to be prepared.
var insertMany = func() string {
	var rows []string
	for i := range rowsPerStatement {
		rows = append(rows, "($"+strconv.Itoa(2*i+1)+", $"+strconv.Itoa(2*i+2)+")")
	}
	return insertLastActive + strings.Join(rows, ", ") + keepLatest
}()

func store(ctx context.Context, tx *sql.Tx, some []directory.Departure) error {
	var all []any
	for _, l := range some {
		all = append(all, int64(l.User), l.LastActiveMs)
	}
	if len(some) == rowsPerStatement {
		_, err := tx.ExecContext(ctx, insertMany, all...)
		return err
	}
	for i := range some {
		if _, err := tx.ExecContext(ctx, insertLastActive+`($1, $2)`+keepLatest, all[2*i:2*i+2]...); err != nil {
			return err
		}
	}
	return nil
}
