package presence

import (
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "last_active", Export: `SELECT ms FROM last_active WHERE owner = $1`,
		Erase: `DELETE FROM last_active WHERE owner = $1 AND $2 > 0`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "presence", DB: s.deps.DB, List: userTables}
}
