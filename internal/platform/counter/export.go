package counter

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Membership is a member of a set, in an export.
type Membership struct {
	Kind    Kind
	Subject uint64
	User    id.User
	AtMs    int64
}

// Export returns at most limit members of all sets of the kinds up to last, behind one, in the order of kinds, subjects and users.
func (s *Service) Export(ctx context.Context, last Kind, behind Membership, limit int) ([]Membership, error) {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT kind, subject, member, at_ms FROM counter_members WHERE (kind, subject, member) > ($1, $2, $3) AND kind <= $4 AND present
		ORDER BY kind, subject, member LIMIT $5`, int64(behind.Kind), int64(behind.Subject), int64(behind.User), int64(last), pageLimit(limit))
	return sqldb.Collect(rows, err, func(scan func(...any) error) (m Membership, err error) {
		return m, scan(&m.Kind, &m.Subject, &m.User, &m.AtMs)
	})
}

// CountMembers returns how many members all sets of the kinds up to last have.
func (s *Service) CountMembers(ctx context.Context, last Kind) (n uint64, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM counter_members WHERE kind <= $1 AND present`, int64(last)).Scan(&n)
	return n, err
}
