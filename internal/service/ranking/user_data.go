package ranking

import (
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "ranking_less", Export: `SELECT target, subject, at_ms FROM ranking_less WHERE reader = $1 ORDER BY at_ms`,
		Erase: `DELETE FROM ranking_less WHERE (reader, target, subject) IN (SELECT reader, target, subject FROM ranking_less WHERE reader = $1 LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "ranking", DB: s.deps.DB, List: userTables}
}
