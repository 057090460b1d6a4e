package comment

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

var (
	errIDReuse  = errs.New(errs.Conflict, "id_reuse", "this client_comment_id was used for another comment; use a new one")
	errReadOnly = errs.New(errs.Denied, "comments_read_only", "the operator allows reading comments only, for the moment; try again later")
)

func (s *Service) isReadOnly() bool { return s.deps.ReadOnly != nil && s.deps.ReadOnly() }

// draft is a comment to be created.
type draft struct {
	row
	token   string
	request []byte // identifies what was asked for
	upload  id.Upload
	// mentions of users in the content
	mentions []*chatv1.Mention
}

// CreateComment stores a comment, unless it is stored already.
func (s *Service) CreateComment(ctx context.Context, by id.User, r *commentv1.CreateCommentRequest) (*commentv1.Comment, error) {
	return s.create(ctx, by, r, false)
}

// create is CreateComment. Of a comment that a moderator has allowed the webhook is not asked.
func (s *Service) create(ctx context.Context, by id.User, r *commentv1.CreateCommentRequest, allowed bool) (*commentv1.Comment, error) {
	if s.isReadOnly() {
		return nil, errReadOnly
	}
	if !message.IsToken(r.ClientCommentId) {
		return nil, errToken
	}
	if s.deps.Subjects[r.SubjectKind] == nil && (r.SubjectKind != onVideo || s.deps.Videos == nil) {
		return nil, errKind
	}
	content, err := checkContent(r.Content)
	if err != nil {
		return nil, err
	}
	if _, err := s.checkWords(content); err != nil {
		return nil, err
	}
	if err := checkTimed(r, content); err != nil {
		return nil, err
	}
	d := &draft{row: row{kind: r.SubjectKind, subject: r.Subject, author: by, replyTo: r.ReplyTo, video: r.Video, timeMs: int64(r.TimeMs)}, token: r.ClientCommentId, upload: uploadOf(content), mentions: content.Mentions}
	if d.request, err = sumOf(r, content); err != nil {
		return nil, err
	}
	if d.content, err = encode(content); err != nil {
		return nil, err
	}
	if err := s.deps.Graph.Exist(ctx, message.MentionedUsers(d.mentions)); err != nil {
		return nil, err
	}
	stored, err := s.prepare(ctx, d)
	if err != nil {
		return nil, err
	}
	if stored == 0 && !allowed && s.deps.Reviewer != nil {
		if err := s.deps.Reviewer.ReviewComment(ctx, by, r, namedBy(content)); err != nil {
			return nil, err
		}
	}
	if stored == 0 {
		if stored, err = s.store(ctx, d); err != nil {
			return nil, err
		}
	}
	return s.flagged(s.GetComment(ctx, by, stored))
}

// prepare returns the comment of an earlier request with the same token. Otherwise it finds the thread of a reply, in a snapshot.
func (s *Service) prepare(ctx context.Context, d *draft) (stored uint64, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		if stored, err = d.find(ctx, tx); err != nil || stored != 0 || d.replyTo == 0 {
			return err
		}
		answered, _, err := s.visible(ctx, tx, d.author, d.replyTo)
		if err != nil {
			return err
		}
		if answered.deleted || answered.kind != d.kind || answered.subject != d.subject {
			return errNoComment
		}
		d.replyToAuthor = answered.author
		if d.top, d.topAuthor = answered.top, answered.topAuthor; d.top == 0 {
			d.top, d.topAuthor = answered.id, answered.author
		}
		return nil
	})
	return stored, err
}

// find returns the comment of an earlier request with the same token; 0 if there is none.
func (d *draft) find(ctx context.Context, tx *sql.Tx) (uint64, error) {
	n, request, err := findByToken(ctx, tx, d.author, d.token)
	if n != 0 && !bytes.Equal(request, d.request) {
		err = errIDReuse
	}
	return n, err
}

// store stores a comment with its count in one transaction, and returns its id.
func (s *Service) store(ctx context.Context, d *draft) (stored uint64, err error) {
	if d.id, err = s.nextID(ctx, d.replyTo); err != nil {
		return 0, err
	}
	if err := s.reached("create-prepared"); err != nil {
		return 0, err
	}
	d.created = s.nowMs()
	d.limited = s.deps.LimitedSince != nil && s.deps.LimitedSince(d.author) != 0
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		if stored, err = d.insert(ctx, tx); err != nil || stored != d.id {
			return err
		}
		if err := s.admit(ctx, tx, d); err != nil {
			return err
		}
		return errors.Join(s.addCount(ctx, tx, &d.row, 1), s.reached("create-stored"))
	})
	if err != nil {
		return 0, err
	}
	return stored, s.reached("create-committed")
}

// insert stores the row of a comment, unless another request with its token has. It returns the id of the stored one.
func (d *draft) insert(ctx context.Context, tx *sql.Tx) (uint64, error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO comments (id, kind, subject, top, top_author, reply_to, reply_to_author, author, token, request, content, created_ms, video, time_ms, limited)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (author, token) DO NOTHING`, int64(d.id), int64(d.kind), int64(d.subject), int64(d.top), int64(d.topAuthor),
		int64(d.replyTo), int64(d.replyToAuthor), int64(d.author), d.token, d.request, d.content, d.created, int64(d.video), d.timeMs, d.limited)
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return d.id, err
	}
	return d.find(ctx, tx)
}

// admit checks what a comment names, as of its transaction, and tells of it.
func (s *Service) admit(ctx context.Context, tx *sql.Tx, d *draft) error {
	author, length, err := s.subjectOf(ctx, tx, d.author, &d.row)
	if err == nil && d.kind == onVideo && d.timeMs > length.Milliseconds() {
		err = errTimed
	}
	if err != nil {
		return err
	}
	blocked, err := s.blockedAmong(ctx, tx, d.author, []*row{&d.row})
	if err != nil {
		return err
	}
	if blocked[d.topAuthor] || blocked[d.replyToAuthor] {
		return errNoComment
	}
	if d.upload != 0 {
		if err := s.deps.KeepPicture(ctx, tx, d.author, d.upload); err != nil {
			return err
		}
	}
	if d.limited { // it concerns nobody else
		return s.changed(ctx, tx, Change{ID: d.id, SubjectKind: d.kind, Subject: d.subject, Author: d.author})
	}
	return s.changed(ctx, tx, Change{ID: d.id, SubjectKind: d.kind, Subject: d.subject, Author: d.author, Created: true, SubjectAuthor: author, ReplyTo: d.replyTo, ReplyToAuthor: d.replyToAuthor,
		Mentioned: message.MentionedUsers(d.mentions)})
}
