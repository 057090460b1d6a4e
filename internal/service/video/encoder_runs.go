package video

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/rialto-im/rialto/internal/platform/transcode"
)

// A picture is decoded once for each run of ffmpeg, so a chunk costs less if one run encodes several of its renditions. A run uses about one processor. So where processors
// would be idle, renditions are encoded apart, and the video is complete earlier. The smallest rendition is always encoded apart: playback begins with it.

// decodeCost is what decoding a pixel costs, where encoding one costs 1.
const decodeCost = 0.25

// divide divides the chunks of renditions into runs, in the order in which they are begun: chunk by chunk. Those after the first chunks that share a run are encoded apart.
func (v *video) divide(list []*rendition, shared int) (runs [][]*task) {
	for chunk := range v.source.Chunks {
		var all []*task
		for _, r := range list {
			all = append(all, v.chunkTask(r, chunk))
		}
		if chunk < shared {
			runs = append(runs, all)
			continue
		}
		for i := range all {
			runs = append(runs, all[i:i+1])
		}
	}
	return runs
}

// runsOf returns the runs that encode renditions with the least work, such that some workers who do nothing else are done as early as if all were encoded apart. before are runs
// that come first.
func (v *video) runsOf(list []*rendition, before [][]*task, workers int) [][]*task {
	if len(list) == 0 {
		return nil
	}
	apart := v.divide(list, 0)
	limit := v.makespan(before, apart, workers)
	for tail := 0; tail < len(v.source.Chunks); tail = max(1, 2*tail) { // most work is saved without a tail, and the last chunks are those that keep single workers busy
		runs := v.divide(list, len(v.source.Chunks)-tail)
		if v.makespan(before, runs, workers) <= limit {
			return runs
		}
	}
	return apart
}

// makespan is how long workers take for runs, each of which is begun by the first one that is free.
func (v *video) makespan(before, runs [][]*task, workers int) float64 {
	free := make(loads, min(max(workers, 1), len(before)+len(runs)))
	last := 0.0
	for _, run := range slices.Concat(before, runs) {
		free[0] += v.cost(run)
		last = max(last, free[0])
		heap.Fix(&free, 0)
	}
	return last
}

// cost is what a run costs: its picture is decoded once.
func (v *video) cost(run []*task) float64 {
	frames := float64(v.source.Chunks[run[0].chunk].Frames)
	sum := decodeCost * frames * float64(v.source.Width) * float64(v.source.Height)
	for _, t := range run {
		if r := v.rendition(t.track); r != nil {
			sum += frames * float64(r.Width) * float64(r.Height)
		}
	}
	return sum
}

// loads are when workers are free, as a heap.
type loads []float64

func (l loads) Len() int           { return len(l) }
func (l loads) Less(i, k int) bool { return l[i] < l[k] }
func (l loads) Swap(i, k int)      { l[i], l[k] = l[k], l[i] }
func (l loads) Push(any)           {} // their number does not change
func (l loads) Pop() any           { return nil }

// workers is about how many runs of all nodes can be at work at the same time.
func (s *Service) workers() int {
	nodes := 1
	if s.deps.Nodes != nil {
		nodes = max(1, s.deps.Nodes())
	}
	return nodes * s.config.Workers
}

// sameJob divides tasks into runs again: those that had one job share the next one, too.
func sameJob(tasks []*task) (runs [][]*task) {
	slices.SortStableFunc(tasks, func(a, b *task) int { return cmp.Compare(a.job, b.job) })
	for i, t := range tasks {
		if i > 0 && t.job == tasks[i-1].job {
			runs[len(runs)-1] = append(runs[len(runs)-1], t)
		} else {
			runs = append(runs, []*task{t})
		}
	}
	return runs
}

// share notes how much of the time of a run is that of each of its tasks: by their weights, which for renditions are their pixels. It begins now.
func share(run []*task, now int64) {
	var all int64
	for _, t := range run {
		all += max(1, t.weight)
	}
	for _, t := range run {
		t.begunMs, t.part = now, float64(max(1, t.weight))/float64(all)
	}
}

// encode encodes renditions of a chunk, with their watermark.
func (s *Service) encode(ctx context.Context, v *video, tasks []*task, in transcode.Input, dir string) ([]*transcode.Track, error) {
	var list []transcode.Rendition
	var mark string // the path of its image, which is the same for all renditions of a video
	for _, t := range tasks {
		r := v.rendition(t.track).Rendition
		if w := r.Watermark; w != nil {
			if mark == "" {
				image, remove, err := s.watermark(ctx, v, w.Image)
				if err != nil {
					return nil, err
				}
				defer remove()
				mark = image
			}
			placed := *w
			placed.Path, r.Watermark = mark, &placed
		}
		list = append(list, r)
	}
	return s.deps.Transcoder.EncodeChunk(ctx, in, v.source, list, int(tasks[0].chunk), dir)
}

// watermark writes the image of a watermark into a file. remove must be called afterwards.
func (s *Service) watermark(ctx context.Context, v *video, image string) (path string, remove func(), err error) {
	dir, remove, err := s.tempDir(v)
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, "watermark.png")
	var content []byte
	if err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT content FROM video_watermarks WHERE image = $1`, image).Scan(&content); err != nil {
		err = fmt.Errorf("the watermark %s: %w", image, err)
	} else {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		remove()
	}
	return path, remove, err
}
