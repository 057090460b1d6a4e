package feed

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// GetPost returns a post, if the reader may see it.
func (s *Service) GetPost(ctx context.Context, reader id.User, n uint64) (view *feedv1.Post, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		p, err := s.visiblePost(ctx, tx, reader, n)
		if err != nil {
			return err
		}
		views, err := s.views(ctx, tx, reader, []*post{p})
		if err == nil {
			view = views[0]
		}
		return err
	})
	return view, err
}

// NamesFile reports whether a post that a reader may see names an upload. It fails if there is no such post.
func (s *Service) NamesFile(ctx context.Context, reader id.User, n uint64, upload id.Upload) (names bool, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		p, err := s.visiblePost(ctx, tx, reader, n)
		if err != nil {
			return err
		}
		c, err := contentOf(p.content)
		if err != nil {
			return err
		}
		for _, u := range uploadsOf(c) {
			names = names || u == upload
		}
		return nil
	})
	return names, err
}
