package helpdesk

import (
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "tickets", Export: `SELECT id, desk, status, subject, opened_ms, resolved_ms, rating, comment FROM tickets WHERE customer = $1 ORDER BY id`,
		Erase: `UPDATE tickets SET subject = '', comment = '', notice = '' WHERE id IN (SELECT id FROM tickets WHERE customer = $1 AND (subject <> '' OR comment <> '' OR notice <> '') LIMIT $2)`},
	{Name: "help_desk_agents", Export: `SELECT desk FROM help_desk_agents WHERE agent = $1 ORDER BY desk`,
		Erase: `DELETE FROM help_desk_agents WHERE (desk, agent) IN (SELECT desk, agent FROM help_desk_agents WHERE agent = $1 LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "help_desks", DB: s.deps.DB, List: userTables}
}
