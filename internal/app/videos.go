package app

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/service/comment"
	"github.com/rialto-im/rialto/internal/service/video"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// videoDir is the folder of temporary files of videos in the data directory.
const videoDir = "video"

// openVideos makes the service of videos. Where ffmpeg or its sandbox is missing, this node processes none.
func (n *Node) openVideos(ctx context.Context, ids *idgen.Snowflake) error {
	secret, err := n.accounts.Secret(ctx, "video")
	if err != nil {
		return err
	}
	deps := video.Deps{DB: n.db, Store: n.files, Uploads: n.media, Posts: videoPosts{n}, Jobs: n.jobs, IDs: ids, Dir: n.dir.join(videoDir), IsCoordinator: n.isCoordinator, Origin: n.config.Media.Origin, Secret: secret,
		OnChange: n.searchVideo, Calls: n.calls, Clock: n.clock, Logger: n.logger}
	if n.config.Has(config.RoleWorker) {
		deps.Transcoder, err = transcode.New(ctx, transcode.Config{FFmpeg: n.config.Video.FFmpeg, MaxDuration: n.config.Video.MaxDuration})
		switch {
		case errors.Is(err, transcode.ErrOff):
			n.logger.Warn("this node does not process videos; see docs/operating/video.md", "error", err)
			if !n.config.Clustered() {
				deps.Off = err
			}
		case err != nil:
			return err
		}
	}
	n.videos, err = video.New(ctx, deps, n.config.Video)
	return err
}

// videoPosts are the posts that show videos. The service of posts is made after that of videos, which it asks as well.
type videoPosts struct{ node *Node }

func (p videoPosts) NamesVideo(ctx context.Context, reader id.User, post, video uint64) (bool, error) {
	return p.node.feed.NamesVideo(ctx, reader, post, video)
}

func (p videoPosts) ShowsVideo(ctx context.Context, post, video uint64) (bool, error) {
	return p.node.feed.ShowsVideo(ctx, post, video)
}

func (p videoPosts) VisiblePosts(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]*feedv1.Post, error) {
	return p.node.feed.VisiblePosts(ctx, tx, reader, posts)
}

// commentVideos are the videos that posts show, for comments on them.
type commentVideos struct{ node *Node }

func (c commentVideos) VisibleVideos(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]comment.Video, error) {
	visible, err := c.node.feed.VisiblePosts(ctx, tx, reader, posts)
	if err != nil {
		return nil, err
	}
	found := map[uint64]comment.Video{}
	for n, p := range visible {
		shown := p.GetContent().GetVideo()
		if shown == 0 {
			continue
		}
		duration, err := c.node.videos.Duration(ctx, tx, shown)
		if err != nil {
			return nil, err
		}
		if duration > 0 {
			found[n] = comment.Video{ID: shown, Author: id.User(p.Author), Duration: duration}
		}
	}
	return found, nil
}
