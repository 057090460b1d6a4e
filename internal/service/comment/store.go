package comment

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// errNoComment is the same for a comment that does not exist and one that the caller may not see.
var errNoComment = errs.New(errs.NotFound, "no_comment", "there is no such comment, or it is not for you")

// row of the table comments.
type row struct {
	id                               uint64
	kind                             commentv1.SubjectKind
	subject                          uint64
	top, replyTo                     uint64 // 0: none
	author, topAuthor, replyToAuthor id.User
	content                          []byte
	created, edited                  int64
	deleted                          bool
	video                            uint64
	timeMs                           int64 // of the video
	level                            int64 // only of lists by likes
	limited                          bool  // only its author sees it
}

// commentColumns are those that scanRow reads.
const commentColumns = `id, kind, subject, top, reply_to, author, top_author, reply_to_author, content, created_ms, edited_ms, deleted, video, time_ms, limited`

func scanRow(scan func(...any) error) (*row, error) {
	r := &row{}
	return r, scan(&r.id, &r.kind, &r.subject, &r.top, &r.replyTo, &r.author, &r.topAuthor, &r.replyToAuthor, &r.content, &r.created, &r.edited, &r.deleted, &r.video, &r.timeMs, &r.limited)
}

// getRow returns a comment, or errNoComment.
func getRow(ctx context.Context, tx *sql.Tx, n uint64) (*row, error) {
	r, err := scanRow(tx.QueryRowContext(ctx, `SELECT `+commentColumns+` FROM comments WHERE id = $1`, int64(n)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoComment
	}
	return r, err
}

// getRows returns those of some comments on posts that are not deleted. The list is not empty.
func getRows(ctx context.Context, tx *sql.Tx, ids []uint64) (list []*row, err error) {
	marks, args := sqldb.Placeholders(2, ids, func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT `+commentColumns+` FROM comments
		WHERE kind = $1 AND NOT deleted AND id IN (`+marks+`)`, append([]any{int64(commentv1.SubjectKind_SUBJECT_KIND_POST)}, args...)...)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		r, err := scanRow(rows.Scan)
		list = append(list, r)
		return err
	})
	return list, err
}

// findByToken returns the comment that an author has created with a token, and what was asked for; 0 if there is none.
func findByToken(ctx context.Context, tx *sql.Tx, author id.User, token string) (n uint64, request []byte, err error) {
	err = tx.QueryRowContext(ctx, `SELECT id, request FROM comments WHERE author = $1 AND token = $2`, int64(author), token).Scan(&n, &request)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return n, request, err
}

// readRows returns at most limit rows of a thread, or the top comments of a subject if top is 0, behind one of them.
func readRows(ctx context.Context, tx *sql.Tx, kind commentv1.SubjectKind, subject, top, behind uint64, newestFirst bool, limit int) (list []*row, err error) {
	query := oldestFirstQuery
	if newestFirst {
		query = newestFirstQuery
	}
	rows, err := tx.QueryContext(ctx, query, int64(kind), int64(subject), int64(top), int64(behind), limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		r, err := scanRow(rows.Scan)
		list = append(list, r)
		return err
	})
	return list, err
}

const (
	newestFirstQuery = `SELECT ` + commentColumns + ` FROM comments
		WHERE kind = $1 AND subject = $2 AND top = $3 AND id < $4 ORDER BY id DESC LIMIT $5`
	oldestFirstQuery = `SELECT ` + commentColumns + ` FROM comments
		WHERE kind = $1 AND subject = $2 AND top = $3 AND id > $4 ORDER BY id LIMIT $5`
)

// Authors returns the authors of those of some comments on posts that exist, whoever may see them. Nobody is notified of what happens to timed comments.
func (s *Service) Authors(ctx context.Context, tx *sql.Tx, list []uint64) (map[uint64]id.User, error) {
	if len(list) == 0 {
		return map[uint64]id.User{}, nil
	}
	marks, args := sqldb.Placeholders(1, list, func(n uint64) int64 { return int64(n) })
	rows, err := tx.QueryContext(ctx, `SELECT id, author FROM comments WHERE kind = 1 AND id IN (`+marks+`)`, args...)
	return sqldb.Pairs[uint64, id.User](rows, err)
}
