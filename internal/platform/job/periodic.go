package job

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/platform/lease"
)

// minPeriod is well above scheduleInterval, and above the differences between the clocks of the nodes.
const minPeriod = time.Minute

// periods is the table with the last period of each kind of periodic job. A mark is the number of the period for which a job was inserted,
// and a token is the id of that job.
const periods = lease.Table("job_periods")

// schedule of a kind of periodic job.
type schedule struct {
	period time.Duration
	args   Args
	o      Options
}

func (p schedule) key() lease.Key { return lease.Key{Kind: p.args.Kind()} }

// Every makes a job of a kind run once in each period, in the whole cluster. Periods are counted from the beginning of 1970 in UTC, so one of
// 24 hours begins at midnight. A period that began while no node ran workers, or while the last job of the kind had not ended, gets its job
// afterwards; several such periods get one. Call Add for the kind first, and Every once. At and Unique of the options are not for these jobs.
func Every[A Args](w *Workers, period time.Duration, args A, o Options) {
	kind := args.Kind()
	_, err := o.prepare(args)
	switch {
	case err != nil:
		panic(err)
	case w.byKind[kind] == nil:
		panic("job: no worker for the periodic kind " + kind)
	case w.isPeriodic(kind):
		panic("job: two schedules for the kind " + kind)
	case period < minPeriod:
		panic(fmt.Sprintf("job: the period of %s is %v; it must be at least %v", kind, period, minPeriod))
	case !o.At.IsZero() || o.Unique != "":
		panic("job: the periodic kind " + kind + " must not have the options At and Unique")
	}
	w.schedules = append(w.schedules, schedule{period, args, o})
}

func (w *Workers) isPeriodic(kind string) bool {
	for _, p := range w.schedules {
		if p.args.Kind() == kind {
			return true
		}
	}
	return false
}

// insertPeriodic is a round that inserts the periodic jobs of periods that have begun. Several nodes may do it at once.
func (s *Service) insertPeriodic(ctx context.Context, w *Workers) error {
	if len(w.schedules) == 0 {
		return nil
	}
	rows, err := periods.List(ctx, s.deps.DB.Read(), "")
	if err != nil {
		return err
	}
	now := s.nowMs()
	var faults []error // of one kind must not hold up others
	for _, p := range w.schedules {
		last, next := rows[p.key()], uint64(now/p.period.Milliseconds())
		if !begins(last, next) {
			continue
		}
		ended, err := s.hasEnded(ctx, last.Token)
		if err == nil && ended {
			err = s.insertForPeriod(ctx, p, last, next)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// begins reports whether a job is to be inserted for a period. One that is the last or follows on the next is not: the clock of the node that
// inserted the last job may be a little ahead. If the last period is later than that, a clock was wrong, or the kind had another period.
func begins(last lease.Row, next uint64) bool {
	return last.Term == 0 || next > last.Mark || next+1 < last.Mark
}

// hasEnded reports whether a job, given by the token of a row, needs no further attempt.
func (s *Service) hasEnded(ctx context.Context, token string) (bool, error) {
	if token == "" {
		return true, nil
	}
	id, err := strconv.ParseInt(token, 10, 64)
	if err != nil {
		return false, fmt.Errorf("the table %s has the token %q; it must be the id of a job", periods, token)
	}
	var finishedMs int64
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT finished_ms FROM jobs WHERE n = $1`, id).Scan(&finishedMs)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil // it was deleted after it had ended
	}
	return finishedMs > 0, err
}

// errPeriodTaken is returned when another node has inserted the job of a period.
var errPeriodTaken = errors.New("the period has its job")

// insertForPeriod inserts a job, unless the row of its kind has changed.
func (s *Service) insertForPeriod(ctx context.Context, p schedule, last lease.Row, next uint64) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		done, err := s.InsertTx(ctx, tx, p.args, p.o)
		if err != nil {
			return err
		}
		row := lease.Row{Token: strconv.FormatInt(done.ID, 10), Term: max(last.Term, 1), Mark: next}
		if next < last.Mark {
			row.Term++ // marks only rise within a term
		}
		taken, err := periods.Swap(ctx, tx, p.key(), last, row)
		if err == nil && !taken {
			err = errPeriodTaken
		}
		return err
	})
	if errors.Is(err, errPeriodTaken) {
		return nil
	}
	if err == nil {
		s.Wake()
	}
	return err
}
