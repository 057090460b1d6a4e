package verify

import (
	"database/sql"
	"fmt"
	"math"

	"github.com/rialto-im/rialto/internal/service/comment"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
)

// engagement compares the counts of reposts with the reposts, and the order of comments with their likes.
func (c *check) engagement() error {
	if err := c.repostCounts(); err != nil {
		return err
	}
	return c.commentRanks()
}

func (c *check) repostCounts() error {
	if some, err := c.hasTable("feed_repost_counts"); err != nil || !some {
		return err
	}
	return c.query(`SELECT post, CAST(SUM(counted) AS BIGINT), CAST(SUM(stored) AS BIGINT) FROM (
		SELECT post, n AS counted, 0 AS stored FROM feed_repost_counts
		UNION ALL SELECT repost_of, 0, 1 FROM feed_posts WHERE repost_of > 0 AND NOT deleted AND audience <> 15) AS counts GROUP BY post HAVING SUM(counted) <> SUM(stored) ORDER BY post`, func(r *sql.Rows) error {
		var post uint64
		var counted, stored int64
		err := r.Scan(&post, &counted, &stored)
		if err == nil {
			c.report.violate("engagement", fmt.Sprintf("post %d", post), "%d reposts are stored, and %d counted", stored, counted)
		}
		return err
	})
}

// commentRanks checks that each top comment has the rank of its likes, once, unless it is marked to be ranked again.
func (c *check) commentRanks() error {
	for _, table := range []string{"comments", "comment_ranks", "engagement_marks", "counter_counts"} {
		if some, err := c.hasTable(table); err != nil || !some {
			return err
		}
	}
	return c.query(`SELECT c.id, (SELECT COUNT(*) FROM comment_ranks r WHERE r.comment = c.id AND r.until = $1), COALESCE((SELECT MAX(level) FROM comment_ranks r WHERE r.comment = c.id AND r.until = $1), 0),
		COALESCE((SELECT CAST(SUM(n) AS BIGINT) FROM counter_counts k WHERE k.kind = 3 AND k.subject = c.id), 0)
		FROM comments c WHERE c.top = 0 AND NOT EXISTS (SELECT 1 FROM engagement_marks m WHERE m.kind = $2 AND m.subject = c.id) ORDER BY c.id`, func(r *sql.Rows) error {
		var n uint64
		var ranks, level, likes int64
		if err := r.Scan(&n, &ranks, &level, &likes); err != nil {
			return err
		}
		if want := comment.RankLevel(uint64(max(likes, 0))); level != want || ranks != min(want, 1) {
			c.report.violate("engagement", fmt.Sprintf("comment %d", n), "it has %d likes, and %d ranks, of level %d; it is ranked again with its next like", likes, ranks, level)
		}
		return nil
	}, int64(math.MaxInt64), int64(engagementv1.LikeKind_LIKE_KIND_COMMENT))
}
