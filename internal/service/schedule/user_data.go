package schedule

import (
	"github.com/rialto-im/rialto/internal/platform/userdata"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "scheduled", Export: `SELECT id, conversation, content, send_ms, failed FROM scheduled WHERE owner = $1 ORDER BY id`, Decode: map[string]func([]byte) (any, error){"content": userdata.Proto[chatv1.Content]()},
		Erase: `DELETE FROM scheduled WHERE id IN (SELECT id FROM scheduled WHERE owner = $1 LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "scheduled", DB: s.deps.DB, List: userTables}
}
