package counter

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// Change of a set: a user is added, or removed.
type Change struct {
	Kind    Kind
	Subject uint64
	User    id.User
	Remove  bool
	// AtMs is when it was, milliseconds since 1970; 0: now.
	AtMs int64
	// Quiet: OnChange tells nobody.
	Quiet bool
	// Changed is set by Apply: the user was no member before an addition, or was one before a removal.
	Changed bool
}

// request is what one caller writes.
type request struct{ changes []Change }

// Add adds a user to a set. It reports whether the user was no member before.
func (s *Service) Add(ctx context.Context, k Kind, subject uint64, u id.User) (added bool, err error) {
	one := []Change{{Kind: k, Subject: subject, User: u}}
	err = s.Apply(ctx, one)
	return one[0].Changed, err
}

// Remove removes a user from a set. It reports whether the user was a member.
func (s *Service) Remove(ctx context.Context, k Kind, subject uint64, u id.User) (removed bool, err error) {
	one := []Change{{Kind: k, Subject: subject, User: u, Remove: true}}
	err = s.Apply(ctx, one)
	return one[0].Changed, err
}

// Apply makes up to maxPage changes, all or none, in their order, and sets Changed of each. It returns after the commit, as Write does: after
// some failures it is unknown whether they were made, and the caller may repeat them.
func (s *Service) Apply(ctx context.Context, changes []Change) error {
	if len(changes) > maxPage {
		return fmt.Errorf("counter: %d changes at once; at most %d", len(changes), maxPage)
	}
	for _, c := range changes {
		if c.Subject == 0 || c.Subject > math.MaxInt64 || c.User == 0 || c.User > math.MaxInt64 {
			return fmt.Errorf("counter: user %d of subject %d: ids have 1 to 63 bits", c.User, c.Subject)
		}
	}
	r := &request{slices.Clone(changes)}
	if err := s.changes.Write(ctx, r); err != nil {
		return err
	}
	failpoint.Hit("counter/committed")
	copy(changes, r.changes)
	s.metrics.changes.Add(uint64(len(changes)))
	return nil
}

// setKey names a set, and memberKey a possible member of it.
type (
	setKey struct {
		kind    Kind
		subject uint64
	}
	memberKey struct {
		setKey
		user id.User
	}
)

func (a setKey) compare(b setKey) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.subject, b.subject))
}

func (a memberKey) compare(b memberKey) int {
	return cmp.Or(a.setKey.compare(b.setKey), cmp.Compare(a.user, b.user))
}

// membership of one user in one set, and the changes of it in one transaction.
type membership struct {
	key     memberKey
	changes []*Change
	changed bool // the last one of them makes a difference
	stored  bool // the row existed: a removed member was one before
}

// apply makes the changes of requests. Only the last change of each membership is stored. No statement reads rows by a condition: in
// PostgreSQL, two nodes that change the same set would then abort each other's transactions.
func (s *Service) apply(ctx context.Context, tx *sql.Tx, requests []*request) error {
	list := memberships(requests)
	byKey := make(map[memberKey]*membership, len(list))
	for _, m := range list {
		byKey[m.key] = m
	}
	now := s.nowMs()
	err := eachTime(list, func(some []*membership) error {
		rows, args := valueRows(len(some), 4, `$1, 0`), []any{cmp.Or(some[0].last().AtMs, now)}
		for _, m := range some {
			args = append(args, int64(m.key.kind), int64(m.key.subject), int64(m.key.user), !m.last().Remove)
		}
		changed, err := tx.QueryContext(ctx, `INSERT INTO counter_members (kind, subject, member, present, at_ms, changes) VALUES `+rows+`
			ON CONFLICT (kind, subject, member) DO UPDATE SET at_ms = excluded.at_ms, present = excluded.present, changes = counter_members.changes + 1
			WHERE counter_members.present <> excluded.present RETURNING kind, subject, member, changes`, args...)
		return sqldb.EachRow(changed, err, func(r *sql.Rows) error {
			var k memberKey
			var changes int64
			if err := r.Scan(&k.kind, &k.subject, &k.user, &changes); err != nil {
				return err
			}
			byKey[k].changed, byKey[k].stored = true, changes > 0
			return nil
		})
	})
	if err != nil {
		return err
	}
	made, deltas := settle(list)
	if err := s.addDeltas(ctx, tx, deltas); err != nil {
		return err
	}
	if s.deps.OnChange != nil && len(made) > 0 {
		if err := s.deps.OnChange(ctx, tx, made); err != nil {
			return err
		}
	}
	s.metrics.transactions.Add(1)
	failpoint.Hit("counter/before-commit")
	return nil
}

// memberships returns the memberships that requests change, sorted, so that nodes lock rows in the same order.
func memberships(requests []*request) []*membership {
	byKey := map[memberKey]*membership{}
	for _, r := range requests {
		for i := range r.changes {
			c := &r.changes[i]
			k := memberKey{setKey{c.Kind, c.Subject}, c.User}
			m := byKey[k]
			if m == nil {
				m = &membership{key: k}
				byKey[k] = m
			}
			m.changes = append(m.changes, c)
		}
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b *membership) int { return a.key.compare(b.key) })
}

func (m *membership) last() *Change { return m.changes[len(m.changes)-1] }

// was reports whether the user was a member before the changes.
func (m *membership) was() bool {
	if m.last().Remove {
		return m.changed && m.stored
	}
	return !m.changed
}

// settle sets the results of all changes. It returns the memberships that are different now, and the differences of sizes.
func settle(list []*membership) (made []Change, deltas map[setKey]int64) {
	deltas = map[setKey]int64{}
	for _, m := range list {
		was := m.was()
		is := was
		for _, c := range m.changes {
			c.Changed = is == c.Remove
			is = !c.Remove
		}
		if is == was {
			continue
		}
		last := *m.last()
		last.Changed = true
		made = append(made, last)
		if deltas[m.key.setKey]++; !is {
			deltas[m.key.setKey] -= 2
		}
	}
	return made, deltas
}

// addDeltas adds to this node's buckets of sizes.
func (s *Service) addDeltas(ctx context.Context, tx *sql.Tx, deltas map[setKey]int64) error {
	maps.DeleteFunc(deltas, func(_ setKey, n int64) bool { return n == 0 })
	bucket := s.bucket()
	return inPowersOfTwo(slices.SortedFunc(maps.Keys(deltas), setKey.compare), func(some []setKey) error {
		rows, args := valueRows(len(some), 3, `$1`), []any{bucket}
		for _, k := range some {
			args = append(args, int64(k.kind), int64(k.subject), deltas[k])
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO counter_counts (kind, subject, n, bucket) VALUES `+rows+` ON CONFLICT (kind, subject, bucket) DO UPDATE SET n = counter_counts.n + excluded.n`, args...)
		return err
	})
}

// maxRows is how many rows one statement inserts. Those of 33 arguments are the largest that sqldb keeps prepared, which matters more in SQLite
// than fewer round trips do in PostgreSQL.
const maxRows = 8

// eachTime calls inPowersOfTwo for parts of a list that are changed at the same time. Only imports give times, so that it is the whole list as a rule.
func eachTime(list []*membership, each func([]*membership) error) error {
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].last().AtMs == list[0].last().AtMs {
			n++
		}
		if err := inPowersOfTwo(list[:n], each); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// inPowersOfTwo calls each for parts of a list whose lengths are powers of two, so that there are few different statements.
func inPowersOfTwo[T any](list []T, each func([]T) error) error {
	for n := maxRows; len(list) > 0; {
		for n > len(list) {
			n /= 2
		}
		if err := each(list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// valueRows returns the placeholders of rows with some columns each, from $2 on, and what ends each row.
func valueRows(rows, columns int, end string) string {
	var b strings.Builder
	for row := range rows {
		if row > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(")
		for column := range columns {
			b.WriteString("$" + strconv.Itoa(2+row*columns+column) + ", ")
		}
		b.WriteString(end + ")")
	}
	return b.String()
}
