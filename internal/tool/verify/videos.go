package verify

import (
	"database/sql"
	"fmt"
)

// States of videos, as package video stores them.
const (
	videoProcessing = 1
	videoReady      = 2
	videoDeleted    = 4
)

// videos compares what videos, and their renditions on demand, say with their tasks: how many have no result, and that a ready one has all.
func (c *check) videos() error {
	if some, err := c.hasTable("video_tasks"); err != nil || !some {
		return err
	}
	some, err := c.hasTable("video_on_demand")
	if err != nil {
		return err
	}
	if !some { // of an earlier build
		return c.query(`SELECT v.id, v.state, v.remaining, COUNT(t.video), COUNT(CASE WHEN t.stored = 0 THEN 1 END),
			COUNT(CASE WHEN t.stored > t.attempts THEN 1 END)
			FROM videos v LEFT JOIN video_tasks t ON t.video = v.id
			WHERE v.state < $1 GROUP BY v.id, v.state, v.remaining ORDER BY v.id`, c.video, int64(videoDeleted))
	}
	if err := c.renditions(); err != nil {
		return err
	}
	// Tasks of renditions on demand count for those.
	return c.query(`SELECT v.id, v.state, v.remaining, COUNT(t.video), COUNT(CASE WHEN t.stored = 0 THEN 1 END),
		COUNT(CASE WHEN t.stored > t.attempts THEN 1 END)
		FROM videos v LEFT JOIN video_tasks t ON t.video = v.id AND NOT EXISTS (SELECT 1 FROM video_on_demand d WHERE d.video = t.video AND d.track = t.track)
		WHERE v.state < $1 GROUP BY v.id, v.state, v.remaining ORDER BY v.id`, c.video, int64(videoDeleted))
}

// video checks the row of a video with the counts of its tasks.
func (c *check) video(r *sql.Rows) error {
	var n uint64
	var state, remaining, tasks, open, unknown int64
	if err := r.Scan(&n, &state, &remaining, &tasks, &open, &unknown); err != nil {
		return err
	}
	where := fmt.Sprintf("video %d", n)
	switch {
	case remaining != open || tasks == 0:
		c.report.violate("videos", where, "%d of its %d tasks have no result, and it counts %d", open, tasks, remaining)
	case state == videoReady && open > 0:
		c.report.violate("videos", where, "it is ready, but %d tasks have no result", open)
	case state == videoProcessing && open == 0:
		c.report.violate("videos", where, "all of its tasks have results, but it is not ready")
	}
	if unknown > 0 {
		c.report.violate("videos", where, "%d tasks have results of attempts that were never begun", unknown)
	}
	return nil
}

// renditions compares renditions on demand with their tasks: one that is being encoded counts those without a result, one that is complete has all, and any other has none.
func (c *check) renditions() error {
	return c.query(`SELECT d.video, d.track, d.remaining, d.used_ms, COUNT(CASE WHEN t.stored = 0 THEN 1 END), COUNT(CASE WHEN t.stored <> 0 THEN 1 END)
		FROM video_on_demand d LEFT JOIN video_tasks t ON t.video = d.video AND t.track = d.track GROUP BY d.video, d.track, d.remaining, d.used_ms ORDER BY d.video, d.track`, func(r *sql.Rows) error {
		var n uint64
		var track string
		var remaining, usedMs, open, done int64
		if err := r.Scan(&n, &track, &remaining, &usedMs, &open, &done); err != nil {
			return err
		}
		where := fmt.Sprintf("video %d %s", n, track)
		switch {
		case remaining > 0 && (remaining != open || usedMs > 0):
			c.report.violate("videos", where, "%d of its tasks have no result, and it counts %d", open, remaining)
		case remaining == 0 && usedMs > 0 && (open > 0 || done == 0):
			c.report.violate("videos", where, "it is complete, but %d tasks have no result", open)
		case remaining == 0 && usedMs == 0 && done > 0:
			c.report.violate("videos", where, "it was dropped, but %d tasks have results", done)
		}
		return nil
	})
}
