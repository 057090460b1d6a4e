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

// videos compares what videos say with their tasks: how many have no result, and that a ready one has all.
func (c *check) videos() error {
	if some, err := c.hasTable("video_tasks"); err != nil || !some {
		return err
	}
	return c.query(`SELECT v.id, v.state, v.remaining, COUNT(t.video), COUNT(CASE WHEN t.stored = 0 THEN 1 END),
		COUNT(CASE WHEN t.stored > t.attempts THEN 1 END)
		FROM videos v LEFT JOIN video_tasks t ON t.video = v.id WHERE v.state < $1 GROUP BY v.id, v.state, v.remaining ORDER BY v.id`, func(r *sql.Rows) error {
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
	}, int64(videoDeleted))
}
