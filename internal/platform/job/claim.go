package job

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Several nodes claim jobs of the same queue. Each due job prefers one of the live nodes, by its number, so that two nodes hardly ever claim
// the same one: PostgreSQL would abort one of the transactions, and the writers that share it would run again. A job that its node has not
// claimed for peerDelay, because it is busy, dead or does not run the queue, may be claimed by any. That is for speed only; that a job has
// one attempt at a time is ensured by the update of its row. A node that does not see itself among the live ones claims nothing: others
// may not see it either, and would rescue its jobs while they run.

// claimed is a job with an attempt of this process.
type claimed struct {
	id                                        int64
	kind, queue                               string
	args                                      []byte
	attempt, failures, maxFailures, createdMs int64
	dueMs                                     int64
	timeout                                   time.Duration
}

// A poll of one of several nodes reads window due jobs for each free worker, because other nodes may be preferred for most of them.
const (
	window    = 4
	maxWindow = 512
)

// The statements of a poll. Their cost does not depend on finished and future jobs.
const (
	selectDue     = `SELECT n, due_ms FROM jobs WHERE state = 'available' AND queue = $1 AND priority = $2 AND due_ms <= $3 ORDER BY due_ms, n LIMIT $4`
	selectNextDue = `SELECT MIN(due_ms) FROM jobs WHERE state = 'available' AND queue = $1 AND priority = $2 AND due_ms > $3`
	selectOwn     = `SELECT n, attempt, failures, cancelling FROM jobs WHERE state = 'running' AND attempted_by = $1 AND process = $2`
)

// claim starts attempts of at most limit jobs of a queue.
func (s *Service) claim(ctx context.Context, queue string, limit int) (list []*claimed, err error) {
	now := s.nowMs()
	due, err := s.due(ctx, queue, now, limit)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	if err := s.reached("before-claim"); err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		list = nil
		for _, id := range due {
			c := &claimed{id: id, queue: queue}
			var timeoutMs int64
			rows, err := tx.QueryContext(ctx, `UPDATE jobs SET state = 'running', attempt = attempt + 1, attempted_by = $2, process = $3, attempted_ms = $4
				WHERE n = $1 AND state = 'available' AND due_ms <= $4 RETURNING kind, args, attempt, failures, max_failures, timeout_ms, created_ms, due_ms`, id, s.deps.Node, s.process, now)
			if err := sqldb.EachRow(rows, err, func(rows *sql.Rows) error { // none: another node has claimed it
				list = append(list, c)
				return rows.Scan(&c.kind, &c.args, &c.attempt, &c.failures, &c.maxFailures, &timeoutMs, &c.createdMs, &c.dueMs)
			}); err != nil {
				return err
			}
			c.timeout = time.Duration(timeoutMs) * time.Millisecond
		}
		return nil
	})
	return list, err
}

// due returns at most limit due jobs of a queue that this node may claim, the most urgent first. A job that prefers another node counts as due
// peerDelay later: it yields to newer jobs of this node only for so long, and never to jobs of a lower priority.
func (s *Service) due(ctx context.Context, queue string, now int64, limit int) (ids []int64, err error) {
	nodes := s.deps.WorkerNodes()
	own, read := slices.Index(nodes, s.deps.Node), limit
	if own < 0 { // this node has just joined, is about to stop, or was declared dead
		return nil, nil
	}
	if len(nodes) > 1 {
		read = min(max(window*limit, 64), max(maxWindow, limit))
	}
	type candidate struct{ id, dueMs int64 }
	for _, p := range priorities {
		if len(ids) >= limit || read <= 0 {
			break
		}
		var list []candidate
		rows, err := s.deps.DB.Read().QueryContext(ctx, selectDue, queue, int64(p), now, read)
		if err := sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var c candidate
			if err := rows.Scan(&c.id, &c.dueMs); err != nil {
				return err
			}
			read--
			if c.id%int64(len(nodes)) != int64(own) {
				c.dueMs += peerDelay.Milliseconds()
			}
			if c.dueMs <= now {
				list = append(list, c)
			}
			return nil
		}); err != nil {
			return nil, err
		}
		slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.dueMs, b.dueMs) })
		for _, c := range list {
			ids = append(ids, c.id)
		}
	}
	return ids[:min(len(ids), limit)], nil
}

// nextDue returns when the next job of a queue is due after a time; 0 if there is none.
func (s *Service) nextDue(ctx context.Context, queue string, after int64) (next int64, err error) {
	for _, p := range priorities {
		var due sql.NullInt64
		if err := s.deps.DB.Read().QueryRowContext(ctx, selectNextDue, queue, int64(p), after).Scan(&due); err != nil {
			return 0, err
		}
		if due.Valid && (next == 0 || due.Int64 < next) {
			next = due.Int64
		}
	}
	return next, nil
}
