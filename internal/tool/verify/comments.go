package verify

import (
	"database/sql"
	"fmt"
)

// comments checks that replies are in the thread of what they answer, and compares the counts of comments and replies with the rows.
func (c *check) comments() error {
	if some, err := c.hasTable("comments"); err != nil || !some {
		return err
	}
	err := c.query(`SELECT r.id, r.top, r.reply_to FROM comments r WHERE (r.top > 0 OR r.reply_to > 0) AND NOT (
		EXISTS (SELECT 1 FROM comments t WHERE t.id = r.top AND t.top = 0 AND t.kind = r.kind AND t.subject = r.subject AND t.author = r.top_author) AND
		EXISTS (SELECT 1 FROM comments a WHERE a.id = r.reply_to AND a.id < r.id AND (a.id = r.top OR a.top = r.top) AND a.author = r.reply_to_author)) ORDER BY r.id`, func(r *sql.Rows) error {
		var reply, top, answered uint64
		err := r.Scan(&reply, &top, &answered)
		if err == nil {
			c.report.violate("comments", fmt.Sprintf("comment %d", reply), "it answers comment %d in the thread of %d, and one of them is missing or elsewhere", answered, top)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = c.query(`SELECT kind, subject, CAST(SUM(counted) AS BIGINT), CAST(SUM(stored) AS BIGINT) FROM (
		SELECT kind, subject, n AS counted, 0 AS stored FROM comment_counts
		UNION ALL SELECT kind, subject, 0, 1 FROM comments WHERE NOT deleted AND NOT limited) AS counts GROUP BY kind, subject HAVING SUM(counted) <> SUM(stored) ORDER BY kind, subject`, func(r *sql.Rows) error {
		var kind, subject uint64
		var counted, stored int64
		err := r.Scan(&kind, &subject, &counted, &stored)
		if err == nil {
			c.report.violate("comments", fmt.Sprintf("subject %d, kind %d", subject, kind), "%d comments are stored, and %d counted", stored, counted)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.query(`SELECT top, CAST(SUM(counted) AS BIGINT), CAST(SUM(stored) AS BIGINT) FROM (
		SELECT top, n AS counted, 0 AS stored FROM comment_reply_counts
		UNION ALL SELECT top, 0, 1 FROM comments WHERE top > 0 AND NOT deleted AND NOT limited) AS counts GROUP BY top HAVING SUM(counted) <> SUM(stored) ORDER BY top`, func(r *sql.Rows) error {
		var top uint64
		var counted, stored int64
		err := r.Scan(&top, &counted, &stored)
		if err == nil {
			c.report.violate("comments", fmt.Sprintf("thread of comment %d", top), "%d replies are stored, and %d counted", stored, counted)
		}
		return err
	})
}
