package notification

import (
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// userTables are the tables of the package with data of users. Causes by the user in notifications of others are ids; they show nothing once what they name is
// gone, and are deleted with age.
var userTables = []userdata.Table{
	{Name: "notification_causes",
		Erase: `DELETE FROM notification_causes WHERE (owner, kind, subject_kind, subject, actor, item) IN (SELECT owner, kind, subject_kind, subject, actor, item FROM notification_causes WHERE owner = $1 LIMIT $2)`},
	{Name: "notifications", Export: `SELECT id, kind, subject_kind, subject, moved_ms FROM notifications WHERE owner = $1 ORDER BY pos`,
		Erase: `DELETE FROM notifications WHERE (owner, id) IN (SELECT owner, id FROM notifications WHERE owner = $1 LIMIT $2)`},
	{Name: "notification_owners", Export: `SELECT read_pos, kinds_off FROM notification_owners WHERE owner = $1`,
		Erase: `DELETE FROM notification_owners WHERE owner = $1 AND $2 > 0`},
	{Name: "notification_subscriptions", Export: `SELECT author FROM notification_subscriptions WHERE subscriber = $1 ORDER BY author`,
		Erase: `DELETE FROM notification_subscriptions WHERE (author, subscriber) IN (SELECT author, subscriber FROM notification_subscriptions WHERE author = $1 OR subscriber = $1 LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "notifications", DB: s.deps.DB, List: userTables}
}
