package video

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/pipeline"
	"github.com/rialto-im/rialto/internal/platform/transcode"
)

// video is a row.
type video struct {
	id                            uint64
	owner                         id.User
	upload                        id.Upload
	name                          string
	format                        transcode.Format
	state, run, remaining         int64
	source                        *transcode.Source // nil until it was inspected
	renditions                    []rendition
	stages                        []pipeline.Stage // of the operator's own, each behind those that it needs
	reason, message               string
	retriable                     bool
	createdMs, startedMs, endedMs int64
	storageFullMs                 int64 // since when it waits for storage; 0: it does not
}

// rendition of a video. It is stored as JSON.
type rendition struct {
	transcode.Rendition
	Copied bool `json:"copied,omitempty"`
	// OnDemand: it is encoded when a viewer asks for it, or when the video has enough viewers.
	OnDemand bool `json:"on_demand,omitempty"`
}

// task is a row.
type task struct {
	track               string
	first, chunk, job   int64
	weight, attempts    int64
	stored, size, start int64
	segments            []byte
	width, height, atMs int64

	// Of the latest attempt: its node, when it began, and ended; 0: it runs.
	node             string
	begunMs, endedMs int64
	// startedMs is when the first attempt began, and spentMs how long all took.
	startedMs, spentMs int64
	error              string // of the latest attempt that failed
	completes          bool   // its rendition on demand was completed with it
	// part of the time of the run that does it; the others of the run have the rest.
	part float64
	// tookMs is how long the attempt took that ended here; 0: it did not, or its result does not count.
	tookMs int64
}

// videoColumns are those that scanVideo reads.
const videoColumns = `id, owner, upload, name, format, state, run, remaining, source, renditions, stages, reason, message, retriable, created_ms, started_ms, ended_ms, storage_full_ms`

func scanVideo(scan func(...any) error) (*video, error) {
	v := &video{}
	var source, renditions, stages []byte
	err := scan(&v.id, &v.owner, &v.upload, &v.name, &v.format, &v.state, &v.run, &v.remaining, &source, &renditions, &stages, &v.reason, &v.message, &v.retriable, &v.createdMs, &v.startedMs, &v.endedMs, &v.storageFullMs)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoVideo
	}
	if err == nil && len(source) > 0 {
		v.source = &transcode.Source{}
		err = errors.Join(json.Unmarshal(source, v.source), json.Unmarshal(renditions, &v.renditions))
	}
	if err == nil && len(stages) > 0 {
		err = json.Unmarshal(stages, &v.stages)
	}
	if err != nil {
		return nil, fmt.Errorf("a video's row: %w", err)
	}
	return v, nil
}

// getVideo returns a video that was not deleted.
func getVideo(ctx context.Context, tx *sql.Tx, n uint64) (*video, error) {
	v, err := scanVideo(tx.QueryRowContext(ctx, `SELECT `+videoColumns+` FROM videos WHERE id = $1`, int64(n)).Scan)
	if err == nil && v.state == stateDeleted {
		err = errNoVideo
	}
	return v, err
}

// own returns a video of a user.
func own(ctx context.Context, tx *sql.Tx, by id.User, n uint64) (*video, error) {
	v, err := getVideo(ctx, tx, n)
	if err == nil && v.owner != by {
		err = errNoVideo
	}
	return v, err
}

// setPlan stores what an inspection found.
func setPlan(ctx context.Context, tx *sql.Tx, v *video, remaining int, now int64) error {
	source, serr := json.Marshal(v.source)
	renditions, rerr := json.Marshal(v.renditions)
	stages, perr := encodeStages(v.stages)
	if err := errors.Join(serr, rerr, perr); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE videos SET state = $2, source = $3, renditions = $4, remaining = $5, started_ms = $6, stages = $7 WHERE id = $1`, int64(v.id), stateProcessing, source, renditions, remaining, now, stages)
	return err
}

// encodeStages is what is stored of stages.
func encodeStages(list []pipeline.Stage) ([]byte, error) {
	if len(list) == 0 {
		return []byte{}, nil
	}
	return json.Marshal(list)
}

// tasksOf returns the tasks of a video, or those of one of its tracks, in the order of tracks and segments.
func tasksOf(ctx context.Context, tx *sql.Tx, n uint64, track string) (list []*task, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT `+taskColumns+` FROM video_tasks
		WHERE video = $1 AND ($2 = '' OR track = $2) ORDER BY track, first`, int64(n), track)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		t, err := scanTask(rows.Scan)
		list = append(list, t)
		return err
	})
	return list, err
}

// taskColumns are those that scanTask reads.
const taskColumns = `track, first, chunk, job, weight, attempts, stored, size, start, segments, width, height, at_ms, node, started_ms, begun_ms, ended_ms, spent_ms, error`

func scanTask(scan func(...any) error) (*task, error) {
	t := &task{}
	err := scan(&t.track, &t.first, &t.chunk, &t.job, &t.weight, &t.attempts, &t.stored, &t.size, &t.start, &t.segments, &t.width, &t.height, &t.atMs, &t.node, &t.startedMs, &t.begunMs, &t.endedMs, &t.spentMs, &t.error)
	return t, err
}

// getTask returns a task; nil if there is none.
func getTask(ctx context.Context, tx *sql.Tx, n uint64, track string, first int64) (*task, error) {
	t, err := scanTask(tx.QueryRowContext(ctx, `SELECT `+taskColumns+` FROM video_tasks
		WHERE video = $1 AND track = $2 AND first = $3`, int64(n), track, first).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return t, err
}

// trackInfo is a row of video_tracks.
type trackInfo struct {
	codecs    string
	timescale int64
	init      []byte
}

func tracksOf(ctx context.Context, tx *sql.Tx, n uint64) (map[string]*trackInfo, error) {
	found := map[string]*trackInfo{}
	rows, err := tx.QueryContext(ctx, `SELECT track, codecs, timescale, init FROM video_tracks WHERE video = $1`, int64(n))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var name string
		t := &trackInfo{}
		err := rows.Scan(&name, &t.codecs, &t.timescale, &t.init)
		found[name] = t
		return err
	})
	return found, err
}

// blobKey is the key of the file that an attempt at a task stores.
func blobKey(n uint64, track string, first, attempt int64) string {
	name := fmt.Sprint(n)
	return fmt.Sprintf(filesFolder+"/%s/%s/%s-%d-%d", name[max(0, len(name)-2):], name, track, first, attempt)
}
