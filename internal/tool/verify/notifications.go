package verify

import (
	"database/sql"
	"fmt"
)

// notifications checks the positions of notifications, and that each cause is in one.
func (c *check) notifications() error {
	if some, err := c.hasTable("notifications"); err != nil || !some {
		return err
	}
	err := c.query(`SELECT o.owner, o.last_pos, o.listed_pos, o.read_pos, o.kept, (SELECT count(*) FROM notifications n WHERE n.owner = o.owner) AS stored FROM notification_owners o
		WHERE o.read_pos < 0 OR o.read_pos > o.listed_pos OR o.listed_pos > o.last_pos OR o.kept <> (SELECT count(*) FROM notifications n WHERE n.owner = o.owner) ORDER BY o.owner`, func(r *sql.Rows) error {
		var owner, last, listed, read, kept, stored int64
		err := r.Scan(&owner, &last, &listed, &read, &kept, &stored)
		if err == nil {
			c.report.violate("notifications", fmt.Sprintf("user %d", owner), "%d notifications are stored, and %d counted; the last is %d, the last that was listed %d, and read is %d", stored, kept, last, listed, read)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = c.query(`SELECT n.owner, n.id, n.pos, n.causes, (SELECT count(*) FROM notification_causes c WHERE c.owner = n.owner AND c.notification = n.id) AS stored FROM notifications n
		LEFT JOIN notification_owners o ON o.owner = n.owner
		WHERE o.owner IS NULL OR n.id > n.pos OR n.pos > o.last_pos OR n.causes <> (SELECT count(*) FROM notification_causes c WHERE c.owner = n.owner AND c.notification = n.id) ORDER BY n.owner, n.id`, func(r *sql.Rows) error {
		var owner, id, pos, causes, stored int64
		err := r.Scan(&owner, &id, &pos, &causes, &stored)
		if err == nil {
			c.report.violate("notifications", fmt.Sprintf("notification %d of user %d", id, owner), "its position is %d, and %d causes are stored, %d counted", pos, stored, causes)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = c.query(`SELECT owner, pos FROM notifications GROUP BY owner, pos HAVING count(*) > 1 ORDER BY owner, pos`, func(r *sql.Rows) error {
		var owner, pos int64
		err := r.Scan(&owner, &pos)
		if err == nil {
			c.report.violate("notifications", fmt.Sprintf("user %d", owner), "two notifications have position %d", pos)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.query(`SELECT c.owner, c.actor, c.notification FROM notification_causes c WHERE c.owner = c.actor OR NOT EXISTS (SELECT 1 FROM notifications n
		WHERE n.owner = c.owner AND n.id = c.notification AND n.kind = c.kind AND n.subject_kind = c.subject_kind AND n.subject = c.subject) ORDER BY c.owner, c.actor`, func(r *sql.Rows) error {
		var owner, actor, notification int64
		err := r.Scan(&owner, &actor, &notification)
		if err == nil {
			c.report.violate("notifications", fmt.Sprintf("notification %d of user %d", notification, owner), "a cause by user %d is not of it, or by its own user", actor)
		}
		return err
	})
}
