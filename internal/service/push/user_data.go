package push

import (
	"github.com/rialto-im/rialto/internal/platform/userdata"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "pushes",
		Erase: `DELETE FROM pushes WHERE (subscription, conversation) IN (SELECT p.subscription, p.conversation FROM pushes p JOIN push_subscriptions s ON s.n = p.subscription WHERE s.owner = $1 LIMIT $2)`},
	{Name: "push_subscriptions", Export: `SELECT provider, token, created_ms FROM push_subscriptions WHERE owner = $1 ORDER BY n`,
		Erase: `DELETE FROM push_subscriptions WHERE n IN (SELECT n FROM push_subscriptions WHERE owner = $1 LIMIT $2)`},
	{Name: "push_settings", Export: `SELECT settings FROM push_settings WHERE owner = $1`, Decode: map[string]func([]byte) (any, error){"settings": userdata.Proto[pushv1.PushSettings]()},
		Erase: `DELETE FROM push_settings WHERE owner = $1 AND $2 > 0`},
	{Name: "push_users",
		Erase: `DELETE FROM push_users WHERE owner = $1 AND $2 > 0`},
	{Name: "push_attempts", Export: `SELECT provider, conversation, seq, at_ms, result FROM push_attempts WHERE owner = $1 ORDER BY n`,
		Erase: `DELETE FROM push_attempts WHERE n IN (SELECT n FROM push_attempts WHERE owner = $1 LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "push", DB: s.deps.DB, List: userTables}
}
