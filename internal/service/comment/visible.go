package comment

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	"google.golang.org/protobuf/proto"
)

// Subjects has what users comment on, of one kind.
type Subjects interface {
	// VisibleAuthors returns the authors of those of some subjects that a reader may see, as of a transaction.
	VisibleAuthors(ctx context.Context, tx *sql.Tx, reader id.User, subjects []uint64) (map[uint64]id.User, error)
}

// Graph has the relations of users.
type Graph interface {
	// FriendsAndBlocks returns which of some users are friends of a user, and with which there is a block, by either of the two, as of a transaction.
	FriendsAndBlocks(ctx context.Context, tx *sql.Tx, u id.User, among []id.User) (friends, blocked map[id.User]bool, err error)
	// Exist fails with NotFound unless all users exist.
	Exist(ctx context.Context, users []id.User) error
}

// errNoSubject is the same for a subject that does not exist and one that the caller may not see.
var errNoSubject = errs.New(errs.NotFound, "no_subject", "there is no such post, or it is not for you")

// subjectAuthor returns the author of a subject that a reader may see, or errNoSubject.
func (s *Service) subjectAuthor(ctx context.Context, tx *sql.Tx, reader id.User, kind commentv1.SubjectKind, subject uint64) (id.User, error) {
	subjects := s.deps.Subjects[kind]
	if subjects == nil {
		return 0, errKind
	}
	found, err := subjects.VisibleAuthors(ctx, tx, reader, []uint64{subject})
	if err != nil {
		return 0, err
	}
	if author, ok := found[subject]; ok {
		return author, nil
	}
	return 0, errNoSubject
}

// blockedAmong returns with which users that rows name the reader has a block.
func (s *Service) blockedAmong(ctx context.Context, tx *sql.Tx, reader id.User, rows []*row) (map[id.User]bool, error) {
	var users []id.User
	seen := map[id.User]bool{0: true, reader: true}
	for _, r := range rows {
		for _, u := range [...]id.User{r.author, r.topAuthor, r.replyToAuthor} {
			if !seen[u] {
				seen[u] = true
				users = append(users, u)
			}
		}
	}
	if len(users) == 0 {
		return nil, nil
	}
	_, blocked, err := s.deps.Graph.FriendsAndBlocks(ctx, tx, reader, users)
	return blocked, err
}

// views returns the comments of rows as a reader sees them, who sees their subject; nil for those that the reader does not see.
func (s *Service) views(ctx context.Context, tx *sql.Tx, reader id.User, rows []*row) ([]*commentv1.Comment, error) {
	blocked, err := s.blockedAmong(ctx, tx, reader, rows)
	if err != nil {
		return nil, err
	}
	var tops []uint64
	for _, r := range rows {
		if r.top == 0 {
			tops = append(tops, r.id)
		}
	}
	replies, err := s.countReplies(ctx, tx, tops)
	if err != nil {
		return nil, err
	}
	list := make([]*commentv1.Comment, len(rows))
	for i, r := range rows {
		if r.limited && r.author != reader || blocked[r.author] || blocked[r.topAuthor] || r.deleted && replies[r.id] == 0 {
			continue
		}
		if list[i], err = r.view(); err != nil {
			return nil, err
		}
		list[i].Replies = replies[r.id]
		if blocked[r.replyToAuthor] {
			list[i].ReplyToAuthor = 0
		}
	}
	return list, nil
}

// view returns a comment without what depends on the reader.
func (r *row) view() (*commentv1.Comment, error) {
	v := &commentv1.Comment{Id: r.id, SubjectKind: r.kind, Subject: r.subject, Top: r.top, ReplyTo: r.replyTo, ReplyToAuthor: uint64(r.replyToAuthor), CreatedMs: r.created, Deleted: r.deleted, Video: r.video, TimeMs: uint32(r.timeMs)}
	if r.deleted {
		return v, nil
	}
	v.Author, v.EditedMs, v.Content = uint64(r.author), r.edited, &commentv1.CommentContent{}
	return v, proto.Unmarshal(r.content, v.Content)
}

// visible returns a comment that a reader may see, as its row and as the reader sees it, or errNoComment.
func (s *Service) visible(ctx context.Context, tx *sql.Tx, reader id.User, n uint64) (*row, *commentv1.Comment, error) {
	r, err := getRow(ctx, tx, n)
	if err != nil {
		return nil, nil, err
	}
	if _, _, err := s.subjectOf(ctx, tx, reader, r); err != nil {
		if errs.Is(err, errs.NotFound) {
			err = errNoComment
		}
		return nil, nil, err
	}
	if err := s.reached("subject-seen"); err != nil {
		return nil, nil, err
	}
	views, err := s.views(ctx, tx, reader, []*row{r})
	if err == nil && views[0] == nil {
		err = errNoComment
	}
	if err != nil {
		return nil, nil, err
	}
	return r, views[0], nil
}

// CheckVisible fails with no_comment unless a reader may see a comment that is not deleted, as of a transaction.
func (s *Service) CheckVisible(ctx context.Context, tx *sql.Tx, reader id.User, n uint64) error {
	r, _, err := s.visible(ctx, tx, reader, n)
	if err == nil && r.deleted {
		err = errNoComment
	}
	return err
}

// VisibleSubjects returns the posts of those of some comments that a reader may see, and that are not deleted, as of a transaction.
func (s *Service) VisibleSubjects(ctx context.Context, tx *sql.Tx, reader id.User, list []uint64) (map[uint64]uint64, error) {
	const kind = commentv1.SubjectKind_SUBJECT_KIND_POST
	if len(list) == 0 || s.deps.Subjects[kind] == nil {
		return nil, nil
	}
	rows, err := getRows(ctx, tx, list)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var posts []uint64
	for _, r := range rows {
		posts = append(posts, r.subject)
	}
	slices.Sort(posts)
	visible, err := s.deps.Subjects[kind].VisibleAuthors(ctx, tx, reader, slices.Compact(posts))
	if err != nil {
		return nil, err
	}
	blocked, err := s.blockedAmong(ctx, tx, reader, rows)
	found := map[uint64]uint64{}
	for _, r := range rows {
		if visible[r.subject] != 0 && !blocked[r.author] && !blocked[r.topAuthor] && (!r.limited || r.author == reader) {
			found[r.id] = r.subject
		}
	}
	return found, err
}
