package comment

import (
	"context"
	"database/sql"

	"google.golang.org/protobuf/proto"

	"github.com/rialto-im/rialto/internal/base/id"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// GetComment returns a comment, if the reader may see it.
func (s *Service) GetComment(ctx context.Context, reader id.User, n uint64) (view *commentv1.Comment, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		_, view, err = s.visible(ctx, tx, reader, n)
		return err
	})
	return view, err
}

// NamesFile reports whether a comment that a reader may see names an upload. It fails if there is no such comment.
func (s *Service) NamesFile(ctx context.Context, reader id.User, n uint64, upload id.Upload) (bool, error) {
	view, err := s.GetComment(ctx, reader, n)
	return upload != 0 && uploadOf(view.GetContent()) == upload, err
}

// ShowsFile reports whether a comment that is neither deleted nor hidden names an upload, whoever may see the comment, and on which post it is; 0: on none.
func (s *Service) ShowsFile(ctx context.Context, n uint64, upload id.Upload) (shows bool, post uint64, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		shows, post = false, 0
		c, err := getRow(ctx, tx, n)
		if err != nil || c.deleted || upload == 0 {
			return err
		}
		content := &commentv1.CommentContent{}
		if err := proto.Unmarshal(c.content, content); err != nil {
			return err
		}
		shows = uploadOf(content) == upload
		if c.kind == commentv1.SubjectKind_SUBJECT_KIND_POST {
			post = c.subject
		}
		return nil
	})
	return shows, post, err
}
