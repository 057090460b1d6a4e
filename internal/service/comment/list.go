package comment

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

const (
	// maxExamined bounds the rows that one call reads. A page for which so many are not enough is short, and has a next one.
	maxExamined = 500
	// readExtra is how many more rows are read than a page lacks, in case some are not for the reader.
	readExtra = 5
	// maxLikesBytes of contents end a page of a list by likes, so that its answer is never truncated: only this package can make the token of its next page.
	maxLikesBytes = 128 << 10
	// likesToken is the form of a token of a list by likes: version of the ranks, time of the first page, and the place.
	likesToken = "%d.%d.%d.%d"
	// rankMargin is how much sooner a token ends than the ranks that it needs.
	rankMargin     = time.Minute
	unknownVersion = -1
)

var (
	errOrder = badComment("this server does not know this order of comments")
)

// place in a list. Only lists by likes have levels.
type place struct {
	level int64
	id    uint64
}

// page is a part of the top comments of a subject, or of a thread, as a reader sees it. It begins behind a place.
type page struct {
	service      *Service
	reader       id.User
	kind         commentv1.SubjectKind
	subject, top uint64
	at           place
	order        commentv1.CommentOrder
	limit        int
	// Of a list by likes: the ranks that it has, and when it began.
	version, beganMs int64
}

func (p *page) byLikes() bool { return p.order == commentv1.CommentOrder_COMMENT_ORDER_LIKES }

// begin sets where a page begins.
func (p *page) begin(token string) error {
	switch {
	case p.byLikes():
		return p.beginByLikes(token)
	case token == "" && p.order == commentv1.CommentOrder_COMMENT_ORDER_OLDEST:
		return nil
	case token == "":
		p.at.id = math.MaxInt64
		return nil
	}
	n, err := strconv.ParseUint(token, 10, 63)
	if err != nil || n == 0 {
		return pagetoken.ErrBad
	}
	p.at.id = n
	return nil
}

// beginByLikes sets where a page of a list by likes begins. The first one has no version yet.
func (p *page) beginByLikes(token string) error {
	if p.beganMs = p.service.nowMs(); token == "" {
		p.at, p.version = place{math.MaxInt64, math.MaxInt64}, unknownVersion
		return nil
	}
	now := p.beganMs
	_, err := fmt.Sscanf(token, likesToken, &p.version, &p.beganMs, &p.at.level, &p.at.id)
	if err != nil || p.version < 0 || p.at.level < 0 || p.at.id > math.MaxInt64 || p.token() != token || p.beganMs < now-(rankLife-rankMargin).Milliseconds() {
		return pagetoken.ErrBad
	}
	return nil
}

// rows returns at most limit rows behind the place where the page is, the place where they end, and whether that is the end of the list.
func (p *page) rows(ctx context.Context, tx *sql.Tx, limit int) (list []*row, at place, end bool, err error) {
	if p.byLikes() {
		return rowsByLikes(ctx, tx, p, limit)
	}
	if p.order == commentv1.CommentOrder_COMMENT_ORDER_OLDEST {
		list, err = readRows(ctx, tx, p.kind, p.subject, p.top, p.at.id, false, limit)
	} else {
		list, err = p.newestRows(ctx, tx, limit)
	}
	if at = p.at; len(list) > 0 {
		at.id = list[len(list)-1].id
	}
	return list, at, len(list) < limit, err
}

// read returns the comments of the page, and the token of the next one.
func (p *page) read(ctx context.Context, tx *sql.Tx) (list []*commentv1.Comment, next string, err error) {
	if p.version == unknownVersion {
		if p.version, err = rankVersion(ctx, tx); err != nil {
			return nil, "", err
		}
	}
	size := 0
	for examined := 0; examined < maxExamined; {
		rows, at, end, err := p.rows(ctx, tx, p.limit-len(list)+readExtra)
		if err != nil {
			return nil, "", err
		}
		views, err := p.service.views(ctx, tx, p.reader, rows)
		if err != nil {
			return nil, "", err
		}
		for i, r := range rows {
			p.at = place{r.level, r.id}
			if views[i] == nil {
				continue
			}
			list = append(list, views[i])
			size += len(r.content)
			if isFull := len(list) == p.limit || p.byLikes() && size > maxLikesBytes; isFull && (i < len(rows)-1 || !end) {
				return list, p.token(), nil
			}
		}
		if end {
			return list, "", nil
		}
		p.at = at
		examined += max(len(rows), 1)
	}
	return list, p.token(), nil
}

// token returns the token of the page that begins where this one ends.
func (p *page) token() string {
	if p.byLikes() {
		return fmt.Sprintf(likesToken, p.version, p.beganMs, p.at.level, p.at.id)
	}
	return strconv.FormatUint(p.at.id, 10)
}

// ListComments returns a page of the top comments of a subject.
func (s *Service) ListComments(ctx context.Context, reader id.User, r *commentv1.ListCommentsRequest) (*commentv1.ListCommentsResponse, error) {
	return s.list(ctx, reader, r, func(tx *sql.Tx) error {
		_, err := s.subjectAuthor(ctx, tx, reader, r.SubjectKind, r.Subject)
		return err
	})
}

// ListCommentsOfVisible is ListComments of a subject that the reader was seen to see during the same call.
func (s *Service) ListCommentsOfVisible(ctx context.Context, reader id.User, r *commentv1.ListCommentsRequest) (*commentv1.ListCommentsResponse, error) {
	return s.list(ctx, reader, r, func(*sql.Tx) error { return nil })
}

// ListCommentsAsOf is ListCommentsOfVisible as of a transaction, in which the reader sees the subject.
func (s *Service) ListCommentsAsOf(ctx context.Context, tx *sql.Tx, reader id.User, r *commentv1.ListCommentsRequest) (out *commentv1.ListCommentsResponse, err error) {
	p, err := s.firstPage(reader, r)
	if err != nil {
		return nil, err
	}
	out = &commentv1.ListCommentsResponse{}
	out.Comments, out.Next, err = p.read(ctx, tx)
	return out, err
}

// firstPage returns the page of the top comments of a subject that a request asks for.
func (s *Service) firstPage(reader id.User, r *commentv1.ListCommentsRequest) (first page, err error) {
	first = page{service: s, reader: reader, kind: r.SubjectKind, subject: r.Subject, order: r.Order, limit: outputlimit.SmallPageSize(r.Limit)}
	if r.Order < 0 || r.Order > commentv1.CommentOrder_COMMENT_ORDER_LIKES {
		return first, errOrder
	}
	return first, first.begin(r.Page)
}

// list returns a page of the top comments of a subject, after a check as of its snapshot.
func (s *Service) list(ctx context.Context, reader id.User, r *commentv1.ListCommentsRequest, check func(tx *sql.Tx) error) (out *commentv1.ListCommentsResponse, err error) {
	first, err := s.firstPage(reader, r)
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		if err := check(tx); err != nil {
			return err
		}
		if err := s.reached("subject-seen"); err != nil {
			return err
		}
		p := first
		out = &commentv1.ListCommentsResponse{}
		out.Comments, out.Next, err = p.read(ctx, tx)
		return err
	})
	return out, err
}

// ListReplies returns a page of the replies of a thread.
func (s *Service) ListReplies(ctx context.Context, reader id.User, r *commentv1.ListRepliesRequest) (out *commentv1.ListRepliesResponse, err error) {
	first := page{service: s, reader: reader, top: r.Comment, order: commentv1.CommentOrder_COMMENT_ORDER_OLDEST, limit: outputlimit.SmallPageSize(r.Limit)}
	if err := first.begin(r.Page); err != nil {
		return nil, err
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		top, _, err := s.visible(ctx, tx, reader, r.Comment)
		if err == nil && top.top != 0 {
			err = errNoComment
		}
		if err != nil {
			return err
		}
		p := first
		p.kind, p.subject = top.kind, top.subject
		out = &commentv1.ListRepliesResponse{}
		out.Replies, out.Next, err = p.read(ctx, tx)
		return err
	})
	return out, err
}

// LatestCommented returns the posts of a user's latest comments that are not deleted, at most limit, each with the time of its latest comment, as of a transaction.
func (s *Service) LatestCommented(ctx context.Context, tx *sql.Tx, u id.User, limit int) (atMs map[uint64]int64, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT subject, max(created_ms) FROM (SELECT subject, created_ms FROM comments WHERE author = $1 AND kind = $2 AND NOT deleted ORDER BY id DESC LIMIT $3) AS latest GROUP BY subject`,
		int64(u), int64(commentv1.SubjectKind_SUBJECT_KIND_POST), limit)
	return sqldb.Pairs[uint64, int64](rows, err)
}
