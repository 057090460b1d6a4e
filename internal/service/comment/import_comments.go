package comment

import (
	"context"
	"database/sql"
	"errors"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

// An import creates comments with their original times, and without what notifies somebody. Their ids are drawn now. The key that a comment has in the source is in
// its row: a repetition stores nothing.

// ImportComment creates a comment on a post, and on a video of that (0: none). Its key and its times are valid. It reports whether it was stored before.
func (s *Service) ImportComment(ctx context.Context, r *operationv1.InterchangeComment, post, video uint64) (duplicate bool, err error) {
	d := &draft{row: row{kind: commentv1.SubjectKind_SUBJECT_KIND_POST, subject: post, author: id.User(r.Author), created: r.TimeMs, edited: r.EditedMs, deleted: r.Deleted, video: video, limited: r.Limited}, request: []byte{}}
	if video != 0 {
		d.kind, d.timeMs = onVideo, int64(r.VideoTimeMs)
		if r.ReplyKey != "" {
			return false, badComment("a comment on a video answers no other")
		}
	}
	if d.row.content = []byte{}; !r.Deleted {
		content, err := checkContent(r.Content)
		if err != nil {
			return false, err
		}
		d.upload, d.mentions = uploadOf(content), content.Mentions
		if d.row.content, err = encode(content); err != nil {
			return false, err
		}
	}
	if err := s.deps.Graph.Exist(ctx, append(message.MentionedUsers(d.mentions), d.author)); err != nil {
		return false, err
	}
	if duplicate, err = s.storeImported(ctx, d, r); err != nil || duplicate {
		return duplicate, err
	}
	if err := s.deps.Graph.Exist(ctx, []id.User{d.author}); err != nil { // erased meanwhile: the erasure may have missed it
		return false, errors.Join(err, s.DeleteComment(ctx, d.author, d.id))
	}
	return false, nil
}

func (s *Service) storeImported(ctx context.Context, d *draft, r *operationv1.InterchangeComment) (duplicate bool, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		var stored uint64
		if stored, err = commentByKey(ctx, tx, r.Key); err != nil || stored != 0 || r.ReplyKey == "" {
			duplicate = stored != 0
			return err
		}
		if d.replyTo, err = commentByKey(ctx, tx, r.ReplyKey); err != nil {
			return err
		}
		answered, err := getRow(ctx, tx, d.replyTo)
		if err != nil {
			return err
		}
		if answered.kind != d.kind || answered.subject != d.subject {
			return errNoComment
		}
		d.replyToAuthor = answered.author
		if d.top, d.topAuthor = answered.top, answered.topAuthor; d.top == 0 {
			d.top, d.topAuthor = answered.id, answered.author
		}
		return nil
	})
	if err != nil || duplicate {
		return duplicate, err
	}
	if d.id, err = s.nextID(ctx, d.replyTo); err != nil {
		return false, err
	}
	d.token = strconv.FormatUint(d.id, 10)
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO comments (id, kind, subject, top, top_author, reply_to, reply_to_author, author, token, request, content, created_ms, video, time_ms, limited, edited_ms, deleted, import_key)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) ON CONFLICT DO NOTHING`, int64(d.id), int64(d.kind), int64(d.subject), int64(d.top), int64(d.topAuthor),
			int64(d.replyTo), int64(d.replyToAuthor), int64(d.author), d.token, d.request, d.row.content, d.created, int64(d.video), d.timeMs, d.limited, d.edited, d.deleted, r.Key)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if duplicate = n == 0; err != nil || duplicate {
			return err
		}
		if d.upload != 0 {
			if err := s.deps.KeepPicture(ctx, tx, d.author, d.upload); err != nil {
				return err
			}
		}
		if d.deleted {
			return nil
		}
		return errors.Join(s.addCount(ctx, tx, &d.row, 1), s.changed(ctx, tx, Change{ID: d.id, SubjectKind: d.kind, Subject: d.subject, Author: d.author, Imported: true}))
	})
	return duplicate, err
}

// commentByKey returns the id of an imported comment, 0 if there is none.
func commentByKey(ctx context.Context, tx *sql.Tx, key string) (n uint64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT id FROM comments WHERE import_key = $1`, key).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return n, err
}

// exportedRow is a row as ExportComments reads it.
type exportedRow struct {
	*operationv1.InterchangeComment
	subject uint64
}

// ExportComments returns a page of the comments of all users, without deleted ones that nobody has answered. posts returns the keys of posts: comments on others are left out.
func (s *Service) ExportComments(ctx context.Context, r *operationv1.ExportCommentsRequest, posts func(ctx context.Context, list []uint64) (map[uint64]string, error)) (*operationv1.ExportCommentsResponse, error) {
	limit := outputlimit.LargePageSize(r.Limit)
	out := &operationv1.ExportCommentsResponse{}
	if r.After == 0 {
		if err := s.deps.DB.Read().QueryRowContext(ctx, `SELECT count(*) FROM comments WHERE NOT deleted`).Scan(&out.Total); err != nil {
			return nil, err
		}
	}
	list, err := s.exportedRows(ctx, r.After, limit)
	if err != nil || len(list) == 0 {
		return out, err
	}
	var subjects []uint64
	for _, c := range list {
		subjects = append(subjects, c.subject)
	}
	keys, err := posts(ctx, subjects)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		out.Next = c.Comment
		if c.PostKey = keys[c.subject]; c.PostKey != "" {
			out.Comments = append(out.Comments, c.InterchangeComment)
		}
	}
	return out, nil
}

// exportedRows reads comments behind one, until they are as many or as large as a page. Those that were created here get keys by their ids.
func (s *Service) exportedRows(ctx context.Context, after uint64, limit int) (list []exportedRow, err error) {
	size := 0
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT c.id, c.subject, coalesce(c.import_key, 'rialto:comment:' || c.id), coalesce(a.import_key, 'rialto:comment:' || nullif(c.reply_to, 0), ''), c.author, c.content, c.created_ms, c.edited_ms, c.deleted, c.video, c.time_ms, c.limited
		FROM comments c LEFT JOIN comments a ON a.id = c.reply_to WHERE c.id > $1 AND (NOT c.deleted OR EXISTS (SELECT 1 FROM comments r
			WHERE r.kind = c.kind AND r.subject = c.subject AND r.top = CASE WHEN c.top = 0 THEN c.id ELSE c.top END AND NOT r.deleted AND (r.reply_to = c.id OR r.top = c.id)))
		ORDER BY c.id LIMIT $2`, int64(after), limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		c := exportedRow{InterchangeComment: &operationv1.InterchangeComment{}}
		var stored []byte
		if err := rows.Scan(&c.Comment, &c.subject, &c.Key, &c.ReplyKey, &c.Author, &stored, &c.TimeMs, &c.EditedMs, &c.Deleted, &c.Video, &c.VideoTimeMs, &c.Limited); err != nil || size > outputlimit.LargePageBytes {
			return err
		}
		size += len(stored)
		if !c.Deleted {
			c.Content = &commentv1.CommentContent{}
			if err := proto.Unmarshal(stored, c.Content); err != nil {
				return err
			}
		}
		list = append(list, c)
		return nil
	})
	return list, err
}

// CommentKeys returns the keys in an export of those of some comments that were not deleted.
func (s *Service) CommentKeys(ctx context.Context, list []uint64) (map[uint64]string, error) {
	if len(list) == 0 {
		return map[uint64]string{}, nil
	}
	marks, args := sqldb.Placeholders(1, list, func(n uint64) int64 { return int64(n) })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, coalesce(import_key, 'rialto:comment:' || id) FROM comments WHERE NOT deleted AND id IN (`+marks+`)`, args...)
	return sqldb.Pairs[uint64, string](rows, err)
}

// ImportedComments returns those of some comments that were imported and not deleted, by their keys.
func (s *Service) ImportedComments(ctx context.Context, keys []string) (map[string]uint64, error) {
	if len(keys) == 0 {
		return map[string]uint64{}, nil
	}
	marks, args := sqldb.Placeholders(1, keys, func(key string) string { return key })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT import_key, id FROM comments WHERE NOT deleted AND import_key IN (`+marks+`)`, args...)
	return sqldb.Pairs[string, uint64](rows, err)
}
