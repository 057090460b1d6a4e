package feed

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// GetPost returns a post, if the reader may see it.
func (s *Service) GetPost(ctx context.Context, reader id.User, n uint64) (view *feedv1.Post, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		view, err = s.GetPostAsOf(ctx, tx, reader, n)
		return err
	})
	return view, err
}

// GetPostAsOf is GetPost as of a transaction.
func (s *Service) GetPostAsOf(ctx context.Context, tx *sql.Tx, reader id.User, n uint64) (*feedv1.Post, error) {
	p, err := s.visiblePost(ctx, tx, reader, n)
	if err != nil {
		return nil, err
	}
	views, err := s.views(ctx, tx, reader, []*post{p})
	if err != nil {
		return nil, err
	}
	return views[0], nil
}

// NamesFile reports whether a post that a reader may see names an upload. It fails if there is no such post.
func (s *Service) NamesFile(ctx context.Context, reader id.User, n uint64, upload id.Upload) (names bool, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		p, err := s.visiblePost(ctx, tx, reader, n)
		if err == nil {
			names, err = p.namesFile(upload)
		}
		return err
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
	return s.shows(ctx, n, func(p *post) (bool, error) { return p.namesVideo(video) })
}

// ShowsFile is ShowsVideo for an upload.
func (s *Service) ShowsFile(ctx context.Context, n uint64, upload id.Upload) (shows bool, err error) {
	return s.shows(ctx, n, func(p *post) (bool, error) { return p.namesFile(upload) })
}

// IsShown reports whether a post is neither deleted nor hidden.
func (s *Service) IsShown(ctx context.Context, n uint64) (bool, error) {
	return s.shows(ctx, n, func(*post) (bool, error) { return true, nil })
}

// shows reports what names says of a post that is neither deleted nor hidden; false of another.
func (s *Service) shows(ctx context.Context, n uint64, names func(*post) (bool, error)) (shows bool, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		shows = false
		posts, err := getPosts(ctx, tx, []uint64{n})
		if p := posts[n]; err == nil && p != nil && !p.deleted && !p.hidden {
			shows, err = names(p)
		}
		return err
	})
	return shows, err
}

func (p *post) namesFile(upload id.Upload) (bool, error) {
	c, err := contentOf(p.content)
	return err == nil && upload != 0 && slices.Contains(uploadsOf(c), upload), err
}

func (p *post) namesVideo(video uint64) (bool, error) {
	c, err := contentOf(p.content)
	return err == nil && video != 0 && c.Video == video, err
}
