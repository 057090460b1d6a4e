package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/platform/pipeline"
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
	p, err := pipeline.Load(n.config.Video.Pipeline)
	if err != nil {
		return err
	}
	deps := video.Deps{DB: n.db, Pipeline: p, Node: n.name, Nodes: n.liveNodes, Store: n.files, Uploads: n.media, Posts: videoPosts{n}, Jobs: n.jobs, IDs: ids, Dir: n.dir.join(videoDir), IsCoordinator: n.isCoordinator, Origin: n.config.Media.Origin, Secret: secret,
		Files: n.cachedFiles(), OnChange: n.onVideo, Committed: n.videoCommitted, Calls: n.calls, Clock: n.clock, Logger: n.logger}
	if n.config.Has(config.RoleWorker) {
		deps.Transcoder, err = openTranscoder(ctx, n.config.Video, p)
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

// openTranscoder returns a transcoder for a pipeline. The programs of its stages must be there.
func openTranscoder(ctx context.Context, c video.Config, p *pipeline.Pipeline) (*transcode.Transcoder, error) {
	config := transcode.Config{FFmpeg: c.FFmpeg, MaxDuration: c.MaxDuration, Niceness: c.Niceness}
	for _, r := range p.Renditions {
		config.Ladder = append(config.Ladder, transcode.Level{Height: r.Height, MaxRate: r.MaxBitrate, CRF: r.CRF, Preset: r.Preset})
	}
	t, err := transcode.New(ctx, config)
	if err != nil {
		return nil, err
	}
	for i := range p.Stages {
		if _, err := t.Resolve(p.Stages[i].Command[0]); err != nil {
			return nil, fmt.Errorf("video.pipeline: %s: line %d: the stage %s: %w", c.Pipeline, p.Stages[i].Line(), p.Stages[i].Name, err)
		}
	}
	return t, nil
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
