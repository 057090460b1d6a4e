package reconciliation

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/job"
)

// Found is a stored difference.
type Found struct {
	Difference
	Comparison string
	// FoundMs is when it was found first, in milliseconds since 1970.
	FoundMs int64
	// Repairing: a repair was requested, and its job has not ended.
	Repairing bool
	// Corrected: the stores agree since it was found. A repair removes it from the list.
	Corrected bool
	// Unrepairable: a repair was tried, and failed with ErrNoRepair.
	Unrepairable bool
}

// What describes the difference in English.
func (f *Found) What() string {
	if f.Unrepairable {
		return f.Difference.What() + noRepair
	}
	return f.Difference.What()
}

// columns are those that scan reads.
const columns = `comparison, subject, reason, details, found_ms, repairing, corrected, unrepairable`

func (f *Found) scan(row interface{ Scan(...any) error }) error {
	var details []byte
	if err := row.Scan(&f.Comparison, &f.Subject, &f.Reason, &details, &f.FoundMs, &f.Repairing, &f.Corrected, &f.Unrepairable); err != nil {
		return err
	}
	return json.Unmarshal(details, &f.Values)
}

// List returns at most limit differences of a comparison in the order of their subjects, after a subject.
func (s *Service) List(ctx context.Context, comparison, after string, limit int) (list []Found, err error) {
	if !slices.ContainsFunc(s.deps.Comparisons, func(c Comparison) bool { return c.Name() == comparison }) {
		return nil, errNoComparison
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT `+columns+` FROM reconciliation_differences WHERE comparison = $1 AND subject > $2 ORDER BY subject LIMIT $3`, comparison, after, limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var f Found
		err := f.scan(rows)
		list = append(list, f)
		return err
	})
	return list, err
}

// repairArgs are the arguments of the job that repairs a difference.
type repairArgs struct {
	Comparison string `json:"comparison"`
	Subject    string `json:"subject"`
}

// Kind implements job.Args.
func (repairArgs) Kind() string { return "reconciliation_repair" }

// Repair inserts a job that repairs a difference, in one transaction with the entry in the audit log. who is the name of the operator's key. It returns the difference.
func (s *Service) Repair(ctx context.Context, who, comparison, subject, reason string) (f Found, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		err := f.scan(tx.QueryRowContext(ctx, `UPDATE reconciliation_differences SET repairing = TRUE, unrepairable = FALSE WHERE comparison = $1 AND subject = $2 RETURNING `+columns, comparison, subject))
		if errors.Is(err, sql.ErrNoRows) {
			return errNoDifference
		}
		if err != nil {
			return err
		}
		if _, err := s.deps.Jobs.InsertTx(ctx, tx, repairArgs{comparison, subject}, job.Options{MaxFailures: repairFailures}); err != nil {
			return err
		}
		return s.deps.Audit.Add(ctx, tx, auditlog.Entry{Who: who, Action: "difference.repair", Subject: comparison + " " + subject, Before: f.What(), After: "to be repaired", Reason: reason})
	})
	if err == nil {
		s.deps.Jobs.Wake()
	}
	return f, err
}

// AddWorkers adds the worker that repairs.
func (s *Service) AddWorkers(w *job.Workers) { job.Add(w, s.repair) }

func (s *Service) repair(ctx context.Context, j job.Job[repairArgs]) error {
	for _, c := range s.deps.Comparisons {
		if c.Name() != j.Args.Comparison {
			continue
		}
		err := c.Repair(ctx, j.Args.Subject)
		if errors.Is(err, ErrNoRepair) {
			s.deps.Logger.Error("a difference of two stores could not be repaired", "comparison", c.Name(), "subject", j.Args.Subject, "error", err)
			return s.markUnrepairable(ctx, j.Args)
		}
		if err != nil {
			return err
		}
		s.deps.Logger.Info("two stores were made to agree", "comparison", c.Name(), "subject", j.Args.Subject)
		return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM reconciliation_differences WHERE comparison = $1 AND subject = $2`, j.Args.Comparison, j.Args.Subject)
			return err
		})
	}
	return job.Discard(fmt.Errorf("there is no comparison %q", j.Args.Comparison))
}

// noRepair follows the description of a difference that could not be repaired.
const noRepair = "; it cannot be repaired from here: put it back from a backup"

// markUnrepairable keeps a difference that could not be repaired in the list, and marks it.
func (s *Service) markUnrepairable(ctx context.Context, of repairArgs) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE reconciliation_differences SET repairing = FALSE, unrepairable = TRUE WHERE comparison = $1 AND subject = $2 AND repairing`, of.Comparison, of.Subject)
		return err
	})
}
