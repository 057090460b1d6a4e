package bridge

import "github.com/rialto-im/rialto/internal/platform/userdata"

// userTables are the tables of the package with data of users. A bridge ends with its bot: nobody can be the bot of the same name again.
var userTables = []userdata.Table{
	{Name: "bridge_links", Export: `SELECT bridge, conversation, address, created_ms FROM bridge_links WHERE linked_by = $1 ORDER BY bridge, conversation`,
		Erase: `UPDATE bridge_links SET linked_by = 0 WHERE (bridge, conversation) IN (SELECT bridge, conversation FROM bridge_links WHERE linked_by = $1 LIMIT $2)`},
	{Name: "bridge_users", Export: `SELECT bridge, address, name FROM bridge_users WHERE member = $1 ORDER BY bridge`,
		Erase: `DELETE FROM bridge_users WHERE (bridge, address) IN (SELECT bridge, address FROM bridge_users WHERE member = $1 LIMIT $2)`},
	{Name: "bridge_permissions", Export: `SELECT bridge, conversation, allowed, reason, text, until_ms FROM bridge_permissions WHERE member = $1 ORDER BY bridge, conversation`,
		Erase: `DELETE FROM bridge_permissions WHERE (bridge, conversation, member) IN (SELECT bridge, conversation, member FROM bridge_permissions WHERE member = $1 LIMIT $2)`},
	{Name: "bridges", Export: `SELECT name, display_name FROM bridges WHERE bot = $1 ORDER BY name`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "bridges", DB: s.deps.DB, List: userTables}
}
