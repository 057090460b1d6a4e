package officialaccount

import (
	"context"
	"database/sql"
	"math"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	maxOperators = 50  // of an account
	maxOperated  = 100 // accounts of an operator
)

var (
	errOperator         = errs.New(errs.Invalid, "bad_operator", "name a user other than the account, and the role operator, admin or none")
	errTooManyOperators = errs.New(errs.Exhausted, "too_many_operators", "an official account has at most 50 operators, and a user operates at most 100 accounts; remove one first")
)

// SetOperator gives a user a role, or takes it away.
func (s *Service) SetOperator(ctx context.Context, by id.User, r *chatv1.SetOfficialOperatorRequest) (*chatv1.OfficialAccount, error) {
	account, operator := id.User(r.User), id.User(r.Operator)
	if account > math.MaxInt64 {
		return nil, errNotOperator
	}
	_, role, err := operated(ctx, s.deps.DB.Read(), account, by)
	switch {
	case err != nil:
		return nil, err
	case role != chatv1.OfficialRole_OFFICIAL_ROLE_ADMIN:
		return nil, errNotAdmin
	case operator == 0 || operator > math.MaxInt64 || operator == account || r.Role < 0 || r.Role > chatv1.OfficialRole_OFFICIAL_ROLE_ADMIN:
		return nil, errOperator
	}
	if err := s.deps.Accounts.Exist(ctx, []id.User{operator}); err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		// The caller may have lost the role since. The row of the account makes such changes follow each other.
		if _, err := tx.ExecContext(ctx, `UPDATE official_accounts SET revision = revision + 1 WHERE account = $1`, int64(account)); err != nil {
			return err
		}
		if now, err := roleOf(ctx, tx, account, by); err != nil || now != chatv1.OfficialRole_OFFICIAL_ROLE_ADMIN {
			return orElse(err, errNotAdmin)
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM official_operators WHERE account = $1 AND operator = $2`, int64(account), int64(operator)); err != nil || r.Role == 0 {
			return err
		}
		for query, limit := range map[string]struct {
			of    id.User
			limit int
		}{
			`SELECT COUNT(*) FROM official_operators WHERE account = $1`:  {account, maxOperators},
			`SELECT COUNT(*) FROM official_operators WHERE operator = $1`: {operator, maxOperated},
		} {
			count := 0
			if err := tx.QueryRowContext(ctx, query, int64(limit.of)).Scan(&count); err != nil || count >= limit.limit {
				return orElse(err, errTooManyOperators)
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO official_operators (account, operator, role) VALUES ($1, $2, $3)`, int64(account), int64(operator), r.Role)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, by, &chatv1.GetOfficialAccountRequest{User: uint64(account)})
}

// orElse returns an error, or another if there is none.
func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
