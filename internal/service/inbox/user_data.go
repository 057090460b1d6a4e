package inbox

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "views", Export: `SELECT conversation, pinned, muted, archived, draft, read_seq, marked_unread FROM views WHERE owner = $1 ORDER BY conversation`,
		Erase: `DELETE FROM views WHERE (owner, conversation) IN (SELECT owner, conversation FROM views WHERE owner = $1 LIMIT $2)`},
	{Name: "folders", Export: `SELECT list FROM folders WHERE owner = $1`, Decode: map[string]func([]byte) (any, error){"list": userdata.Proto[chatv1.ListFoldersResponse]()}, Erase: `DELETE FROM folders WHERE owner = $1 AND $2 > 0`},
	{Name: "confirmed", Erase: `DELETE FROM confirmed WHERE owner = $1 AND $2 > 0`},
	{Name: "listed", Erase: `DELETE FROM listed WHERE owner = $1 AND $2 > 0`},
	{Name: "device_positions", Erase: `DELETE FROM device_positions WHERE (owner, device) IN (SELECT owner, device FROM device_positions WHERE owner = $1 LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return userData{s, &userdata.Tables{Service: "inbox", DB: s.deps.DB, List: userTables}}
}

type userData struct {
	service *Service
	*userdata.Tables
}

// EraseUser first removes the events of the user's stream, such as drafts, and then the rows of tables.
func (d userData) EraseUser(ctx context.Context, u id.User, from string) (userdata.Step, error) {
	if from != "" {
		return d.Tables.EraseUser(ctx, u, from)
	}
	log, key := d.service.deps.Log, streamKey(u)
	tail, err := log.Tail(ctx, key)
	if err != nil || tail.Seq == 0 {
		return userdata.Step{Next: userdata.FirstTable}, err
	}
	return userdata.Step{Next: userdata.FirstTable, Erased: 1}, log.Trim(ctx, key, tail.Seq+1)
}
