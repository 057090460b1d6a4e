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

// NamesVideo reports whether a post that a reader may see names a video. It fails if there is no such post.
func (s *Service) NamesVideo(ctx context.Context, reader id.User, n, video uint64) (names bool, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		p, err := s.visiblePost(ctx, tx, reader, n)
		if err == nil {
			names, err = p.namesVideo(video)
		}
		return err
	})
	return names, err
}

// ShowsVideo reports whether a post that is neither deleted nor hidden names a video, whoever may see the post.
func (s *Service) ShowsVideo(ctx context.Context, n, video uint64) (shows bool, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		shows = false
		posts, err := getPosts(ctx, tx, []uint64{n})
		if p := posts[n]; err == nil && p != nil && !p.deleted && !p.hidden {
			shows, err = p.namesVideo(video)
		}
		return err
	})
	return shows, err
}

func (p *post) namesVideo(video uint64) (bool, error) {
	c, err := contentOf(p.content)
	return err == nil && video != 0 && c.Video == video, err
}
