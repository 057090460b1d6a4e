package feed

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// ref is a post in a timeline.
type ref struct {
	post   uint64
	author id.User
}

// newestFirst orders refs.
func newestFirst(a, b ref) int { return cmp.Compare(b.post, a.post) }

// Whether pull returns deleted posts as well.
const withDeleted, withoutDeleted = true, false

const (
	// The posts of many authors are read from ranges of ids, the newest first, each wider than the one before: a few authors have posts in a wide range only,
	// many have very many there. The first range is six hours of snowflakes.
	firstSpan  = 6 * 3600 * 1000 << 22
	spanGrowth = 8
	// maxScanned bounds the posts that are read to find those of some authors among them.
	maxScanned = 400
)

// pull returns at most n posts of some authors below an id, but not below a floor, the newest first.
func (s *Service) pull(ctx context.Context, tx *sql.Tx, authors []id.User, before, floor uint64, n int, deleted bool) (found []ref, err error) {
	if len(authors) == 0 || before <= floor {
		return nil, nil
	}
	if len(authors) <= s.sizes.fewAuthors {
		return pullEach(ctx, tx, authors, before, floor, n, deleted)
	}
	found, high, err := s.scan(ctx, tx, authors, before, floor, n, deleted)
	if err != nil {
		return nil, err
	}
	for span := uint64(firstSpan); high > floor && len(found) < n; span *= spanGrowth {
		low := floor
		if high-floor > span {
			low = high - span
		}
		var some []ref
		for batch := range slices.Chunk(authors, s.sizes.authorsPerQuery) {
			if some, err = pullRange(ctx, tx, some, batch, high, low, n-len(found), deleted); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(some, newestFirst)
		found = append(found, some[:min(len(some), n-len(found))]...)
		if high = low; span > 1<<60 {
			span = 1 << 60 // it covers all ids, and must not overflow
		}
	}
	return found, nil
}

// scan returns those of the newest posts of all users below an id that are of some authors, at most n, and down to which id it read. Where these authors write a fair part of all posts, that
// is a page, for a third of the time that the index of each author takes.
func (s *Service) scan(ctx context.Context, tx *sql.Tx, authors []id.User, before, floor uint64, n int, deleted bool) (found []ref, low uint64, err error) {
	rows := min(n, maxScanned/s.sizes.scanFactor) * s.sizes.scanFactor
	// One row with all of them: to return a row costs SQLite and its driver more than to read one.
	var text sql.NullString
	if err := tx.QueryRowContext(ctx, `SELECT string_agg(CAST(id AS TEXT) || ' ' || CAST(author AS TEXT), ' ')
		FROM (SELECT id, author FROM feed_posts WHERE id < $1 AND id >= $2 AND (NOT deleted OR $4) ORDER BY id DESC LIMIT $3) AS newest`,
		int64(before), int64(floor), rows, deleted).Scan(&text); err != nil {
		return nil, 0, err
	}
	all, err := decodeRefs(text.String)
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(all, newestFirst) // the databases do not promise an order
	if low = floor; len(all) == rows {
		low = all[rows-1].post
	}
	isOf := make(map[id.User]bool, len(authors))
	for _, u := range authors {
		isOf[u] = true
	}
	found = slices.DeleteFunc(all, func(r ref) bool { return !isOf[r.author] })
	return found[:min(len(found), n)], low, nil
}

// decodeRefs reads ids of posts and authors, which take turns.
func decodeRefs(text string) (list []ref, err error) {
	for text != "" {
		var r ref
		for _, n := range []*uint64{&r.post, (*uint64)(&r.author)} {
			one, rest, _ := strings.Cut(text, " ")
			if *n, err = strconv.ParseUint(one, 10, 63); err != nil {
				return nil, err
			}
			text = rest
		}
		list = append(list, r)
	}
	return list, nil
}

// pullRange appends at most n posts of some authors in a range of ids.
func pullRange(ctx context.Context, tx *sql.Tx, found []ref, authors []id.User, before, floor uint64, n int, deleted bool) ([]ref, error) {
	marks, args := sqldb.Placeholders(5, authors, func(u id.User) int64 { return int64(u) })
	rows, err := tx.QueryContext(ctx, `SELECT id, author FROM feed_posts WHERE id < $1 AND id >= $2 AND author IN (`+marks+`) AND (NOT deleted OR $4) ORDER BY id DESC LIMIT $3`,
		append([]any{int64(before), int64(floor), n, deleted}, args...)...)
	return appendRefs(found, rows, err)
}

func appendRefs(found []ref, rows *sql.Rows, err error) ([]ref, error) {
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var r ref
		err := rows.Scan(&r.post, &r.author)
		found = append(found, r)
		return err
	})
	return found, err
}

// pullEach is pull with a query for each author.
func pullEach(ctx context.Context, tx *sql.Tx, authors []id.User, before, floor uint64, n int, deleted bool) (found []ref, err error) {
	for _, u := range authors {
		rows, err := tx.QueryContext(ctx, `SELECT id, author FROM feed_posts WHERE author = $1 AND id < $2 AND id >= $3 AND (NOT deleted OR $5) ORDER BY id DESC LIMIT $4`, int64(u), int64(before), int64(floor), n, deleted)
		if found, err = appendRefs(found, rows, err); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, newestFirst)
	return found[:min(len(found), n)], nil
}

// pendingPosts returns the posts of some authors that fan-out has not brought to all followers. As a rule there are few of all authors.
func (s *Service) pendingPosts(ctx context.Context, tx *sql.Tx, authors map[id.User]bool) (found []ref, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, author FROM feed_posts WHERE pending LIMIT $1`, s.sizes.fewRows+1)
	if found, err = appendRefs(nil, rows, err); err != nil {
		return nil, err
	}
	if len(found) <= s.sizes.fewRows {
		return slices.DeleteFunc(found, func(r ref) bool { return !authors[r.author] }), nil
	}
	found = nil
	for batch := range slices.Chunk(slices.Sorted(maps.Keys(authors)), s.sizes.authorsPerQuery) {
		marks, args := sqldb.Placeholders(1, batch, func(u id.User) int64 { return int64(u) })
		rows, err := tx.QueryContext(ctx, `SELECT id, author FROM feed_posts WHERE pending AND author IN (`+marks+`)`, args...)
		if found, err = appendRefs(found, rows, err); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// tier of an author whose posts are not all pushed.
type tier struct {
	author     id.User
	pulled     bool
	pushedFrom uint64
}

func appendTiers(list []tier, rows *sql.Rows, err error) ([]tier, error) {
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var t tier
		err := rows.Scan(&t.author, &t.pulled, &t.pushedFrom)
		list = append(list, t)
		return err
	})
	return list, err
}

// pulledAuthors returns those of some authors whose posts at or above a floor are not all pushed. As a rule there are few among all authors.
func (s *Service) pulledAuthors(ctx context.Context, tx *sql.Tx, authors map[id.User]bool, floor uint64) (pulled []id.User, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT author, pulled, pushed_from FROM feed_authors WHERE (pulled OR pushed_from > 0) LIMIT $1`, s.sizes.fewRows+1)
	tiers, err := appendTiers(nil, rows, err)
	if err != nil {
		return nil, err
	}
	if len(tiers) > s.sizes.fewRows {
		tiers = nil
		for batch := range slices.Chunk(slices.Sorted(maps.Keys(authors)), s.sizes.authorsPerQuery) {
			marks, args := sqldb.Placeholders(1, batch, func(u id.User) int64 { return int64(u) })
			rows, err := tx.QueryContext(ctx, `SELECT author, pulled, pushed_from FROM feed_authors WHERE (pulled OR pushed_from > 0) AND author IN (`+marks+`)`, args...)
			if tiers, err = appendTiers(tiers, rows, err); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range tiers {
		if authors[t.author] && (t.pulled || t.pushedFrom > floor) {
			pulled = append(pulled, t.author)
		}
	}
	return pulled, nil
}

func postsOf(refs []ref) []uint64 {
	list := make([]uint64, len(refs))
	for i, r := range refs {
		list[i] = r.post
	}
	return list
}

// endOf returns where a source goes on, of which n posts above a floor were asked for.
func endOf(list []uint64, n int, floor uint64) uint64 {
	if len(list) < n {
		return floor
	}
	return list[len(list)-1]
}
