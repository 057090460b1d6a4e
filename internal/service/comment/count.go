package comment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

const maxCounted = 100 // subjects of one call

var errCounted = badComment(fmt.Sprintf("ask for the counts of at most %d subjects", maxCounted))

// addCount counts a comment that was created (1) or deleted (-1), in the transaction of that, unless only its author sees it.
func (s *Service) addCount(ctx context.Context, tx *sql.Tx, r *row, add int) error {
	if r.limited {
		return nil
	}
	bucket := s.bucket()
	_, err := tx.ExecContext(ctx, `INSERT INTO comment_counts AS c (kind, subject, bucket, n) VALUES ($1, $2, $3, $4) ON CONFLICT (kind, subject, bucket) DO UPDATE SET n = c.n + excluded.n`,
		int64(r.kind), int64(r.subject), bucket, add)
	if r.top == 0 {
		return err
	}
	_, replies := tx.ExecContext(ctx, `INSERT INTO comment_reply_counts AS c (top, bucket, n) VALUES ($1, $2, $3) ON CONFLICT (top, bucket) DO UPDATE SET n = c.n + excluded.n`,
		int64(r.top), bucket, add)
	return errors.Join(err, replies)
}

// countReplies returns how many replies some top comments have.
func (s *Service) countReplies(ctx context.Context, tx *sql.Tx, tops []uint64) (map[uint64]uint32, error) {
	if len(tops) == 0 {
		return nil, nil
	}
	return s.cached.replies.Get(tx, tops, func(missing []uint64) (map[uint64]uint32, error) {
		marks, args := sqldb.Placeholders(1, missing, func(n uint64) int64 { return int64(n) })
		rows, err := tx.QueryContext(ctx, `SELECT top, CAST(SUM(n) AS BIGINT) FROM comment_reply_counts WHERE top IN (`+marks+`) GROUP BY top`, args...)
		return scanCounts(rows, err)
	})
}

// countComments returns how many comments some subjects have. The list is not empty.
func countComments(ctx context.Context, tx *sql.Tx, kind commentv1.SubjectKind, subjects []uint64) (map[uint64]uint32, error) {
	marks, args := sqldb.Placeholders(2, subjects, func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT subject, CAST(SUM(n) AS BIGINT) FROM comment_counts WHERE kind = $1 AND subject IN (`+marks+`) GROUP BY subject`, append([]any{int64(kind)}, args...)...)
	return scanCounts(rows, err)
}

func scanCounts(rows *sql.Rows, err error) (map[uint64]uint32, error) {
	counts := map[uint64]uint32{}
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var of uint64
		var n int64
		err := rows.Scan(&of, &n)
		counts[of] = uint32(max(n, 0)) // it is below only if a row was changed by hand
		return err
	})
	return counts, err
}

// CountOfPosts returns how many comments some posts have, whoever may see them; those without one may be left out.
func (s *Service) CountOfPosts(ctx context.Context, tx *sql.Tx, posts []uint64) (map[uint64]uint32, error) {
	if len(posts) == 0 {
		return map[uint64]uint32{}, nil
	}
	subjects := make([]subject, len(posts))
	for i, n := range posts {
		subjects[i] = subject{commentv1.SubjectKind_SUBJECT_KIND_POST, n}
	}
	found, err := s.cached.comments.Get(tx, subjects, func(missing []subject) (map[subject]uint32, error) {
		ids := make([]uint64, len(missing))
		for i, of := range missing {
			ids[i] = of.id
		}
		counts, err := countComments(ctx, tx, commentv1.SubjectKind_SUBJECT_KIND_POST, ids)
		found := make(map[subject]uint32, len(counts))
		for n, count := range counts {
			found[subject{commentv1.SubjectKind_SUBJECT_KIND_POST, n}] = count
		}
		return found, err
	})
	counts := make(map[uint64]uint32, len(found))
	for of, n := range found {
		counts[of.id] = n
	}
	return counts, err
}

// CountCommenters returns how many users have commented on some posts, whoever may see that; posts without a comment may be left out. It reads as many entries of
// an index as there are comments.
func (s *Service) CountCommenters(ctx context.Context, tx *sql.Tx, posts []uint64) (map[uint64]uint32, error) {
	if len(posts) == 0 {
		return map[uint64]uint32{}, nil
	}
	marks, args := sqldb.Placeholders(2, posts, func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT subject, count(DISTINCT author) FROM comments WHERE kind = $1 AND NOT deleted AND NOT limited AND subject IN (`+marks+`) GROUP BY subject`,
		append([]any{int64(commentv1.SubjectKind_SUBJECT_KIND_POST)}, args...)...)
	return scanCounts(rows, err)
}

// CountComments returns the numbers of comments of those of some subjects that a reader may see.
func (s *Service) CountComments(ctx context.Context, reader id.User, r *commentv1.CountCommentsRequest) (out *commentv1.CountCommentsResponse, err error) {
	if len(r.Subjects) > maxCounted {
		return nil, errCounted
	}
	subjects := s.deps.Subjects[r.SubjectKind]
	if subjects == nil {
		return nil, errKind
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		out = &commentv1.CountCommentsResponse{}
		visible, err := subjects.VisibleAuthors(ctx, tx, reader, slices.Compact(slices.Sorted(slices.Values(r.Subjects))))
		if err != nil || len(visible) == 0 {
			return err
		}
		list := slices.Sorted(maps.Keys(visible))
		counts, err := countComments(ctx, tx, r.SubjectKind, list)
		for _, n := range list {
			out.Counts = append(out.Counts, &commentv1.CommentCount{Subject: n, Comments: counts[n]})
		}
		return err
	})
	return out, err
}
