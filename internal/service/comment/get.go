package comment

import (
	"context"
	"database/sql"

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
