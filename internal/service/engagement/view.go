package engagement

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/counter"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
)

const (
	maxRecorded = 100  // posts of one call
	maxHistory  = 1000 // posts of a view history
)

var errRecorded = badEngagement(fmt.Sprintf("record the views of at most %d posts at once", maxRecorded))

// RecordViews counts views of posts that a user may see, and adds them to the user's view history.
func (s *Service) RecordViews(ctx context.Context, by id.User, r *engagementv1.RecordViewsRequest) error {
	if len(r.Posts) > maxRecorded {
		return errRecorded
	}
	list := slices.Compact(slices.Sorted(slices.Values(r.Posts)))
	list = slices.DeleteFunc(list, func(n uint64) bool { return !post(n).isID() })
	if len(list) == 0 {
		return nil
	}
	var visible map[uint64]id.User
	err := s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) (err error) {
		visible, err = s.deps.Posts.VisibleAuthors(ctx, tx, by, list)
		return err
	})
	if err != nil || len(visible) == 0 {
		return err
	}
	list = slices.Sorted(maps.Keys(visible))
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		now := s.nowMs()
		for _, n := range list {
			// A clock that is behind does not move a post down.
			if _, err := tx.ExecContext(ctx, `INSERT INTO engagement_views AS v (member, post, at_ms) VALUES ($1, $2, $3)
				ON CONFLICT (member, post) DO UPDATE SET at_ms = excluded.at_ms WHERE excluded.at_ms > v.at_ms`, int64(by), int64(n), now); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM engagement_views WHERE member = $1 AND (at_ms, post) <= (
			SELECT at_ms, post FROM engagement_views WHERE member = $1 ORDER BY at_ms DESC, post DESC LIMIT 1 OFFSET $2)`, int64(by), maxHistory)
		return err
	})
	if err != nil {
		return err
	}
	for _, n := range list {
		s.deps.Counters.View(counter.PostViews, n, by)
	}
	return nil
}

// ListViews returns a page of a user's view history.
func (s *Service) ListViews(ctx context.Context, reader id.User, r *engagementv1.ListViewsRequest) (*engagementv1.PostList, error) {
	return s.listPosts(ctx, reader, r.Page, r.Limit, func(ctx context.Context, tx *sql.Tx, behind counter.Position, limit int) (list []counter.Subject, err error) {
		if behind == (counter.Position{}) {
			behind.AtMs = math.MaxInt64
		}
		rows, err := tx.QueryContext(ctx, `SELECT post, at_ms FROM engagement_views WHERE member = $1 AND (at_ms, post) < ($2, $3) ORDER BY at_ms DESC, post DESC LIMIT $4`,
			int64(reader), behind.AtMs, int64(behind.ID), limit)
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var viewed counter.Subject
			err := rows.Scan(&viewed.ID, &viewed.AtMs)
			list = append(list, viewed)
			return err
		})
		return list, err
	})
}

// ClearViews deletes a user's view history.
func (s *Service) ClearViews(ctx context.Context, by id.User) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM engagement_views WHERE member = $1`, int64(by))
		return err
	})
}

// ViewedPosts returns the posts of a user's view history, as of a transaction.
func (s *Service) ViewedPosts(ctx context.Context, tx *sql.Tx, u id.User) (map[uint64]bool, error) {
	rows, err := tx.QueryContext(ctx, `SELECT post, TRUE FROM engagement_views WHERE member = $1`, int64(u))
	return sqldb.Pairs[uint64, bool](rows, err)
}
