package organization

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
)

// An aligner of groups registers before it reads the rows. Its last entry may follow from old rows, and undo what another aligner did in the meantime. At its
// end it checks for changes since its start. If it is killed before that, its registration remains, and marks the groups as pending when it expires.
const (
	// alignTimeout bounds the work of an aligner.
	alignTimeout = 30 * time.Second
	// registrationTime is after the timeout, also for nodes whose clocks differ.
	registrationTime = 2 * alignTimeout
)

// registerAligner registers an aligner of one group.
func (s *Service) registerAligner(ctx context.Context, c id.Conversation) (aligner int64, err error) {
	aligner = newChangeID()
	return aligner, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO organization_alignments (aligner, conversation, until_ms) VALUES ($1, $2, $3)`, aligner, int64(c), s.registeredUntil())
		return err
	})
}

// registerAlignerOfAll registers an aligner of all groups of an organization.
func (s *Service) registerAlignerOfAll(ctx context.Context, org uint64) (aligner int64, err error) {
	aligner = newChangeID()
	return aligner, s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO organization_alignments (aligner, conversation, until_ms) SELECT CAST($1 AS BIGINT), conversation, CAST($2 AS BIGINT) FROM organization_groups WHERE organization = $3`,
			aligner, s.registeredUntil(), int64(org))
		return err
	})
}

func (s *Service) registeredUntil() int64 {
	return s.deps.Clock.Now().Add(registrationTime).UnixMilli()
}

// unregisterAligner ends a registration, in the transaction that marks what the aligner may have undone.
func unregisterAligner(ctx context.Context, tx *sql.Tx, aligner int64) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM organization_alignments WHERE aligner = $1`, aligner)
	return err
}

// markInterrupted makes the groups pending whose aligners were killed.
func (s *Service) markInterrupted(ctx context.Context) error {
	now := s.deps.Clock.Now().UnixMilli()
	var one int
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT 1 FROM organization_alignments WHERE until_ms < $1 LIMIT 1`, now).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE organization_groups SET pending = $2 WHERE conversation IN (SELECT conversation FROM organization_alignments WHERE until_ms < $1)`, now, newChangeID()); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM organization_alignments WHERE until_ms < $1`, now)
		return err
	})
}
