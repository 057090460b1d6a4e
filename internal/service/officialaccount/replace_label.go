package officialaccount

import (
	"context"
	"database/sql"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// replacedAtOnce is how many users have a label replaced in a transaction, so that other writers do not wait long.
const replacedAtOnce = 200

// ReplaceLabel renames a label or deletes it, in batches. Users who no longer follow are included, since their labels are kept until they follow again.
func (s *Service) ReplaceLabel(ctx context.Context, by id.User, r *chatv1.ReplaceFollowerLabelRequest) (*chatv1.OfficialAccount, error) {
	account := id.User(r.User)
	if account > math.MaxInt64 {
		return nil, errNotOperator
	}
	if _, _, err := operated(ctx, s.deps.DB.Read(), account, by); err != nil {
		return nil, err
	}
	if !isLabel(r.Label) || r.Replacement != "" && !isLabel(r.Replacement) {
		return nil, errLabel
	}
	if r.Replacement != r.Label {
		if err := s.replaceLabel(ctx, account, r.Label, r.Replacement); err != nil {
			return nil, err
		}
	}
	return s.Get(ctx, by, &chatv1.GetOfficialAccountRequest{User: r.User})
}

// replaceLabel replaces a label by another one, or by none. A user never has more labels afterwards, and neither has the account: it has both
// labels only until the last batch.
func (s *Service) replaceLabel(ctx context.Context, account id.User, label, replacement string) error {
	if replacement != "" {
		labels, err := labelsOf(ctx, s.deps.DB.Read(), account)
		if err != nil {
			return err
		}
		// A call that failed between two batches has left both, and a retry of it must go on.
		if len(labels) > maxLabels && !slices.Contains(labels, replacement) {
			return errTooManyLabels
		}
	}
	return s.deps.DB.WriteInBatches(ctx, replacedAtOnce, func(tx *sql.Tx) (int64, error) {
		users, err := usersOf(ctx, tx, `SELECT follower FROM official_labels WHERE account = $1 AND label = $2 ORDER BY follower LIMIT $3`, int64(account), label, replacedAtOnce)
		if err != nil {
			return 0, err
		}
		for _, u := range users {
			if err := replaceLabelOf(ctx, tx, account, u, label, replacement); err != nil {
				return 0, err
			}
		}
		return int64(len(users)), nil
	})
}

// replaceLabelOf replaces a label of a user, unless another operator took it off meanwhile.
func replaceLabelOf(ctx context.Context, tx *sql.Tx, account, u id.User, label, replacement string) error {
	deleted, err := tx.ExecContext(ctx, `DELETE FROM official_labels WHERE account = $1 AND follower = $2 AND label = $3`, int64(account), int64(u), label)
	if err != nil || replacement == "" {
		return err
	}
	n, err := deleted.RowsAffected()
	if err != nil || n == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO official_labels (account, follower, label) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, int64(account), int64(u), replacement)
	return err
}
