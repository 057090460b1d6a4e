package moderation

import (
	"github.com/rialto-im/rialto/internal/platform/userdata"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

// heldKind is ofHeld in queries.
const heldKind = `6`

// userTables are the tables of the package with data of users. Decisions and bans stay when a user is erased: they are ids and what moderators wrote. What was dismissed is not exported,
// since nobody told the user of it, nor are limits, which users are not told of.
var userTables = []userdata.Table{
	{Name: "moderation_reports", Export: `SELECT id, subject_case, reason, note, time_ms FROM moderation_reports WHERE reporter = $1 ORDER BY id`,
		Erase: `UPDATE moderation_reports SET note = '' WHERE id IN (SELECT id FROM moderation_reports WHERE reporter = $1 AND note <> '' LIMIT $2)`},
	{Name: "moderation_cases", Export: `SELECT id, content, opened_ms FROM moderation_cases WHERE about = $1 AND kind = ` + heldKind + ` AND has_content ORDER BY id`, Decode: map[string]func([]byte) (any, error){"content": userdata.Proto[moderationv1.CaseContent]()},
		Erase: `UPDATE moderation_cases SET excerpt = '', content = '', has_content = FALSE WHERE id IN (SELECT id FROM moderation_cases WHERE about = $1 AND (has_content OR excerpt <> '') LIMIT $2)`},
	{Name: "moderation_decisions", Export: `SELECT id, kind, item, seq, action, reason, explanation, time_ms, ends_ms, overturned, acknowledged_ms FROM moderation_decisions WHERE about = $1 AND action NOT IN ` + untoldActions + ` ORDER BY id`,
		Erase: `UPDATE moderation_decisions SET excerpt = '' WHERE id IN (SELECT id FROM moderation_decisions WHERE about = $1 AND excerpt <> '' LIMIT $2)`},
	{Name: "moderation_bans", Export: `SELECT id, decision, target, made_ms, ends_ms, lifted_ms FROM moderation_bans WHERE about = $1 AND NOT limited ORDER BY id`},
	{Name: "moderation_appeals", Export: `SELECT decision, text, time_ms, state, answer, decided_ms FROM moderation_appeals WHERE appellant = $1 ORDER BY id`,
		Erase: `UPDATE moderation_appeals SET text = '' WHERE id IN (SELECT id FROM moderation_appeals WHERE appellant = $1 AND text <> '' LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return &userdata.Tables{Service: "moderation", DB: s.deps.DB, List: userTables}
}
