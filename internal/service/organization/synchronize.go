package organization

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

const (
	pollInterval = 2 * time.Second // finds groups that other nodes marked, or that failed
	pendingPage  = 100
)

func (s *Service) signal() {
	wakeup.Signal(s.wake)
}

// Run answers other nodes, aligns the groups of organizations, and reads what MemberOf is asked for, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	stop, err := s.deps.Bus.Respond(subject(s.deps.Node), s.answer)
	if err != nil {
		return err
	}
	defer stop()
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { s.runMemberships(ctx) })
	s.signal() // for groups that were pending at the last stop
	(&cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: pollInterval, Wake: s.wake, Round: s.alignPending, Failed: "the groups of organizations follow later", Logger: s.deps.Logger}).Run(ctx)
	return nil
}

// alignPending aligns all groups that were pending when it began. One that fails keeps none of the others.
func (s *Service) alignPending(ctx context.Context) error {
	if err := s.markInterrupted(ctx); err != nil {
		return err
	}
	for after := id.Conversation(0); ctx.Err() == nil; {
		page, err := s.queryGroups(ctx, `SELECT conversation FROM organization_groups WHERE pending > 0 AND conversation > $1 ORDER BY conversation LIMIT $2`, int64(after), pendingPage)
		for _, c := range page {
			if alignErr := s.align(ctx, c); alignErr != nil && ctx.Err() == nil {
				s.deps.Logger.Warn("a group does not follow its department yet; it is tried again", "conversation", c, "error", alignErr)
			}
			after = c
		}
		if err != nil || len(page) < pendingPage {
			return err
		}
	}
	return ctx.Err()
}

// align brings the members of a group in line with the rows, if a change is pending. A call and the coordinator may align a group at once, from rows of
// different ages. If the change's id differs at the end, newer work may have been undone, so the group becomes pending again.
func (s *Service) align(ctx context.Context, c id.Conversation) error {
	g := followed{conversation: c}
	err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT organization, department, below, pending FROM organization_groups WHERE conversation = $1`, int64(c)).Scan(&g.org, &g.department, &g.below, &g.pending)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil || g.pending == 0 {
		return err
	}
	aligner, err := s.registerAligner(ctx, c)
	if err != nil {
		return err
	}
	err = s.alignFromRows(ctx, &g)
	ctx = context.WithoutCancel(ctx) // also where the call or this node ends
	if errs.Of(err) != nil && errs.Of(err).Reason == "dissolved" {
		return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
			if err := unregisterAligner(ctx, tx, aligner); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `DELETE FROM organization_groups WHERE conversation = $1`, int64(c))
			return err
		})
	}
	left := int64(0)
	if err != nil {
		left = g.pending // for the next round
	}
	writeErr := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if err := unregisterAligner(ctx, tx, aligner); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE organization_groups SET pending = CASE WHEN pending = $2 THEN CAST($3 AS BIGINT) ELSE CAST($4 AS BIGINT) END WHERE conversation = $1`, int64(c), g.pending, left, newChangeID())
		return err
	})
	if err == nil {
		s.signal() // ignored where nothing is pending
	}
	return errors.Join(err, writeErr)
}

// followed is a row of organization_groups.
type followed struct {
	conversation    id.Conversation
	org, department uint64
	below           bool
	pending         int64 // the id of the change that is pending; 0: none
}

// alignFromRows changes a group's members. It fails with dissolved.
func (s *Service) alignFromRows(ctx context.Context, g *followed) error {
	ctx, cancel := context.WithTimeout(ctx, alignTimeout)
	defer cancel()
	err := s.replaceOwner(ctx, g.conversation, g.org, func(owner id.User) (bool, error) {
		inside, err := s.membersAmong(ctx, g.org, []id.User{owner})
		return !inside[owner], err
	})
	switch {
	case err != nil:
		return err
	case g.department == 0:
		return s.alignCircle(ctx, g.conversation, g.org)
	}
	return s.alignDepartment(ctx, g.conversation, g.org, g.department, g.below)
}

// alignDepartment makes the members of a department those of a group. Of more than a group may have, those with the lowest ids are in it.
func (s *Service) alignDepartment(ctx context.Context, c id.Conversation, org, department uint64, below bool) error {
	query := `SELECT member FROM department_members WHERE department = $2 AND organization = $1 ORDER BY member LIMIT $3`
	if below {
		query = `WITH RECURSIVE below (id) AS (SELECT id FROM departments WHERE id = $2 AND organization = $1
				UNION SELECT d.id FROM departments d JOIN below ON d.parent = below.id WHERE d.organization = $1)
			SELECT DISTINCT m.member FROM department_members m JOIN below ON m.department = below.id ORDER BY m.member LIMIT $3`
	}
	rows, err := s.deps.DB.Read().QueryContext(ctx, query, int64(org), int64(department), s.deps.MaxMembers-1) // and the owner
	want, err := sqldb.Column[id.User](rows, err)
	if err != nil {
		return err
	}
	return s.deps.Groups.AlignMembers(ctx, c, func([]id.User) []id.User { return want })
}

// alignCircle takes those out of a circle who are not in the organization any more.
func (s *Service) alignCircle(ctx context.Context, c id.Conversation, org uint64) error {
	var current []id.User
	err := s.deps.Groups.AlignMembers(ctx, c, func(now []id.User) []id.User {
		current = now
		return now
	})
	if err != nil {
		return err
	}
	inside, err := s.membersAmong(ctx, org, current)
	if err != nil {
		return err
	}
	outside := map[id.User]bool{}
	for _, u := range current {
		outside[u] = !inside[u]
	}
	return s.deps.Groups.AlignMembers(ctx, c, func(now []id.User) []id.User {
		return slices.DeleteFunc(now, func(u id.User) bool { return outside[u] })
	})
}
