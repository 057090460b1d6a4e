package verify_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/verify"
)

// withNotifications is a healthy directory with the notifications 1 and 2 of user 7, of likes of users 8 and 9, and of a comment of user 8.
func withNotifications(t *testing.T) string {
	t.Helper()
	dir := healthy(t)
	for _, statement := range []string{
		`CREATE TABLE notification_owners (owner BIGINT, last_pos BIGINT, listed_pos BIGINT, read_pos BIGINT, kinds_off BIGINT, kept BIGINT)`,
		`INSERT INTO notification_owners VALUES (7, 3, 3, 2, 0, 2), (8, 0, 0, 0, 4, 0)`,
		`CREATE TABLE notifications (owner BIGINT, id BIGINT, kind BIGINT, subject_kind BIGINT, subject BIGINT, pos BIGINT, causes BIGINT, moved_ms BIGINT)`,
		`INSERT INTO notifications VALUES (7, 1, 1, 1, 5, 3, 2, 0), (7, 2, 2, 1, 5, 2, 1, 0)`,
		`CREATE TABLE notification_causes (owner BIGINT, kind BIGINT, subject_kind BIGINT, subject BIGINT, actor BIGINT, item BIGINT, notification BIGINT, at_ms BIGINT)`,
		`INSERT INTO notification_causes VALUES (7, 1, 1, 5, 8, 0, 1, 0), (7, 1, 1, 5, 9, 0, 1, 0), (7, 2, 1, 5, 8, 11, 2, 0)`,
	} {
		execute(t, dir, statement)
	}
	return dir
}

// Each damage of notifications is found, and nothing else.
func TestNotificationViolations(t *testing.T) {
	const user, first, second = "user 7", "notification 1 of user 7", "notification 2 of user 7"
	for _, d := range []struct {
		statement string
		where     []string
	}{
		{statement: `SELECT 1`},
		{statement: `UPDATE notification_owners SET read_pos = 4 WHERE owner = 7`, where: []string{user}},
		{statement: `UPDATE notification_owners SET last_pos = 2, listed_pos = 2 WHERE owner = 7`, where: []string{first}},
		{statement: `UPDATE notification_owners SET kept = 3 WHERE owner = 7`, where: []string{user}},
		{statement: `DELETE FROM notification_owners WHERE owner = 7`, where: []string{first, second}},
		{statement: `DELETE FROM notifications WHERE id = 2`, where: []string{user, second}},
		{statement: `UPDATE notifications SET pos = 3`, where: []string{user}},
		{statement: `UPDATE notifications SET pos = 1 WHERE id = 2`, where: []string{second}},
		{statement: `DELETE FROM notification_causes WHERE actor = 9`, where: []string{first}},
		{statement: `UPDATE notification_causes SET subject = 6 WHERE actor = 9`, where: []string{first}},
		{statement: `UPDATE notification_causes SET actor = 7 WHERE actor = 9`, where: []string{first}},
	} {
		dir := withNotifications(t)
		execute(t, dir, d.statement)
		r, err := verify.Run(t.Context(), dir, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		var where []string
		for _, v := range r.Violations {
			if where = append(where, v.Where); v.Rule != "notifications" {
				t.Errorf("%s violates %s: %s", d.statement, v.Rule, v.What)
			}
		}
		slices.Sort(where)
		if want := slices.Sorted(slices.Values(d.where)); !slices.Equal(where, want) {
			t.Errorf("%s: violations %v, want %q", d.statement, r.Violations, want)
		}
	}
}
