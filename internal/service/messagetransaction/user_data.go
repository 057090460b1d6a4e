package messagetransaction

import (
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "prepared_messages",
		Erase: `UPDATE prepared_messages SET content = '' WHERE (owner, n) IN (SELECT owner, n FROM prepared_messages WHERE sender = $1 AND length(content) > 0 LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "transactions", DB: s.deps.DB, List: userTables}
}
