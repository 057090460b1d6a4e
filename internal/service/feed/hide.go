package feed

import (
	"context"
	"database/sql"

	"github.com/rialto-im/rialto/internal/base/message"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// HidePost hides a post, or shows it again. Each read of a post reads this row, on all nodes, so it takes effect before the answer. Clients that show the
// post are told.
func (s *Service) HidePost(ctx context.Context, r *feedv1.HidePostRequest) error {
	if !message.IsReason(r.Reason) {
		return errReason
	}
	pushed := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		pushed = false
		p, err := getPost(ctx, tx, r.Post)
		switch {
		case err != nil:
			return err
		case p.deleted:
			return errNoPost
		case p.hidden != r.Show:
			return nil
		}
		if _, err := tx.ExecContext(ctx, `UPDATE feed_posts SET hidden = $2 WHERE id = $1`, int64(p.id), !r.Show); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO feed_hidings (post, hidden, reason, time_ms) VALUES ($1, $2, $3, $4)`, int64(p.id), !r.Show, r.Reason, s.nowMs()); err != nil {
			return err
		}
		if r.Show {
			pushed, err = s.unretire(ctx, tx, p)
		} else {
			err = s.startClean(ctx, tx, p.id)
		}
		if err != nil {
			return err
		}
		return s.changed(ctx, tx, Change{ID: p.id, Author: p.author})
	})
	if pushed {
		s.deps.Jobs.Wake()
	}
	if err == nil {
		s.publishChange(r.Post)
	}
	return err
}

// GetFeedAuthor tells how the posts of a user are distributed.
func (s *Service) GetFeedAuthor(ctx context.Context, r *feedv1.GetFeedAuthorRequest) (out *feedv1.FeedAuthor, err error) {
	u, err := s.known(ctx, r.User)
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		a, err := getAuthor(ctx, tx, u)
		if err != nil {
			return err
		}
		followers, following, err := s.deps.Graph.FollowCounts(ctx, tx, u)
		if err != nil {
			return err
		}
		out = &feedv1.FeedAuthor{Followers: uint32(followers), Pulled: a.pulled, Following: uint32(following), DailyEntries: a.dailyEntries(followers)}
		if out.Pulls, err = s.pulls(ctx, tx, u, int(following)); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT count(*) FROM feed_posts WHERE author = $1 AND pending`, int64(u)).Scan(&out.PushedPending)
	})
	return out, err
}
