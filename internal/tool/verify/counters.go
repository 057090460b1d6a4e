package verify

import (
	"database/sql"
	"fmt"
)

// counters compares the sizes of sets, such as likes, with their members.
func (c *check) counters() error {
	if some, err := c.hasTable("counter_members"); err != nil || !some {
		return err
	}
	return c.query(`SELECT kind, subject, CAST(SUM(members) AS BIGINT), CAST(SUM(counted) AS BIGINT) FROM (
		SELECT kind, subject, COUNT(*) AS members, 0 AS counted FROM counter_members WHERE present GROUP BY kind, subject
		UNION ALL SELECT kind, subject, 0, n FROM counter_counts) AS sizes GROUP BY kind, subject HAVING SUM(members) <> SUM(counted) ORDER BY kind, subject`, func(r *sql.Rows) error {
		var kind, subject uint64
		var members, counted int64
		if err := r.Scan(&kind, &subject, &members, &counted); err != nil {
			return err
		}
		c.report.violate("counters", fmt.Sprintf("subject %d, kind %d", subject, kind), "the counter is %d, and the set has %d members; a server corrects it when it compares counts", counted, members)
		return nil
	})
}
