package chatroom

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// userTables are the tables of the package with data of users. Rooms are closed before; messages in rooms are not stored.
var userTables = []userdata.Table{
	{Name: "rooms", Export: `SELECT id, title, announcement, closed, created_ms FROM rooms WHERE owner = $1 ORDER BY id`,
		Erase: `UPDATE rooms SET title = '', announcement = '' WHERE id IN (SELECT id FROM rooms WHERE owner = $1 AND closed AND (title <> '' OR announcement <> '') LIMIT $2)`},
	{Name: "room_moderators", Export: `SELECT room FROM room_moderators WHERE moderator = $1 ORDER BY room`,
		Erase: `DELETE FROM room_moderators WHERE (room, moderator) IN (SELECT room, moderator FROM room_moderators WHERE moderator = $1 LIMIT $2)`},
	{Name: "room_restrictions", Erase: `DELETE FROM room_restrictions WHERE (room, restricted) IN (SELECT room, restricted FROM room_restrictions WHERE restricted = $1 LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return userData{s, &userdata.Tables{Service: "rooms", DB: s.deps.DB, List: userTables}}
}

type userData struct {
	service *Service
	*userdata.Tables
}

// erasedAtOnce is how many rooms a step closes.
const erasedAtOnce = 20

// EraseUser first closes some rooms, and when none is open removes rows.
func (d userData) EraseUser(ctx context.Context, u id.User, from string) (userdata.Step, error) {
	if from != "" {
		return d.Tables.EraseUser(ctx, u, from)
	}
	rows, err := d.service.deps.DB.Read().QueryContext(ctx, `SELECT id FROM rooms WHERE owner = $1 AND NOT closed ORDER BY id LIMIT $2`, int64(u), erasedAtOnce)
	return userdata.EraseFirst(rows, err, func(n uint64) error {
		_, err := d.service.CloseRoom(ctx, u, &chatv1.CloseRoomRequest{Room: n})
		if errs.Is(err, errs.NotFound) {
			return nil
		}
		return err
	})
}
