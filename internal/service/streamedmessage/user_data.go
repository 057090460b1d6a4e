package streamedmessage

import (
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "streamed_messages", Export: `SELECT conversation, seq, text FROM streamed_messages WHERE sender = $1 ORDER BY conversation, seq`,
		Erase: `DELETE FROM streamed_messages WHERE (conversation, seq) IN (SELECT conversation, seq FROM streamed_messages WHERE sender = $1 LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "streamed", DB: s.deps.DB, List: userTables}
}
