package counter

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Reads are the reads of a Service.
type Reads struct {
	from    func(ctx context.Context) sqldb.Reader
	sizes   *sqldb.SnapshotCache[setKey, uint64]
	members *sqldb.SnapshotCache[setKey, []id.User] // of small sets
	tx      *sql.Tx                                 // nil: none
}

// In returns the reads as of a transaction, such as the snapshot of a page. Those of a Service itself show all that was answered before.
func (s *Service) In(tx *sql.Tx) Reads {
	return Reads{func(context.Context) sqldb.Reader { return tx }, s.sizes, s.members, tx}
}

// Counts returns the sizes of the sets of subjects, at most maxPage, in their order.
func (r Reads) Counts(ctx context.Context, k Kind, subjects []uint64) ([]uint64, error) {
	list, err := r.Figures(ctx, 0, subjects, Asked{Sets: [2]Kind{k}})
	counts := make([]uint64, len(list))
	for i := range list {
		counts[i] = list[i].Sizes[0]
	}
	return counts, err
}

// CountSince returns how many members of a set joined at a time or later, and stayed. It reads a row for each.
func (r Reads) CountSince(ctx context.Context, k Kind, subject uint64, sinceMs int64) (n uint64, err error) {
	rows, err := r.from(ctx).QueryContext(ctx, `SELECT COUNT(*) FROM counter_members WHERE kind = $1 AND subject = $2 AND present AND at_ms >= $3`, int64(k), int64(subject), sinceMs)
	err = sqldb.EachRow(rows, err, func(row *sql.Rows) error { return row.Scan(&n) })
	return n, err
}

// MembersAmong returns those of some users, at most maxPage, who are members of a set.
func (r Reads) MembersAmong(ctx context.Context, k Kind, subject uint64, users []id.User) (map[id.User]bool, error) {
	if len(users) > maxPage {
		return nil, fmt.Errorf("counter: %d users at once; at most %d", len(users), maxPage)
	}
	found := map[id.User]bool{}
	if len(users) == 0 {
		return found, nil
	}
	placeholders, args := sqldb.Placeholders(3, users, func(u id.User) int64 { return int64(u) })
	rows, err := r.from(ctx).QueryContext(ctx, `SELECT member FROM counter_members WHERE kind = $1 AND subject = $2 AND present AND member IN (`+placeholders+`)`,
		append([]any{int64(k), int64(subject)}, args...)...)
	err = sqldb.EachRow(rows, err, func(row *sql.Rows) error {
		var u id.User
		err := row.Scan(&u)
		found[u] = true
		return err
	})
	return found, err
}

// Members returns a page of a set, newest first, behind a position.
func (r Reads) Members(ctx context.Context, k Kind, subject uint64, behind Position, limit int) (list []Member, err error) {
	before := behind.bounds()
	rows, err := r.from(ctx).QueryContext(ctx, `SELECT member, at_ms FROM counter_members WHERE kind = $1 AND subject = $2 AND present AND (at_ms, member) < ($3, $4)
		ORDER BY at_ms DESC, member DESC LIMIT $5`, int64(k), int64(subject), before.AtMs, int64(before.ID), pageLimit(limit))
	err = sqldb.EachRow(rows, err, func(row *sql.Rows) error {
		var m Member
		err := row.Scan(&m.User, &m.AtMs)
		list = append(list, m)
		return err
	})
	return list, err
}

// Subjects returns a page of the subjects whose sets have a user as a member, newest first, behind a position.
func (r Reads) Subjects(ctx context.Context, k Kind, u id.User, behind Position, limit int) (list []Subject, err error) {
	before := behind.bounds()
	rows, err := r.from(ctx).QueryContext(ctx, `SELECT subject, at_ms FROM counter_members WHERE kind = $1 AND member = $2 AND present AND (at_ms, subject) < ($3, $4)
		ORDER BY at_ms DESC, subject DESC LIMIT $5`, int64(k), int64(u), before.AtMs, int64(before.ID), pageLimit(limit))
	err = sqldb.EachRow(rows, err, func(row *sql.Rows) error {
		var of Subject
		err := row.Scan(&of.ID, &of.AtMs)
		list = append(list, of)
		return err
	})
	return list, err
}

// bounds returns a position whose parts are numbers of the database.
func (p Position) bounds() Position {
	if p == (Position{}) {
		p.AtMs = math.MaxInt64
	}
	p.ID = min(p.ID, math.MaxInt64)
	return p
}

func pageLimit(limit int) int { return min(max(limit, 1), maxPage) }
