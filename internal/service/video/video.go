// Package video makes videos from uploads, and serves them to players.
//
// # Processing
//
// A video is a row, and its work is rows: tasks. One inspects the file. It divides the work into the others: each chunk of each rendition, the sound, the posters and
// the storyboard, and the stages of the operator's own (stages.go), as the pipeline says. A task is a durable job, so it runs on any node, and again after a crash; the renditions of a
// chunk other than the smallest have one job, which decodes the picture once (encoder_runs.go). The transaction
// that stores the result of a task counts down the tasks that remain, and inserts the jobs of those whose inputs are complete with it. Whoever comes to zero publishes the video in that
// transaction, so exactly one does.
//
// An attempt at a task stores its file under a key of its own, whose number it draws before. The number of the attempt whose file counts is in the row. So two
// attempts never write the same file, and the sweep knows all keys that may exist without listing the store.
//
// A failure is stored with its reason. If the file is the cause, the file is dropped; otherwise the owner can retry, and what was finished is kept.
//
// Renditions on demand are tasks that are added to a video that is ready, when a viewer asks for them, or when there are enough viewers (on_demand.go). They have a row with a
// count of their own. Nobody sees one before its last task is done. The sweep deletes those that nobody plays (on_demand_drop.go); the file of the upload is kept, so they can be encoded again.
//
// # Playback
//
// Playlists are computed from the rows of finished tasks (playlist.go), so a video can be played as soon as the first chunk of a rendition and the sound are there.
// Addresses are signed for a short time, for the owner or for those who see a post (serve.go). Each request checks that the video, and the post, are still there.
//
// # Viewers
//
// How far a user has watched a video is one row (watch.go), which all devices of the user share. Subtitles are rows (subtitles.go), converted when they are stored.
//
// It may use sqldb, blob, job, pipeline, transcode and subtitle; media and posts by interfaces. All methods are safe for concurrent use.
package video

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/failpoint"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/signedurl"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/blockcache"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/platform/pipeline"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Uploads has the files from which videos are made.
type Uploads interface {
	// OpenVideo opens the complete upload of a user.
	OpenVideo(ctx context.Context, by id.User, n id.Upload) (file io.ReadSeekCloser, size int64, name string, err error)
	// KeepVideoWith keeps an upload, and ReleaseVideoWith gives it up, both in a transaction.
	KeepVideoWith(ctx context.Context, tx *sql.Tx, by id.User, n id.Upload) error
	ReleaseVideoWith(ctx context.Context, tx *sql.Tx, n id.Upload) error
	// RejectVideo drops the file of a user's upload of which no video can be made, unless something names it.
	RejectVideo(ctx context.Context, by id.User, n id.Upload) error
	// WakeSweep deletes the files that were given up, after the commit.
	WakeSweep()
}

// Posts show videos.
type Posts interface {
	// NamesVideo reports whether a post that a reader may see names a video. It fails if there is no such post.
	NamesVideo(ctx context.Context, reader id.User, post, video uint64) (bool, error)
	// ShowsVideo reports whether a post that is neither deleted nor hidden names a video.
	ShowsVideo(ctx context.Context, post, video uint64) (bool, error)
	// VisiblePosts returns those of some posts that a reader may see, as the reader sees them, as of a transaction.
	VisiblePosts(ctx context.Context, tx *sql.Tx, reader id.User, posts []uint64) (map[uint64]*feedv1.Post, error)
}

// Jobs inserts jobs, and tells what became of them.
type Jobs interface {
	InsertTx(ctx context.Context, tx *sql.Tx, args job.Args, o job.Options) (job.Inserted, error)
	Get(ctx context.Context, n int64) (job.Info, error)
	Wake()
}

// Files reads stored files whose size is known.
type Files interface {
	Open(ctx context.Context, key string, size int64) (*blockcache.Reader, error)
}

// Deps are the dependencies of a Service.
type Deps struct {
	DB      *sqldb.DB
	Store   blob.Store
	Uploads Uploads
	Posts   Posts
	Jobs    Jobs
	IDs     interface {
		Next(ctx context.Context) (uint64, error)
	}
	// Pipeline is what is made of videos that are inspected on this node; nil: the built-in one.
	Pipeline *pipeline.Pipeline
	// Node is the name of this node.
	Node string
	// Nodes is how many nodes there are; nil: this one.
	Nodes func() int
	// Transcoder of this node, with the sizes of the pipeline; nil: this node processes no videos, because of Off.
	Transcoder *transcode.Transcoder
	// Off is why there is no Transcoder on any node, for authors; nil: other nodes have one.
	Off error
	// OnChange is called in the transaction that changes the subtitles of a video, or deletes it. If nil, it is not.
	OnChange func(ctx context.Context, tx *sql.Tx, video uint64) error
	// Committed is called after such a commit, and by a retry. It does not block. If nil, it is not.
	Committed func(video uint64)
	// Files serves stored files from copies near this node; nil: they come from Store.
	Files Files
	// Dir is a folder for temporary files, of this node alone. Whatever is in it is removed.
	Dir string
	// IsCoordinator reports whether this node sweeps for all nodes. If nil, it does.
	IsCoordinator func() bool
	// Origin from which videos are served; empty: the server's own.
	Origin string
	// Secret signs addresses.
	Secret []byte
	// Calls records the latency and outcome of requests of players. If nil, they are not recorded.
	Calls  *telemetry.Calls
	Clock  clock.Clock
	Logger *slog.Logger
}

// Config of videos. The zero value is the documented default.
type Config struct {
	// Workers is how many steps of processing a node does at the same time; 0 is the number of its processors.
	Workers int `yaml:"workers"`
	// FFmpeg is the folder of the programs ffmpeg and ffprobe; empty: they are searched in PATH.
	FFmpeg string `yaml:"ffmpeg"`
	// Niceness of these programs, 1 to 19; 0 is 19, so that what users wait for gets a busy processor first.
	Niceness int `yaml:"niceness"`
	// MaxDuration of a video, at most 12h; 0 is 4h.
	MaxDuration time.Duration `yaml:"max_duration"`
	// Pipeline is a YAML file that says what is made of each video: sizes, images, a watermark, stages of your own; the same on all nodes. Empty: what rialto check --pipeline prints.
	Pipeline string `yaml:"pipeline"`
}

const maxWorkers = 256

// Check reports settings that are not valid.
func (c Config) Check() error {
	var faults []error
	if c.Workers < 0 || c.Workers > maxWorkers {
		faults = append(faults, fmt.Errorf("video.workers is %d; it is 1 to %d, or 0 for the default", c.Workers, maxWorkers))
	}
	if c.Niceness < 0 || c.Niceness > transcode.MaxNiceness {
		faults = append(faults, fmt.Errorf("video.niceness is %d; it is 1 to %d, or 0 for the default", c.Niceness, transcode.MaxNiceness))
	}
	if c.MaxDuration < 0 || c.MaxDuration > transcode.MaxDuration {
		faults = append(faults, fmt.Errorf("video.max_duration is %v; it is at most %v, or 0 for the default", c.MaxDuration, transcode.MaxDuration))
	}
	if c.Pipeline != "" {
		if _, err := pipeline.Load(c.Pipeline); err != nil {
			faults = append(faults, fmt.Errorf("video.pipeline: %w", err))
		}
	}
	return errors.Join(faults...)
}

// Service has the videos of all users.
type Service struct {
	deps    Deps
	config  Config
	urls    signedurl.Signer
	sources *sources
	checks  chan struct{} // slots of files that are checked at once
	stats   Stats
	costs   []*Cost
	pause   storagePause
	// interrupt is called between two steps. If it returns an error, the operation ends there, as if the process had died. Only tests set it.
	interrupt func(point string) error
}

// Limits.
const (
	maxUnfinished = 20 // videos of a user that are processed
	maxRequested  = 5  // renditions that a user has asked for, and that are being encoded
	checksAtOnce  = 4
	maxFailures   = 6 // attempts at a task
	taskTimeout   = 30 * time.Minute
	addressLife   = 15 * time.Minute // addresses are valid up to twice as long
	maxPage       = 50
	defaultPage   = 20
	sweepInterval = time.Minute
	sweepBatch    = 100
	lateAttempts  = 2 * taskTimeout // after which no attempt of a video that has ended can still write
)

// States of a row. They are stored.
const (
	stateWaiting    = 0 // its inspection has not ended
	stateProcessing = 1
	stateReady      = 2
	stateFailed     = 3
	stateDeleted    = 4 // the sweep removes its files, and then the row
)

// Tracks that are no renditions.
const (
	trackInspect    = "inspect"
	trackAudio      = "audio"
	trackPoster     = "poster"
	trackStoryboard = "storyboard"
	stagePrefix     = "stage-" // of the tracks of stages, before their names
)

// ofRendition is what chunk is of the task of a storyboard that is made of the smallest rendition. Of others, it is 0.
const ofRendition = 1

// skipped is what stored is of the task of an optional stage that was given up.
const skipped = -1

var migrations = []string{
	// Source and renditions are JSON. Run rises with each retry, and ends the jobs of the one before. Remaining counts tasks without a result. From clean_ms on,
	// the sweep looks for files to remove; 0: never.
	`CREATE TABLE videos (id BIGINT PRIMARY KEY, owner BIGINT NOT NULL, upload BIGINT NOT NULL UNIQUE, name TEXT NOT NULL, format TEXT NOT NULL, state BIGINT NOT NULL DEFAULT 0, run BIGINT NOT NULL DEFAULT 1,
		remaining BIGINT NOT NULL DEFAULT 1, source {bytes} NOT NULL, renditions {bytes} NOT NULL, reason TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '', retriable BOOLEAN NOT NULL DEFAULT FALSE,
		created_ms BIGINT NOT NULL, started_ms BIGINT NOT NULL DEFAULT 0, ended_ms BIGINT NOT NULL DEFAULT 0, clean_ms BIGINT NOT NULL DEFAULT 0)`,
	`CREATE INDEX videos_owner ON videos (owner, id)`,
	`CREATE INDEX videos_unfinished ON videos (owner, id) WHERE state < 2`,
	`CREATE INDEX videos_clean ON videos (clean_ms) WHERE clean_ms > 0`,
	// First is the number of the first segment. Attempts have been begun, and stored is the one whose file counts; 0: none. Segments are the sizes and durations of
	// its segments (segments.go), from start on.
	`CREATE TABLE video_tasks (video BIGINT NOT NULL, track TEXT NOT NULL, first BIGINT NOT NULL, chunk BIGINT NOT NULL, job BIGINT NOT NULL, weight BIGINT NOT NULL, attempts BIGINT NOT NULL DEFAULT 0,
		stored BIGINT NOT NULL DEFAULT 0, size BIGINT NOT NULL DEFAULT 0, start BIGINT NOT NULL DEFAULT 0, segments {bytes} NOT NULL, width BIGINT NOT NULL DEFAULT 0, height BIGINT NOT NULL DEFAULT 0,
		at_ms BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (video, track, first))`,
	// Tracks have what all their segments share.
	`CREATE TABLE video_tracks (video BIGINT NOT NULL, track TEXT NOT NULL, codecs TEXT NOT NULL, timescale BIGINT NOT NULL, init {bytes} NOT NULL, PRIMARY KEY (video, track))`,
	// Where a user was last in a video, when, and by which post; 0: the user's own video.
	`CREATE TABLE video_watches (member BIGINT NOT NULL, video BIGINT NOT NULL, post BIGINT NOT NULL, position_ms BIGINT NOT NULL, at_ms BIGINT NOT NULL, PRIMARY KEY (member, video))`,
	`CREATE INDEX video_watches_latest ON video_watches (member, at_ms, video)`,
	// Content is WebVTT. It has a new id when it is replaced, by which it is served.
	`CREATE TABLE video_subtitles (video BIGINT NOT NULL, language TEXT NOT NULL, id BIGINT NOT NULL, label TEXT NOT NULL, is_default BOOLEAN NOT NULL, cues BIGINT NOT NULL, content {bytes} NOT NULL,
		PRIMARY KEY (video, language))`,
	// Stages are those of the operator's own that are run for the video, as JSON; empty: none.
	`ALTER TABLE videos ADD COLUMN stages {bytes} NOT NULL DEFAULT ''`,
	// Node and begun_ms are of the latest attempt, which has ended at ended_ms; 0: it runs. Started_ms is when the first one began, and spent_ms how long all took. A task
	// whose job is 0 waits for its inputs. Stored is -1 if the task was given up.
	`ALTER TABLE video_tasks ADD COLUMN node TEXT NOT NULL DEFAULT ''`,
	`ALTER TABLE video_tasks ADD COLUMN started_ms BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE video_tasks ADD COLUMN begun_ms BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE video_tasks ADD COLUMN ended_ms BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE video_tasks ADD COLUMN spent_ms BIGINT NOT NULL DEFAULT 0`,
	`ALTER TABLE video_tasks ADD COLUMN error TEXT NOT NULL DEFAULT ''`,
	// Images of watermarks, by the SHA-256 of their content.
	`CREATE TABLE video_watermarks (image TEXT PRIMARY KEY, content {bytes} NOT NULL)`,
	// Renditions on demand that were started. Remaining counts tasks without a result; 0: it is not being encoded. Used_ms is when it was last played, or was
	// complete; 0: it is not. Wanted_by asked for the encoding that runs; 0: nobody did. It is not tried again before retry_ms.
	`CREATE TABLE video_on_demand (video BIGINT NOT NULL, track TEXT NOT NULL, remaining BIGINT NOT NULL DEFAULT 0, used_ms BIGINT NOT NULL DEFAULT 0, wanted_by BIGINT NOT NULL DEFAULT 0,
		retry_ms BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (video, track))`,
	`CREATE INDEX video_on_demand_used ON video_on_demand (used_ms) WHERE used_ms > 0`,
	`CREATE INDEX video_on_demand_open ON video_on_demand (wanted_by, video) WHERE remaining > 0`,
	// Viewers of a video that has renditions on demand which are not started, until they are enough.
	`CREATE TABLE video_viewers (video BIGINT NOT NULL, member BIGINT NOT NULL, PRIMARY KEY (video, member))`,
	`CREATE INDEX video_viewers_of ON video_viewers (member)`,
	// Import_key names the video in the source that it was imported from (import_videos.go). It is null for others.
	`ALTER TABLE videos ADD COLUMN import_key TEXT`,
	`CREATE UNIQUE INDEX videos_imported ON videos (import_key) WHERE import_key IS NOT NULL`,
	// Checksums are those of the files of an attempt (checksums.go). An earlier build stores none.
	`ALTER TABLE video_tasks ADD COLUMN checksums {bytes} NOT NULL DEFAULT ''`,
	// Storage_full_ms is since when tasks of the video find a disk full, and store nothing; 0: they do not.
	`ALTER TABLE videos ADD COLUMN storage_full_ms BIGINT NOT NULL DEFAULT 0`,
}

var (
	errNoVideo = errs.New(errs.NotFound, "no_video", "there is no such video, or you may not see it")
	errTooMany = errs.New(errs.Exhausted, "too_many_videos", fmt.Sprintf("%d of your videos are being processed; wait until one is done", maxUnfinished))
)

// New creates the tables if they are missing, and removes temporary files of a former process.
func New(ctx context.Context, deps Deps, config Config) (*Service, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	if deps.Pipeline == nil {
		var err error
		if deps.Pipeline, err = pipeline.Load(""); err != nil {
			return nil, err
		}
	}
	config.Workers = cmp.Or(config.Workers, runtime.GOMAXPROCS(0))
	s := &Service{deps: deps, config: config, urls: signedurl.Signer{Secret: deps.Secret, Clock: deps.Clock}, checks: make(chan struct{}, checksAtOnce), costs: newCosts(deps.Pipeline)}
	if err := transcode.RemoveDir(deps.Dir); err != nil {
		return nil, fmt.Errorf("temporary files of videos: %w", err)
	}
	s.sources = newSources(filepath.Join(deps.Dir, "sources"))
	return s, deps.DB.Migrate(ctx, "video", migrations)
}

// Off is the error of authors where no node can process videos; nil: some node can.
func (s *Service) off() error {
	if s.deps.Off == nil {
		return nil
	}
	return errs.Wrap(errs.Unavailable, "transcoding_off", "this server cannot process videos; its operator finds the reason in the log, and in docs/operating/video.md", s.deps.Off)
}

// reached is called between two steps of an operation, for a part of the pipeline. A failpoint is of the step in any part, such as video/begun, or in one, such as video/begun/audio.
func (s *Service) reached(point, part string) error {
	failpoint.Hit("video/" + point)
	failpoint.Hit("video/" + point + "/" + part)
	if s.interrupt == nil {
		return nil
	}
	return s.interrupt(point)
}

// partOf names the part of the pipeline that makes a track, for failpoints.
func (v *video) partOf(track string) string {
	switch {
	case v.isCopied(track):
		return "copy"
	case v.rendition(track) != nil:
		return "encode"
	case isStage(track):
		return "stage"
	}
	return track
}

func (s *Service) nowMs() int64 { return s.deps.Clock.Now().UnixMilli() }
