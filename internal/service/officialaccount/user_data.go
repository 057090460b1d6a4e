package officialaccount

import (
	"github.com/rialto-im/rialto/internal/platform/userdata"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// userTables are the tables of the package with data of users.
var userTables = []userdata.Table{
	{Name: "official_replies",
		Erase: `DELETE FROM official_replies WHERE (account, recipient, token) IN (SELECT account, recipient, token FROM official_replies WHERE account = $1 OR recipient = $1 LIMIT $2)`},
	{Name: "official_deliveries",
		Erase: `DELETE FROM official_deliveries WHERE (broadcast, recipient) IN (SELECT d.broadcast, d.recipient FROM official_deliveries d JOIN official_broadcasts b ON b.id = d.broadcast WHERE b.account = $1 LIMIT $2)`},
	{Name: "official_deferred",
		Erase: `DELETE FROM official_deferred WHERE (account, position) IN (SELECT account, position FROM official_deferred WHERE account = $1 LIMIT $2)`},
	{Name: "official_broadcasts", Export: `SELECT id, content, created_ms, sent FROM official_broadcasts WHERE account = $1 OR author = $1 ORDER BY id`, Decode: map[string]func([]byte) (any, error){"content": userdata.Proto[chatv1.Content]()},
		Erase: `DELETE FROM official_broadcasts WHERE id IN (SELECT id FROM official_broadcasts WHERE account = $1 LIMIT $2)`},
	{Name: "official_contacts",
		Erase: `DELETE FROM official_contacts WHERE (account, contact) IN (SELECT account, contact FROM official_contacts WHERE account = $1 OR contact = $1 LIMIT $2)`},
	{Name: "official_labels",
		Erase: `DELETE FROM official_labels WHERE (account, follower, label) IN (SELECT account, follower, label FROM official_labels WHERE account = $1 OR follower = $1 LIMIT $2)`},
	{Name: "official_operators", Export: `SELECT account, role FROM official_operators WHERE operator = $1 ORDER BY account`,
		Erase: `DELETE FROM official_operators WHERE (account, operator) IN (SELECT account, operator FROM official_operators WHERE account = $1 OR operator = $1 LIMIT $2)`},
	{Name: "official_accounts", Export: `SELECT channel, disabled FROM official_accounts WHERE account = $1`,
		Erase: `DELETE FROM official_accounts WHERE account = $1 AND $2 > 0`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "official_accounts", DB: s.deps.DB, List: userTables}
}
