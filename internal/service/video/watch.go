package video

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/base/pagetoken"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
	"google.golang.org/protobuf/proto"
)

const (
	maxWatched  = 1000 // videos of a watch history
	maxWatchAge = 24 * time.Hour
	// freshWatchAge is the age up to which a position is taken for the latest one, whatever is stored: the clock of the node that stored it may be ahead.
	freshWatchAge = 2 * time.Second
	// pageToken is the form of a page token: the time and the video behind which the page begins.
	pageToken = "%d.%d"
)

var (
	errWatchAge = errs.New(errs.Invalid, "bad_position", fmt.Sprintf("a position is at most %d hours old", int(maxWatchAge.Hours())))
)

// watch is a row of video_watches.
type watch struct {
	video, post      uint64
	positionMs, atMs int64
	fresh            bool // it replaces any other
}

// SetWatchPosition stores where a user is in a video.
//
// The device says how long ago the user was there, so that clocks of devices need not agree, and a request that waited for the network does not win over a later one.
// A position of now replaces any other, and is then the latest one: nodes whose clocks are behind lose none. Clocks of nodes matter for older ones.
//
// One row is written. Only the first request of a video looks for rows that leave the history.
func (s *Service) SetWatchPosition(ctx context.Context, by id.User, r *videov1.SetWatchPositionRequest) error {
	age := time.Duration(r.AgeMs) * time.Millisecond
	if age > maxWatchAge {
		return errWatchAge
	}
	if err := s.checkPost(ctx, by, r.Post, r.Video); err != nil {
		return err
	}
	w := watch{video: r.Video, post: r.Post, atMs: s.nowMs() - age.Milliseconds(), fresh: age <= freshWatchAge}
	var v *video
	var waits bool
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		v, err = seen(ctx, tx, by, r.Post, r.Video)
		switch {
		case err != nil:
			return err
		case v.state == stateFailed:
			return errNoVideo
		case v.source == nil:
			return errNotYet
		}
		w.positionMs = min(int64(r.PositionMs), v.source.Duration.Milliseconds())
		waits, err = s.waitsForViewers(ctx, tx, v, by)
		return err
	})
	if err != nil {
		return err
	}
	var started int
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
		if started = 0; waits {
			if started, err = s.addViewer(ctx, tx, v.id, by); err != nil {
				return err
			}
		}
		return w.put(ctx, tx, by)
	})
	if err == nil && started > 0 {
		s.stats.Popular.Add(int64(started))
		s.deps.Jobs.Wake()
	}
	return err
}

// put stores a position, unless it is not fresh and a later one is stored.
func (w *watch) put(ctx context.Context, tx *sql.Tx, by id.User) error {
	changed := func(result sql.Result, err error) (bool, error) {
		if err != nil {
			return false, err
		}
		n, err := result.RowsAffected()
		return n > 0, err
	}
	done, err := changed(tx.ExecContext(ctx, `UPDATE video_watches SET post = $3, position_ms = $4, at_ms = CASE WHEN at_ms > $5 THEN at_ms + 1 ELSE CAST($5 AS BIGINT) END
		WHERE member = $1 AND video = $2 AND (at_ms <= $5 OR CAST($6 AS BOOLEAN))`, int64(by), int64(w.video), int64(w.post), w.positionMs, w.atMs, w.fresh))
	if err != nil || done {
		return err
	}
	added, err := changed(tx.ExecContext(ctx, `INSERT INTO video_watches (member, video, post, position_ms, at_ms) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (member, video) DO NOTHING`,
		int64(by), int64(w.video), int64(w.post), w.positionMs, w.atMs))
	if err != nil || !added {
		return err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM video_watches WHERE member = $1 AND (at_ms, video) <= (
		SELECT at_ms, video FROM video_watches WHERE member = $1 ORDER BY at_ms DESC, video DESC LIMIT 1 OFFSET $2)`, int64(by), maxWatched)
	return err
}

// positionIn returns where a user was in a video, and when; 0: never.
func positionIn(ctx context.Context, tx *sql.Tx, by id.User, n uint64) (positionMs uint32, atMs int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT position_ms, at_ms FROM video_watches WHERE member = $1 AND video = $2`, int64(by), int64(n)).Scan(&positionMs, &atMs)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return positionMs, atMs, err
}

// ListWatched returns a page of a user's watch history: the videos that the user may see now.
func (s *Service) ListWatched(ctx context.Context, by id.User, r *videov1.ListWatchedRequest) (out *videov1.ListWatchedResponse, err error) {
	first := watch{atMs: math.MaxInt64}
	if r.Page != "" {
		if _, err := fmt.Sscanf(r.Page, pageToken, &first.atMs, &first.video); err != nil || first.atMs <= 0 || first.video > math.MaxInt64 || first.token() != r.Page {
			return nil, pagetoken.ErrBad
		}
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		videos, next, err := outputlimit.FillPage(outputlimit.SmallPageSize(r.Limit), first, func(behind watch, n int) ([]watchRow, error) {
			list, err := watchesBehind(ctx, tx, by, behind, n)
			if err != nil {
				return nil, err
			}
			return s.visibleAmong(ctx, tx, by, list)
		})
		if out = (&videov1.ListWatchedResponse{Videos: videos}); next != nil {
			out.Next = next.token()
		}
		return err
	})
	return out, err
}

// token of the page behind an entry.
func (w *watch) token() string { return fmt.Sprintf(pageToken, w.atMs, w.video) }

type watchRow = outputlimit.Row[watch, videov1.WatchedVideo]

// watchesBehind returns at most limit entries behind one, the latest first.
func watchesBehind(ctx context.Context, tx *sql.Tx, by id.User, behind watch, limit int) (list []watch, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT video, post, position_ms, at_ms FROM video_watches WHERE member = $1 AND (at_ms, video) < ($2, $3) ORDER BY at_ms DESC, video DESC LIMIT $4`,
		int64(by), behind.atMs, int64(behind.video), limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var w watch
		err := rows.Scan(&w.video, &w.post, &w.positionMs, &w.atMs)
		list = append(list, w)
		return err
	})
	return list, err
}

// visibleAmong returns rows of a user's watch history as the user sees them.
func (s *Service) visibleAmong(ctx context.Context, tx *sql.Tx, reader id.User, list []watch) ([]watchRow, error) {
	var ids []uint64
	for _, w := range list {
		if w.post != 0 {
			ids = append(ids, w.post)
		}
	}
	var posts map[uint64]*feedv1.Post
	if len(ids) > 0 {
		var err error
		if posts, err = s.deps.Posts.VisiblePosts(ctx, tx, reader, ids); err != nil {
			return nil, err
		}
	}
	rows := make([]watchRow, len(list))
	for i, w := range list {
		entry, err := s.watchedVideo(ctx, tx, reader, w, posts[w.post])
		if err != nil {
			return nil, err
		}
		rows[i] = watchRow{Place: w, Entry: entry, Bytes: proto.Size(entry)}
	}
	return rows, nil
}

// watchedVideo returns a row as its user sees it; nil: not at all.
func (s *Service) watchedVideo(ctx context.Context, tx *sql.Tx, reader id.User, w watch, post *feedv1.Post) (*videov1.WatchedVideo, error) {
	if w.post != 0 && post.GetContent().GetVideo() != w.video {
		return nil, nil
	}
	v, err := seen(ctx, tx, reader, w.post, w.video)
	if errs.Is(err, errs.NotFound) || err == nil && v.state == stateFailed {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	view, err := s.listed(ctx, tx, v, reader, w.post)
	if err != nil {
		return nil, err
	}
	view.PositionMs, view.WatchedMs = uint32(w.positionMs), w.atMs
	return &videov1.WatchedVideo{Video: view, Post: post}, nil
}

// RemoveWatched deletes a video from a user's watch history.
func (s *Service) RemoveWatched(ctx context.Context, by id.User, n uint64) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM video_watches WHERE member = $1 AND video = $2`, int64(by), int64(n))
		return err
	})
}

// ClearWatched deletes a user's watch history.
func (s *Service) ClearWatched(ctx context.Context, by id.User) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM video_watches WHERE member = $1`, int64(by))
		return err
	})
}
