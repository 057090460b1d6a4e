package comment

import (
	"context"
	"database/sql"
	"math"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

const (
	// maxExamined bounds the rows that one call reads. A page for which so many are not enough is short, and has a next one.
	maxExamined = 500
	// readExtra is how many more rows are read than a page lacks, in case some are not for the reader.
	readExtra = 5
)

var (
	errPage  = errs.New(errs.Invalid, "bad_page", "this page token is not valid; start again without one")
	errOrder = badComment("this server does not know this order of comments")
)

// page is a part of the top comments of a subject, or of a thread, as a reader sees it. It begins behind a comment.
type page struct {
	service      *Service
	reader       id.User
	kind         commentv1.SubjectKind
	subject, top uint64
	behind       uint64
	newestFirst  bool
	limit        int
}

// begin sets where a page begins.
func (p *page) begin(token string) error {
	if token == "" {
		if p.newestFirst {
			p.behind = math.MaxInt64
		}
		return nil
	}
	n, err := strconv.ParseUint(token, 10, 63)
	if err != nil || n == 0 {
		return errPage
	}
	p.behind = n
	return nil
}

// read returns the comments of the page, and the token of the next one.
func (p *page) read(ctx context.Context, tx *sql.Tx) (list []*commentv1.Comment, next string, err error) {
	for examined := 0; examined < maxExamined; {
		want := p.limit - len(list) + readExtra
		rows, err := readRows(ctx, tx, p.kind, p.subject, p.top, p.behind, p.newestFirst, want)
		if err != nil {
			return nil, "", err
		}
		views, err := p.service.views(ctx, tx, p.reader, rows)
		if err != nil {
			return nil, "", err
		}
		for i, r := range rows {
			p.behind = r.id
			if views[i] != nil {
				list = append(list, views[i])
			}
			if len(list) == p.limit && (i < len(rows)-1 || len(rows) == want) {
				return list, p.token(), nil
			}
		}
		if len(rows) < want {
			return list, "", nil
		}
		examined += len(rows)
	}
	return list, p.token(), nil
}

// token returns the token of the page that begins where this one ends.
func (p *page) token() string { return strconv.FormatUint(p.behind, 10) }

// ListComments returns a page of the top comments of a subject.
func (s *Service) ListComments(ctx context.Context, reader id.User, r *commentv1.ListCommentsRequest) (out *commentv1.ListCommentsResponse, err error) {
	first := page{service: s, reader: reader, kind: r.SubjectKind, subject: r.Subject, newestFirst: r.Order != commentv1.CommentOrder_COMMENT_ORDER_OLDEST, limit: outputlimit.SmallPageSize(r.Limit)}
	if r.Order < 0 || r.Order > commentv1.CommentOrder_COMMENT_ORDER_OLDEST {
		return nil, errOrder
	}
	if err := first.begin(r.Page); err != nil {
		return nil, err
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		if _, err := s.subjectAuthor(ctx, tx, reader, r.SubjectKind, r.Subject); err != nil {
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
	first := page{service: s, reader: reader, top: r.Comment, limit: outputlimit.SmallPageSize(r.Limit)}
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
