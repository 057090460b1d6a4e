package officialaccount

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const (
	maxLabels           = 100 // of an account
	maxLabelsOfFollower = 20
	maxLabelCharacters  = 32
	maxUsersPerCall     = 200
	maxFollowersPage    = 200
)

var (
	errLabel         = errs.New(errs.Invalid, "bad_label", "a label has 1 to 32 characters in one line, at least one of them visible; give at most 200 followers at once")
	errTooManyLabels = errs.New(errs.Exhausted, "too_many_labels", "an account has at most 100 labels, and a follower 20; remove one first")
	errPage          = errs.New(errs.Invalid, "bad_page", "page is the next of an earlier answer, or empty; limit is not more than the documented")
)

func isLabel(label string) bool {
	return utf8.RuneCountInString(label) <= maxLabelCharacters && message.IsName(label)
}

// SetLabel sets a label on followers, or takes it off. Who does not follow is left out.
func (s *Service) SetLabel(ctx context.Context, by id.User, r *chatv1.SetFollowerLabelRequest) error {
	if id.User(r.User) > math.MaxInt64 {
		return errNotOperator
	}
	o, _, err := operated(ctx, s.deps.DB.Read(), id.User(r.User), by)
	if err != nil {
		return err
	}
	if !isLabel(r.Label) || len(r.Followers) == 0 || len(r.Followers) > maxUsersPerCall {
		return errLabel
	}
	var users []id.User
	for _, u := range r.Followers {
		if u > 0 && u <= math.MaxInt64 {
			users = append(users, id.User(u))
		}
	}
	if !r.Remove {
		if users, err = s.deps.Chat.FollowersAmong(ctx, o.channel, users); err != nil {
			return err
		}
	}
	slices.Sort(users)
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		if r.Remove {
			return removeLabel(ctx, tx, o.account, users, r.Label)
		}
		return addLabel(ctx, tx, o.account, users, r.Label)
	})
}

func removeLabel(ctx context.Context, tx *sql.Tx, account id.User, users []id.User, label string) error {
	for _, u := range users {
		if _, err := tx.ExecContext(ctx, `DELETE FROM official_labels WHERE account = $1 AND follower = $2 AND label = $3`, int64(account), int64(u), label); err != nil {
			return err
		}
	}
	return nil
}

func addLabel(ctx context.Context, tx *sql.Tx, account id.User, users []id.User, label string) error {
	for _, u := range users {
		if _, err := tx.ExecContext(ctx, `INSERT INTO official_labels (account, follower, label) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, int64(account), int64(u), label); err != nil {
			return err
		}
		count := 0
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM official_labels WHERE account = $1 AND follower = $2`, int64(account), int64(u)).Scan(&count); err != nil {
			return err
		}
		if count > maxLabelsOfFollower {
			return errTooManyLabels
		}
	}
	labels, err := labelsOf(ctx, tx, account)
	if err == nil && len(labels) > maxLabels {
		err = errTooManyLabels
	}
	return err
}

// labelsOf returns the labels of an account, and one more if there are too many. It steps from label to label in the index, however many
// followers have each.
func labelsOf(ctx context.Context, q sqldb.Querier, account id.User) (list []string, err error) {
	for after := ""; len(list) <= maxLabels; {
		var next sql.NullString
		if err := q.QueryRowContext(ctx, `SELECT MIN(label) FROM official_labels WHERE account = $1 AND label > $2`, int64(account), after).Scan(&next); err != nil {
			return nil, err
		}
		if !next.Valid {
			break
		}
		after = next.String
		list = append(list, after)
	}
	return list, nil
}

// labelsOfFollowers returns the labels of at most 200 followers, each with its labels in order.
func labelsOfFollowers(ctx context.Context, q sqldb.Querier, account id.User, users []id.User) (map[id.User][]string, error) {
	labels := map[id.User][]string{}
	if len(users) == 0 {
		return labels, nil
	}
	marks, args := sqldb.Placeholders(2, users, func(u id.User) int64 { return int64(u) })
	rows, err := q.QueryContext(ctx, `SELECT follower, label FROM official_labels WHERE account = $1 AND follower IN (`+marks+`) ORDER BY follower, label`, append([]any{int64(account)}, args...)...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var u id.User
		var label string
		if err := rows.Scan(&u, &label); err != nil {
			return err
		}
		labels[u] = append(labels[u], label)
		return nil
	})
	return labels, err
}

// ListFollowers returns a page of followers, of all or of those with a label.
func (s *Service) ListFollowers(ctx context.Context, by id.User, r *chatv1.ListOfficialFollowersRequest) (*chatv1.ListOfficialFollowersResponse, error) {
	if id.User(r.User) > math.MaxInt64 {
		return nil, errNotOperator
	}
	o, _, err := operated(ctx, s.deps.DB.Read(), id.User(r.User), by)
	if err != nil {
		return nil, err
	}
	limit, after := int(r.Limit), uint64(0)
	if limit == 0 {
		limit = 100
	}
	if r.Page != "" {
		after, err = strconv.ParseUint(r.Page, 10, 63)
	}
	if err != nil || limit > maxFollowersPage || r.Label != "" && !isLabel(r.Label) {
		return nil, errPage
	}
	var users, page []id.User
	if r.Label == "" {
		page, err = s.deps.Chat.FollowersAfter(ctx, o.channel, id.User(after), limit)
		users = page
	} else {
		page, err = usersOf(ctx, s.deps.DB.Read(), `SELECT follower FROM official_labels WHERE account = $1 AND label = $2 AND follower > $3 ORDER BY follower LIMIT $4`,
			int64(o.account), r.Label, int64(after), limit)
		if err == nil {
			users, err = s.deps.Chat.FollowersAmong(ctx, o.channel, page) // the labels of others are kept until they follow again
		}
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(users)
	labels, err := labelsOfFollowers(ctx, s.deps.DB.Read(), o.account, users)
	if err != nil {
		return nil, err
	}
	list := &chatv1.ListOfficialFollowersResponse{}
	for _, u := range users {
		if u == o.account {
			continue
		}
		list.Followers = append(list.Followers, &chatv1.OfficialFollower{User: uint64(u), Labels: labels[u]})
	}
	if len(page) == limit {
		list.Next = page[len(page)-1].String()
	}
	return list, nil
}
