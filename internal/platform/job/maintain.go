package job

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// maintain inserts periodic jobs, rescues jobs of dead processes, deletes old finished ones and counts what waits, until ctx ends. The first of
// the nodes that run jobs does the first three for all; others would do no harm.
func (s *Service) maintain(ctx context.Context, w *Workers) {
	var group sync.WaitGroup
	defer group.Wait()
	for _, p := range []cluster.Periodic{
		{Interval: rescueInterval, AtStart: true, Round: s.rescue, Failed: "jobs of dead processes are rescued later", Logger: s.deps.Logger},
		{IsCoordinator: s.isFirst, Interval: scheduleInterval, AtStart: true, Round: func(ctx context.Context) error { return s.insertPeriodic(ctx, w) }, Failed: "periodic jobs are inserted later", Logger: s.deps.Logger},
		{IsCoordinator: s.isFirst, Interval: cleanUpInterval, Round: s.cleanUp, Failed: "old jobs are deleted later", Logger: s.deps.Logger},
		{Interval: sampleInterval, AtStart: true, Round: s.sample, Failed: "jobs are counted later", Logger: s.deps.Logger},
	} {
		group.Go(func() { p.Run(ctx) })
	}
}

func (s *Service) isFirst() bool {
	nodes := s.deps.WorkerNodes()
	return len(nodes) > 0 && nodes[0] == s.deps.Node
}

// holder is a process that has attempts in progress, or had them when it died.
type holder struct{ node, process string }

const (
	selectHolders  = `SELECT DISTINCT attempted_by, process FROM jobs WHERE state = 'running'`
	deleteFinished = `DELETE FROM jobs WHERE n IN (SELECT n FROM jobs WHERE state = $1 AND finished_ms > 0 AND finished_ms < $2 ORDER BY finished_ms, n LIMIT $3)`
)

// rescue is a round that ends the attempts of dead processes as failed: each node does so for its own former processes, and the first node
// for other nodes that were missing in two rounds in a row. It may see a node later than that one sees itself.
func (s *Service) rescue(ctx context.Context) error {
	var dead []holder
	missing := map[holder]bool{}
	rows, err := s.deps.DB.Read().QueryContext(ctx, selectHolders)
	if err := sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var h holder
		if err := rows.Scan(&h.node, &h.process); err != nil {
			return err
		}
		switch {
		case h.node == s.deps.Node:
			if h.process != s.process {
				dead = append(dead, h)
			}
		case !s.isFirst() || s.deps.Alive(h.node):
		case s.missing[h]:
			dead = append(dead, h)
		default:
			missing[h] = true
		}
		return nil
	}); err != nil {
		return err
	}
	s.missing = missing
	for _, h := range dead {
		if err := s.rescueFrom(ctx, h); err != nil {
			return err
		}
	}
	if len(dead) > 0 {
		s.Wake()
	}
	return nil
}

// rescueFrom ends the attempts of a process, in batches.
func (s *Service) rescueFrom(ctx context.Context, h holder) error {
	type ended struct {
		job     claimed
		outcome outcome
	}
	for n := batch; n == batch; {
		var done []ended
		err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			done = nil // the transaction may be repeated
			var list []claimed
			rows, err := tx.QueryContext(ctx, `SELECT n, kind, queue, attempt, failures, max_failures FROM jobs WHERE state = 'running' AND attempted_by = $1 AND process = $2 ORDER BY n LIMIT $3`, h.node, h.process, batch)
			if err := sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
				var c claimed
				err := rows.Scan(&c.id, &c.kind, &c.queue, &c.attempt, &c.failures, &c.maxFailures)
				list = append(list, c)
				return err
			}); err != nil {
				return err
			}
			n = len(list)
			for _, c := range list {
				o, err := s.store(ctx, tx, c.id, c.attempt, s.failed(c.failures, c.maxFailures, errNodeDied))
				switch {
				case err == nil:
					done = append(done, ended{c, o})
				case !errors.Is(err, errSuperseded):
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, e := range done {
			s.report(&e.job, e.outcome)
		}
		if len(done) > 0 {
			s.metrics.rescued.Add(float64(len(done)))
			s.deps.Logger.Warn("attempts of a dead process were ended", "node", h.node, "jobs", len(done))
		}
	}
	return nil
}

// cleanUp deletes finished jobs after their time, in batches.
func (s *Service) cleanUp(ctx context.Context) error {
	now := s.deps.Clock.Now()
	for state, keep := range map[State]time.Duration{Completed: s.config.KeepFinished, Cancelled: s.config.KeepFinished, Discarded: s.config.KeepDiscarded} {
		if err := s.deps.DB.WriteInBatches(ctx, batch, func(tx *sql.Tx) (int64, error) {
			done, err := tx.ExecContext(ctx, deleteFinished, string(state), now.Add(-keep).UnixMilli(), batch)
			if err != nil {
				return 0, err
			}
			return done.RowsAffected()
		}); err != nil {
			return err
		}
	}
	return nil
}
