package video

import (
	"context"
	"database/sql"
	"fmt"
	"io"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// ErrInterrupted is what Interrupt's function returns where the process dies.
var ErrInterrupted = errInterrupted

// Interrupt calls a function between the steps of operations.
func (s *Service) Interrupt(f func(point string) error) { s.interrupt = f }

// Sweep is a round of Run.
func (s *Service) Sweep(ctx context.Context) error { return s.sweep(ctx) }

// Attempt is one at a task that was begun, and may go on much later.
type Attempt struct {
	v *video
	t *task
}

// Attempt reads the first task of a track, as the beginning of an attempt does.
func (s *Service) Attempt(ctx context.Context, n uint64, track string) (a Attempt, err error) {
	return s.AttemptAt(ctx, n, track, 0)
}

// AttemptAt reads a task, as the beginning of an attempt does.
func (s *Service) AttemptAt(ctx context.Context, n uint64, track string, first int64) (a Attempt, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		if a.v, err = getVideo(ctx, tx, n); err != nil {
			return err
		}
		a.t, err = getTask(ctx, tx, n, track, first)
		return err
	})
	return a, err
}

// EncodeInstead ends an attempt at a copy which cannot be done.
func (s *Service) EncodeInstead(ctx context.Context, a Attempt) error {
	return s.encodeInstead(ctx, a.v, a.t)
}

// Finish ends an attempt with a result, and reports whether it counts.
func (s *Service) Finish(ctx context.Context, a Attempt) (counts bool, err error) {
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		counts, err = s.finish(ctx, tx, a.v, a.t, 1)
		return err
	})
	return counts, err
}

// RequestAtOnce is RequestRendition of a user who has read that nobody has asked for the rendition.
func (s *Service) RequestAtOnce(ctx context.Context, by id.User, r *videov1.RequestRenditionRequest) error {
	return s.requestOnDemand(ctx, by, r)
}

// Runs returns the runs that encode renditions of a source of 160 × 90 pixels in chunks of some frames, for some workers, as tracks and chunks.
func Runs(workers int, frames []int, renditions ...transcode.Rendition) (runs []string) {
	v := &video{source: &transcode.Source{Width: 160, Height: 90, Rate: transcode.Rate{Num: 10, Den: 1}}}
	first := 0
	for _, n := range frames {
		v.source.Chunks = append(v.source.Chunks, transcode.Chunk{First: first, Frames: n})
		first += n
	}
	var list []*rendition
	for _, r := range renditions {
		v.renditions = append(v.renditions, rendition{Rendition: r})
	}
	for i := range v.renditions {
		list = append(list, &v.renditions[i])
	}
	for _, run := range v.runsOf(list, nil, workers) {
		text := ""
		for _, t := range run {
			text += t.track + " "
		}
		runs = append(runs, text+fmt.Sprint(run[0].chunk))
	}
	return runs
}

// Spent is how long each task of a run took that begins and ends at some times, by their weights.
func Spent(begun, now int64, weights ...int64) (list []int64) {
	var run []*task
	for _, w := range weights {
		run = append(run, &task{weight: w})
	}
	share(run, begun)
	for _, t := range run {
		list = append(list, spent(t, 1, now))
	}
	return list
}

// Acquire copies the file of an upload into a folder.
func Acquire(ctx context.Context, dir string, open func(context.Context) (io.ReadSeekCloser, error)) (path string, release func(), err error) {
	return newSources(dir).acquire(ctx, id.Upload(1), open)
}
