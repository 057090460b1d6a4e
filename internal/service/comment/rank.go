package comment

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

const (
	// levelsPerDoubling is how many levels there are between a number of likes and twice that number. Small numbers have a level each. So a comment changes its
	// level often only while it has few likes.
	levelsPerDoubling = 16
	// rankLife is how long the ranks of an earlier moment are kept, for the next pages of lists that began then.
	rankLife = 15 * time.Minute
	// current is the end of a rank that is valid now.
	current = math.MaxInt64
)

// RankLevel returns the level of a comment with some likes, by which comments are sorted; 0: none.
func RankLevel(likes uint64) int64 {
	if likes == 0 {
		return 0
	}
	return 1 + int64(levelsPerDoubling*math.Log2(float64(likes)))
}

// RankByLikes sorts comments by their likes, in a transaction. Lists that have begun keep the order of their first page. Replies are not sorted.
func (s *Service) RankByLikes(ctx context.Context, tx *sql.Tx, likes map[uint64]uint64) error {
	changed, err := changedRanks(ctx, tx, likes)
	if err != nil || len(changed) == 0 {
		return err
	}
	// Ranks are changed one transaction after the other, because each changes this row. So who reads a version sees all ranks up to it.
	var version int64
	if err := tx.QueryRowContext(ctx, `UPDATE comment_rank_version SET version = version + 1 RETURNING version`).Scan(&version); err != nil {
		return err
	}
	now := s.nowMs()
	for _, r := range changed {
		_, ended := tx.ExecContext(ctx, `UPDATE comment_ranks SET until = $2, until_ms = $3 WHERE comment = $1 AND until = $4`, int64(r.id), version, now, int64(current))
		if ended != nil {
			return ended
		}
		if r.level == 0 {
			continue
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO comment_ranks (comment, kind, subject, level, since, until, until_ms) VALUES ($1, $2, $3, $4, $5, $6, 0)`,
			int64(r.id), int64(r.kind), int64(r.subject), r.level, version, int64(current)); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM comment_ranks WHERE until_ms > 0 AND until_ms < $1`, now-rankLife.Milliseconds())
	return errors.Join(err, s.reached("ranked"))
}

// changedRanks returns the top comments whose level is another one now, with that level.
func changedRanks(ctx context.Context, tx *sql.Tx, likes map[uint64]uint64) (changed []*row, err error) {
	if len(likes) == 0 {
		return nil, nil
	}
	marks, args := sqldb.Placeholders(2, slices.Sorted(maps.Keys(likes)), func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT c.id, c.kind, c.subject, COALESCE(r.level, 0) FROM comments c LEFT JOIN comment_ranks r ON r.comment = c.id AND r.until = $1 WHERE c.top = 0 AND c.id IN (`+marks+`) ORDER BY c.id`,
		append([]any{int64(current)}, args...)...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		r := &row{}
		if err := rows.Scan(&r.id, &r.kind, &r.subject, &r.level); err != nil {
			return err
		}
		if level := RankLevel(likes[r.id]); level != r.level {
			r.level = level
			changed = append(changed, r)
		}
		return nil
	})
	return changed, err
}

// rankVersion returns the number of the last change of ranks.
func rankVersion(ctx context.Context, tx *sql.Tx) (version int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT version FROM comment_rank_version`).Scan(&version)
	return version, err
}

// rankedRows returns at most limit top comments of a subject with likes, as of a version, behind a place.
func rankedRows(ctx context.Context, tx *sql.Tx, p *page, limit int) (list []*row, err error) {
	rows, err := tx.QueryContext(ctx, rankedQuery, int64(p.kind), int64(p.subject), p.at.level, int64(p.at.id), p.version, limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var level int64
		r, err := scanRow(func(columns ...any) error { return rows.Scan(append(columns, &level)...) })
		r.level = level
		list = append(list, r)
		return err
	})
	return list, err
}

const rankedQuery = `SELECT c.id, c.kind, c.subject, c.top, c.reply_to, c.author, c.top_author, c.reply_to_author, c.content, c.created_ms, c.edited_ms, c.deleted, c.video, c.time_ms, c.limited, r.level
	FROM comment_ranks r JOIN comments c ON c.id = r.comment WHERE r.kind = $1 AND r.subject = $2 AND (r.level, r.comment) < ($3, $4) AND r.since <= $5 AND r.until > $5
	ORDER BY r.level DESC, r.comment DESC LIMIT $6`

// isRanked returns which of some comments had likes as of a version.
func isRanked(ctx context.Context, tx *sql.Tx, list []*row, version int64) (map[uint64]bool, error) {
	ranked := map[uint64]bool{}
	if len(list) == 0 {
		return ranked, nil
	}
	marks, args := sqldb.Placeholders(2, list, func(r *row) int64 { return int64(r.id) })
	rows, err := tx.QueryContext(ctx, `SELECT comment FROM comment_ranks WHERE since <= $1 AND until > $1 AND comment IN (`+marks+`)`, append([]any{version}, args...)...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var n uint64
		err := rows.Scan(&n)
		ranked[n] = true
		return err
	})
	return ranked, err
}

// rowsByLikes returns at most limit top comments of a subject, behind a place: those with likes, and then those without, the newest first. It also returns
// the place where it ended, and whether that is the end of the list.
func rowsByLikes(ctx context.Context, tx *sql.Tx, p *page, limit int) (list []*row, at place, end bool, err error) {
	at = p.at
	if at.level > 0 {
		if list, err = rankedRows(ctx, tx, p, limit); err != nil {
			return nil, at, false, err
		}
		if len(list) == limit {
			return list, place{list[limit-1].level, list[limit-1].id}, false, nil
		}
		at = place{0, math.MaxInt64}
	}
	limit -= len(list)
	others, err := readRows(ctx, tx, p.kind, p.subject, 0, at.id, true, limit)
	if err != nil {
		return nil, at, false, err
	}
	ranked, err := isRanked(ctx, tx, others, p.version)
	if err != nil {
		return nil, at, false, err
	}
	for _, r := range others {
		if at.id = r.id; !ranked[r.id] {
			list = append(list, r)
		}
	}
	return list, at, len(others) < limit, nil
}
