package video

import (
	"fmt"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/platform/pipeline"
)

// Cost is the processing time and storage that a part of all videos has taken on this node since its start.
type Cost struct {
	// Part is the name of a rendition of the pipeline, such as 720p, or copied, audio, images or stages. A rendition of another size counts with the next larger one.
	Part    string
	SpentMs atomic.Int64 // of all attempts that ended
	Bytes   atomic.Int64 // of results, also of those that were deleted later
	Tasks   atomic.Int64 // that are done

	height int // 0: it is no rendition
}

// Parts other than renditions.
const (
	partCopied = "copied"
	partAudio  = "audio"
	partImages = "images"
	partStages = "stages"
)

// newCosts are the costs of a pipeline, the renditions first.
func newCosts(p *pipeline.Pipeline) (list []*Cost) {
	for _, r := range p.Renditions {
		list = append(list, &Cost{Part: fmt.Sprintf("%dp", r.Height), height: r.Height})
	}
	for _, part := range []string{partCopied, partAudio, partImages, partStages} {
		list = append(list, &Cost{Part: part})
	}
	return list
}

// Costs of this node, by parts of the pipeline.
func (s *Service) Costs() []*Cost { return s.costs }

// costOf returns the cost that a task is part of; nil: none, as for an inspection.
func (s *Service) costOf(v *video, t *task) *Cost {
	part, height := "", 0
	switch r := v.rendition(t.track); {
	case r != nil && r.Copied:
		part = partCopied
	case r != nil:
		height = min(r.Width, r.Height)
	case t.track == trackAudio:
		part = partAudio
	case t.track == trackPoster, t.track == trackStoryboard:
		part = partImages
	case isStage(t.track):
		part = partStages
	default:
		return nil
	}
	var largest *Cost
	for _, c := range s.costs {
		if height == 0 && c.Part == part || height > 0 && c.height >= height {
			return c
		}
		if c.height > 0 {
			largest = c
		}
	}
	return largest // of a pipeline that had larger renditions
}

// addTime adds the time of an attempt that has ended.
func (s *Service) addTime(v *video, t *task) {
	if c := s.costOf(v, t); c != nil {
		c.SpentMs.Add(t.tookMs)
	}
}

// addResult adds the result of a task.
func (s *Service) addResult(v *video, t *task, bytes int64) {
	if c := s.costOf(v, t); c != nil {
		c.Bytes.Add(bytes)
		c.Tasks.Add(1)
	}
}
