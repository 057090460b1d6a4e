package video

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// progress is a video with its tasks and tracks, as of a snapshot.
type progress struct {
	*video
	tasks    map[string][]*task // of each track, in the order of the segments
	tracks   map[string]*trackInfo
	onDemand map[string]*onDemandState // states of renditions on demand that were started
	// subtitles by language; not read with one track only
	subtitles []*subtitles
}

// load reads a video. track is the only one whose tasks are read; empty: all.
func load(ctx context.Context, tx *sql.Tx, v *video, track string) (*progress, error) {
	list, err := tasksOf(ctx, tx, v.id, track)
	if err != nil {
		return nil, err
	}
	tracks, err := tracksOf(ctx, tx, v.id)
	if err != nil {
		return nil, err
	}
	onDemand, err := onDemandStatesOf(ctx, tx, v)
	if err != nil {
		return nil, err
	}
	p := &progress{video: v, tasks: map[string][]*task{}, tracks: tracks, onDemand: onDemand}
	if track == "" {
		if p.subtitles, err = subtitlesOf(ctx, tx, v.id); err != nil {
			return nil, err
		}
	}
	for _, t := range list {
		p.tasks[t.track] = append(p.tasks[t.track], t)
	}
	return p, nil
}

// GetVideo returns a video of the caller, or one that a post shows which the caller may see.
func (s *Service) GetVideo(ctx context.Context, by id.User, r *videov1.GetVideoRequest) (out *videov1.Video, err error) {
	if err := s.checkPost(ctx, by, r.Post, r.Video); err != nil {
		return nil, err
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		v, err := seen(ctx, tx, by, r.Post, r.Video)
		if err != nil {
			return err
		}
		p, err := load(ctx, tx, v, "")
		if err != nil {
			return err
		}
		if out, err = s.view(p, by, r.Post); err != nil {
			return err
		}
		out.PositionMs, out.WatchedMs, err = positionIn(ctx, tx, by, v.id)
		return err
	})
	return out, err
}

// checkPost fails unless a user may see a post that names a video; 0: there is no post.
func (s *Service) checkPost(ctx context.Context, by id.User, post, n uint64) error {
	if post == 0 {
		return nil
	}
	named, err := s.deps.Posts.NamesVideo(ctx, by, post, n)
	if err == nil && !named {
		err = errNoVideo
	}
	return err
}

// seen returns a video that a post shows which its reader may see (checkPost), or without one a video of the reader.
func seen(ctx context.Context, tx *sql.Tx, by id.User, post, n uint64) (*video, error) {
	if post == 0 {
		return own(ctx, tx, by, n)
	}
	return getVideo(ctx, tx, n)
}

// Duration returns how long a video is, as of a transaction; 0: it was deleted, has failed, or was not inspected yet.
func (s *Service) Duration(ctx context.Context, tx *sql.Tx, n uint64) (time.Duration, error) {
	v, err := getVideo(ctx, tx, n)
	if errs.Is(err, errs.NotFound) || err == nil && (v.state == stateFailed || v.source == nil) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return v.source.Duration, nil
}

// ListVideos returns a page of the caller's videos, the newest first: without steps, renditions and playback.
func (s *Service) ListVideos(ctx context.Context, by id.User, r *videov1.ListVideosRequest) (out *videov1.ListVideosResponse, err error) {
	limit := int(r.Limit)
	if limit == 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	before := int64(r.Before)
	if r.Before == 0 || before < 0 {
		before = 1<<63 - 1
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		out = &videov1.ListVideosResponse{}
		var list []*video
		rows, err := tx.QueryContext(ctx, `SELECT `+videoColumns+` FROM videos
			WHERE owner = $1 AND id < $2 AND state <> $3 ORDER BY id DESC LIMIT $4`, int64(by), before, stateDeleted, limit+1)
		if err := sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			v, err := scanVideo(rows.Scan)
			list = append(list, v)
			return err
		}); err != nil {
			return err
		}
		if len(list) > limit {
			list = list[:limit]
			out.Next = list[limit-1].id
		}
		for _, v := range list {
			view, err := s.listed(ctx, tx, v, by, 0)
			if err != nil {
				return err
			}
			out.Videos = append(out.Videos, view)
		}
		return nil
	})
	return out, err
}

// listed is a video in a list: with its posters, and without steps, renditions and playback.
func (s *Service) listed(ctx context.Context, tx *sql.Tx, v *video, by id.User, post uint64) (*videov1.Video, error) {
	p, err := load(ctx, tx, v, trackPoster)
	if err != nil {
		return nil, err
	}
	view, err := s.view(p, by, post)
	if err != nil {
		return nil, err
	}
	view.Steps, view.Renditions, view.Playback, view.RemainingMs = nil, nil, nil, 0
	return view, nil
}

// view is a video as a user sees it, with addresses for a post; 0: for its owner.
func (s *Service) view(p *progress, by id.User, post uint64) (*videov1.Video, error) {
	out := &videov1.Video{Id: p.id, Owner: uint64(p.owner), CreatedMs: p.createdMs, State: states[p.state]}
	if by == p.owner {
		out.Upload, out.Name = uint64(p.upload), p.name
		out.Steps = p.steps()
		out.RemainingMs = s.estimate(p)
		out.AwaitsStorage = p.awaitsStorage()
		if p.state == stateFailed {
			out.Failure = &videov1.VideoFailure{Reason: p.reason, Message: p.message, Retriable: p.retriable}
		}
	}
	base, ends := s.address(p.id, post)
	for _, t := range p.subtitles {
		out.Subtitles = append(out.Subtitles, t.view(base))
	}
	if p.source == nil {
		return out, nil
	}
	out.DurationMs, out.Width, out.Height, out.HasAudio = uint32(p.source.Duration.Milliseconds()), uint32(p.source.Width), uint32(p.source.Height), p.source.Audio != nil
	for i := range p.renditions {
		r, err := p.viewRendition(&p.renditions[i])
		if err != nil {
			return nil, err
		}
		out.Renditions = append(out.Renditions, r)
	}
	if p.state == stateFailed {
		return out, nil
	}
	if playable, err := p.isPlayable(); err != nil {
		return nil, err
	} else if playable {
		out.Playback = &videov1.VideoPlayback{HlsUrl: base + masterFile, ExpiresMs: ends.UnixMilli(), Complete: p.state == stateReady}
		if p.state == stateReady {
			out.Playback.DashUrl = base + dashFile
		}
	}
	if err := p.addFiles(out, base); err != nil {
		return nil, err
	}
	return out, p.addImages(out, base)
}

// addFiles adds the files of stages.
func (p *progress) addFiles(out *videov1.Video, base string) error {
	for i := range p.stages {
		stage := &p.stages[i]
		for _, t := range p.tasks[stagePrefix+stage.Name] {
			if t.stored <= 0 {
				continue
			}
			sizes, err := sizesOf(t)
			if err != nil {
				return err
			}
			for i, o := range stage.Outputs[:min(len(sizes), len(stage.Outputs))] {
				out.Files = append(out.Files, &videov1.VideoFile{Stage: stage.Name, Name: o.File, Type: o.Type, Size: uint64(sizes[i]), Url: base + stageFolder + "/" + stage.Name + "/" + o.File})
			}
		}
	}
	return nil
}

var states = map[int64]videov1.VideoState{stateWaiting: videov1.VideoState_VIDEO_STATE_WAITING, stateProcessing: videov1.VideoState_VIDEO_STATE_PROCESSING,
	stateReady: videov1.VideoState_VIDEO_STATE_READY, stateFailed: videov1.VideoState_VIDEO_STATE_FAILED}

// addImages adds the addresses of posters and the storyboard.
func (p *progress) addImages(out *videov1.Video, base string) error {
	for _, t := range p.tasks[trackPoster] {
		if t.stored != 0 {
			out.Posters = append(out.Posters, &videov1.VideoPoster{Url: fmt.Sprintf("%sposter/%d.jpg", base, t.first), TimeMs: uint32(t.atMs), Width: uint32(t.width), Height: uint32(t.height)})
		}
	}
	for _, t := range p.tasks[trackStoryboard] {
		if t.stored == 0 {
			continue
		}
		b, err := storyboardOf(t)
		if err != nil {
			return err
		}
		out.Storyboard = &videov1.VideoStoryboard{Url: base + storyboardFile, VttUrl: base + storyboardTextFile, TileWidth: uint32(b.TileWidth), TileHeight: uint32(b.TileHeight),
			Columns: uint32(b.Columns), Count: uint32(b.Count), IntervalMs: uint32(b.Interval.Milliseconds())}
	}
	return nil
}

// steps are the parts of the processing, in their order.
func (p *progress) steps() []*videov1.VideoStep {
	step := func(kind videov1.VideoStepKind, rendition, track string) *videov1.VideoStep {
		st := &videov1.VideoStep{Kind: kind, Rendition: rendition}
		for _, t := range p.tasks[track] {
			st.Total++
			if t.stored != 0 {
				st.Done++
			}
		}
		return st
	}
	list := []*videov1.VideoStep{step(videov1.VideoStepKind_VIDEO_STEP_KIND_INSPECT, "", trackInspect)}
	if p.source == nil {
		return list
	}
	for _, r := range p.renditions {
		if r.OnDemand {
			continue
		}
		kind := videov1.VideoStepKind_VIDEO_STEP_KIND_ENCODE
		if r.Copied {
			kind = videov1.VideoStepKind_VIDEO_STEP_KIND_COPY
		}
		list = append(list, step(kind, r.Name, r.Name))
	}
	if p.source.Audio != nil {
		list = append(list, step(videov1.VideoStepKind_VIDEO_STEP_KIND_AUDIO, "", trackAudio))
	}
	list = append(list, step(videov1.VideoStepKind_VIDEO_STEP_KIND_POSTERS, "", trackPoster))
	if len(p.tasks[trackStoryboard]) > 0 {
		list = append(list, step(videov1.VideoStepKind_VIDEO_STEP_KIND_STORYBOARD, "", trackStoryboard))
	}
	for _, stage := range p.stages {
		st := step(videov1.VideoStepKind_VIDEO_STEP_KIND_STAGE, "", stagePrefix+stage.Name)
		st.Stage = stage.Name
		list = append(list, st)
	}
	publish := &videov1.VideoStep{Kind: videov1.VideoStepKind_VIDEO_STEP_KIND_PUBLISH, Total: 1}
	if p.state == stateReady {
		publish.Done = 1
	}
	return append(list, publish)
}

// awaitsStorage reports whether the processing waits for space on a disk.
func (p *progress) awaitsStorage() bool { return p.storageFullMs > 0 && p.state <= stateProcessing }

// estimate returns how many milliseconds the processing still takes, by the part that is done; 0: unknown.
func (s *Service) estimate(p *progress) uint32 {
	if p.state != stateProcessing || p.awaitsStorage() {
		return 0
	}
	var done, all int64
	for _, list := range p.tasks {
		for _, t := range list {
			all += t.weight
			if t.stored != 0 && t.track != trackInspect {
				done += t.weight
			}
		}
	}
	elapsed := s.nowMs() - p.startedMs
	if done == 0 || elapsed <= 0 {
		return 0
	}
	const most = int64(24 * time.Hour / time.Millisecond)
	return uint32(min(most, max(1, int64(float64(elapsed)*float64(all-done)/float64(done)))))
}

// viewRendition is a rendition with how much of it can be played.
func (p *progress) viewRendition(r *rendition) (*videov1.VideoRendition, error) {
	out := &videov1.VideoRendition{Name: r.Name, Width: uint32(r.Width), Height: uint32(r.Height), Copied: r.Copied, OnDemand: r.OnDemand, Requested: p.onDemand[r.Name].isEncoding()}
	list, complete, err := p.playable(r.Name)
	if err != nil || len(list) == 0 {
		return out, err
	}
	scale := p.tracks[r.Name].timescale
	last := list[len(list)-1]
	out.Bandwidth = uint32(peak(list, scale))
	out.PlayableMs, out.Complete = uint32((last.start+last.duration)*1000/scale), complete
	return out, nil
}

// playable returns the segments of a track from its beginning up to the first task without a result, and whether that is all. A rendition on demand has none until it is
// complete: players of a complete video expect that its playlists do not grow.
func (p *progress) playable(track string) (list []segment, complete bool, err error) {
	if p.isOnDemand(track) && !p.onDemand[track].isComplete() {
		return nil, false, nil
	}
	for _, t := range p.tasks[track] {
		if t.stored == 0 {
			return list, false, nil
		}
		segments, err := segmentsOf(t)
		if err != nil {
			return nil, false, err
		}
		list = append(list, segments...)
	}
	return list, len(list) > 0, nil
}

// isPlayable reports whether there is something to play: the beginnings of a rendition and of the sound.
func (p *progress) isPlayable() (bool, error) {
	if p.source.Audio != nil {
		if list, _, err := p.playable(trackAudio); err != nil || len(list) == 0 {
			return false, err
		}
	}
	for _, r := range p.renditions {
		if list, _, err := p.playable(r.Name); err != nil || len(list) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// peak is the largest number of bits per second of a segment.
func peak(list []segment, scale int64) (most int64) {
	for _, s := range list {
		if s.duration > 0 {
			most = max(most, s.size*8*scale/s.duration)
		}
	}
	return most
}
