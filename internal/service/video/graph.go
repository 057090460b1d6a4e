package video

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// Names of the parts of each pipeline in its graph, which are no tracks.
const (
	nodeThumbnails = "thumbnails"
	nodePublish    = "publish"
)

// Pipeline is the graph of what is made of a video, for operators.
func (s *Service) Pipeline(ctx context.Context, n uint64) (out *operationv1.VideoPipeline, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		v, err := getVideo(ctx, tx, n)
		if err != nil {
			return err
		}
		p, err := load(ctx, tx, v, "")
		if err != nil {
			return err
		}
		out = p.graph()
		return nil
	})
	return out, err
}

// graph has the stages of a video, each behind those that it needs.
func (p *progress) graph() *operationv1.VideoPipeline {
	runs := p.sharedRuns()
	out := &operationv1.VideoPipeline{Video: p.id, Owner: uint64(p.owner), State: states[p.state], CreatedMs: p.createdMs, EndedMs: p.endedMs, Reason: p.reason, Error: p.message}
	add := func(name, track string, inputs ...string) *operationv1.VideoStage {
		st := p.stage(name, track, inputs)
		out.Stages = append(out.Stages, st)
		return st
	}
	add(trackInspect, trackInspect)
	if p.source == nil {
		return out
	}
	onDemand := map[string]bool{}
	for _, r := range p.renditions {
		st := add(r.Name, r.Name, trackInspect)
		if st.Copied = r.Copied; r.OnDemand {
			onDemand[r.Name] = true
			p.setOnDemandState(st)
		}
		runs.setShared(st, p.tasks[r.Name])
	}
	if p.source.Audio != nil {
		add(trackAudio, trackAudio, trackInspect)
	}
	add(nodeThumbnails, trackPoster, trackInspect)
	if list := p.tasks[trackStoryboard]; len(list) > 0 {
		input := trackInspect
		if waits(list[0]) {
			input = p.renditions[0].Name
		}
		add(trackStoryboard, trackStoryboard, input)
	}
	for i := range p.stages {
		var inputs []string
		for _, input := range p.stages[i].Inputs {
			if name := nodeName(p.trackOf(input)); !slices.Contains(inputs, name) {
				inputs = append(inputs, name)
			}
		}
		st := add(p.stages[i].Name, stagePrefix+p.stages[i].Name, inputs...)
		st.Custom, st.Optional = true, p.stages[i].Optional
	}
	var all []string
	for _, st := range out.Stages[1:] {
		if !onDemand[st.Name] {
			all = append(all, st.Name)
		}
	}
	publish := add(nodePublish, "", all...)
	switch publish.Tasks = 1; p.state {
	case stateReady:
		publish.State, publish.Done, publish.EndedMs = operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE, 1, p.endedMs
	case stateFailed:
		publish.State = operationv1.VideoStageState_VIDEO_STAGE_STATE_FAILED
	}
	return out
}

// sharedRuns are the renditions that each run of ffmpeg with several of them encodes, by its job.
type sharedRuns map[int64][]string

func (p *progress) sharedRuns() sharedRuns {
	runs := sharedRuns{}
	for i := range p.renditions {
		name := p.renditions[i].Name
		for _, t := range p.tasks[name] {
			if t.job > 0 {
				runs[t.job] = append(runs[t.job], name)
			}
		}
	}
	maps.DeleteFunc(runs, func(_ int64, names []string) bool { return len(names) < 2 })
	return runs
}

// setShared adds to the stage of a rendition with which others it shares runs.
func (r sharedRuns) setShared(st *operationv1.VideoStage, tasks []*task) {
	for _, t := range tasks {
		if len(r[t.job]) == 0 {
			continue
		}
		st.SharedTasks++
		for _, name := range r[t.job] {
			if name != st.Name && !slices.Contains(st.SharesWith, name) {
				st.SharesWith = append(st.SharesWith, name)
			}
		}
	}
}

// nodeName is the name of a track in the graph. The source is there when it was inspected.
func nodeName(track string) string {
	switch {
	case track == "":
		return trackInspect
	case track == trackPoster:
		return nodeThumbnails
	case isStage(track):
		return track[len(stagePrefix):]
	}
	return track
}

// stage sums up the tasks of a track.
func (p *progress) stage(name, track string, inputs []string) *operationv1.VideoStage {
	st := &operationv1.VideoStage{Name: name, Inputs: inputs, State: operationv1.VideoStageState_VIDEO_STAGE_STATE_WAITING}
	highest := operationv1.VideoStageState_VIDEO_STAGE_STATE_UNSPECIFIED
	var failedMs int64
	for _, t := range p.tasks[track] {
		st.Tasks++
		st.Attempts += uint32(t.attempts)
		st.SpentMs += t.spentMs
		st.StoredBytes += uint64(t.size)
		if t.stored > 0 {
			st.Done++
		}
		if t.node != "" && !slices.Contains(st.Nodes, t.node) {
			st.Nodes = append(st.Nodes, t.node)
		}
		if t.startedMs > 0 && (st.StartedMs == 0 || t.startedMs < st.StartedMs) {
			st.StartedMs = t.startedMs
		}
		if t.error != "" && t.endedMs >= failedMs {
			st.Error, failedMs = t.error, t.endedMs
		}
		st.EndedMs = max(st.EndedMs, t.endedMs)
		if state := p.taskState(t); rank(state) > rank(highest) {
			highest = state
		}
	}
	slices.Sort(st.Nodes)
	if st.Tasks > 0 {
		st.State = highest
	}
	if st.State != operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE && st.State != operationv1.VideoStageState_VIDEO_STAGE_STATE_SKIPPED {
		st.EndedMs = 0
	}
	return st
}

// setOnDemandState sets the state of a rendition on demand that is neither complete nor being encoded.
func (p *progress) setOnDemandState(st *operationv1.VideoStage) {
	switch d := p.onDemand[st.Name]; {
	case d.isEncoding() || d.isComplete():
	case d != nil && d.retryMs > 0:
		st.State = operationv1.VideoStageState_VIDEO_STAGE_STATE_FAILED
	default:
		st.State, st.Error = operationv1.VideoStageState_VIDEO_STAGE_STATE_ON_DEMAND, ""
	}
}

// taskState is how far a task is.
func (p *progress) taskState(t *task) operationv1.VideoStageState {
	switch {
	case t.stored > 0:
		return operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE
	case t.stored == skipped:
		return operationv1.VideoStageState_VIDEO_STAGE_STATE_SKIPPED
	case p.state == stateFailed:
		return operationv1.VideoStageState_VIDEO_STAGE_STATE_FAILED
	case t.job == 0:
		return operationv1.VideoStageState_VIDEO_STAGE_STATE_WAITING
	case t.begunMs == 0:
		return operationv1.VideoStageState_VIDEO_STAGE_STATE_QUEUED
	case t.endedMs == 0:
		return operationv1.VideoStageState_VIDEO_STAGE_STATE_RUNNING
	}
	return operationv1.VideoStageState_VIDEO_STAGE_STATE_RETRYING
}

// rank orders states: that of a stage is the highest one of its tasks.
func rank(s operationv1.VideoStageState) int {
	return slices.Index([]operationv1.VideoStageState{operationv1.VideoStageState_VIDEO_STAGE_STATE_UNSPECIFIED, operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE,
		operationv1.VideoStageState_VIDEO_STAGE_STATE_SKIPPED, operationv1.VideoStageState_VIDEO_STAGE_STATE_WAITING, operationv1.VideoStageState_VIDEO_STAGE_STATE_QUEUED,
		operationv1.VideoStageState_VIDEO_STAGE_STATE_RETRYING, operationv1.VideoStageState_VIDEO_STAGE_STATE_RUNNING, operationv1.VideoStageState_VIDEO_STAGE_STATE_FAILED}, s)
}
