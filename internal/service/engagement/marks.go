package engagement

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/counter"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
)

// Changed marks the subjects of changes of sets, so that they are ranked again, and tells OnLike, all in the transaction of the changes.
func (s *Service) Changed(ctx context.Context, tx *sql.Tx, changes []counter.Change) error {
	var marked, posts, comments []subject
	for _, c := range changes {
		o := post(c.Subject)
		switch c.Kind {
		case counter.PostLikes:
			posts = append(posts, o)
		case counter.PostFavourites:
		case counter.CommentLikes:
			o.kind = engagementv1.LikeKind_LIKE_KIND_COMMENT
			comments = append(comments, o)
		default:
			continue
		}
		marked = append(marked, o)
	}
	if err := s.mark(ctx, tx, distinct(marked)); err != nil {
		return err
	}
	if s.deps.OnLike == nil || len(posts)+len(comments) == 0 {
		return nil
	}
	ofPosts, err := s.deps.Posts.Authors(ctx, tx, idsOf(distinct(posts)))
	if err != nil {
		return err
	}
	ofComments, err := s.deps.Comments.Authors(ctx, tx, idsOf(distinct(comments)))
	if err != nil {
		return err
	}
	var likes []Like
	for _, c := range changes {
		if c.Quiet {
			continue
		}
		l := Like{Subject: c.Subject, By: c.User, Present: !c.Remove}
		switch c.Kind {
		case counter.PostLikes:
			l.Kind, l.Author = engagementv1.LikeKind_LIKE_KIND_POST, ofPosts[c.Subject]
		case counter.CommentLikes:
			l.Kind, l.Author = engagementv1.LikeKind_LIKE_KIND_COMMENT, ofComments[c.Subject]
		default:
			continue
		}
		likes = append(likes, l)
	}
	if len(likes) == 0 {
		return nil
	}
	return s.deps.OnLike(ctx, tx, likes)
}

// distinct returns subjects sorted, each once. Nodes that lock rows in the same order do not wait for each other in a circle.
func distinct(list []subject) []subject {
	slices.SortFunc(list, compareSubjects)
	return slices.Compact(list)
}

func compareSubjects(a, b subject) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
}

func idsOf(list []subject) []uint64 {
	ids := make([]uint64, len(list))
	for i, o := range list {
		ids[i] = o.id
	}
	return ids
}

// MarkPost marks a post whose readers, or whose number of comments or reposts change, in the transaction of that.
func (s *Service) MarkPost(ctx context.Context, tx *sql.Tx, n uint64) error {
	return s.mark(ctx, tx, []subject{post(n)})
}

// mark marks subjects in this node's rows. A new mark begins with the time, so that it differs from one that was removed.
func (s *Service) mark(ctx context.Context, tx *sql.Tx, list []subject) error {
	bucket, now := cluster.Bucket(s.deps.Nodes(), s.deps.Node), s.nowMs()
	for _, o := range list {
		if _, err := tx.ExecContext(ctx, `INSERT INTO engagement_marks AS m (kind, subject, bucket, n) VALUES ($1, $2, $3, $4) ON CONFLICT (kind, subject, bucket) DO UPDATE SET n = m.n + 1`,
			int64(o.kind), int64(o.id), bucket, now); err != nil {
			return err
		}
	}
	return nil
}

// mark of a subject by one node.
type mark struct {
	subject
	bucket, n int64
}

// readMarks returns at most limit marks behind one, in the order of their keys. Those of the last subject may be more.
func readMarks(ctx context.Context, tx *sql.Tx, behind mark, limit int) (list []mark, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT kind, subject, bucket, n FROM engagement_marks WHERE (kind, subject, bucket) > ($1, $2, $3) ORDER BY kind, subject, bucket LIMIT $4`,
		int64(behind.kind), int64(behind.id), behind.bucket, limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var m mark
		err := rows.Scan(&m.kind, &m.id, &m.bucket, &m.n)
		list = append(list, m)
		return err
	})
	return list, err
}

// removeMarks removes marks that are as they were read, and returns of each subject whether it is to be ranked by what was read with them. Where a mark has
// changed since, it stays, and the subject is ranked again later. Where it is gone, another coordinator has ranked the subject by what may be newer.
func removeMarks(ctx context.Context, tx *sql.Tx, list []mark) (isCurrent map[subject]bool, err error) {
	isCurrent = map[subject]bool{}
	for _, m := range list {
		if _, known := isCurrent[m.subject]; !known {
			isCurrent[m.subject] = true
		}
		done, err := tx.ExecContext(ctx, `DELETE FROM engagement_marks WHERE kind = $1 AND subject = $2 AND bucket = $3 AND n = $4`, int64(m.kind), int64(m.id), m.bucket, m.n)
		if err != nil {
			return nil, err
		}
		n, err := done.RowsAffected()
		if err != nil {
			return nil, err
		}
		if n == 1 {
			continue
		}
		var one int
		err = tx.QueryRowContext(ctx, `SELECT 1 FROM engagement_marks WHERE kind = $1 AND subject = $2 AND bucket = $3`, int64(m.kind), int64(m.id), m.bucket).Scan(&one)
		if errors.Is(err, sql.ErrNoRows) {
			isCurrent[m.subject] = false
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return isCurrent, nil
}
