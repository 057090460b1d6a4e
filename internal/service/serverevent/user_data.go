package serverevent

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// userTables are the tables of the package with data of users: bots are users, and have consumers. The consumers of servers are the operator's.
var userTables = []userdata.Table{
	{Name: "event_consumers", Export: `SELECT name, url FROM event_consumers WHERE bot = $1 ORDER BY name`},
	{Name: "event_positions"},
	{Name: "event_dead"},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return userData{s, &userdata.Tables{Service: "server_events", DB: s.deps.DB, List: userTables}}
}

type userData struct {
	service *Service
	*userdata.Tables
}

// EraseUser deletes the consumers of a bot. There are few.
func (d userData) EraseUser(ctx context.Context, u id.User, _ string) (userdata.Step, error) {
	rows, err := d.service.deps.DB.Read().QueryContext(ctx, `SELECT name FROM event_consumers WHERE bot = $1 ORDER BY name`, int64(u))
	names, err := sqldb.Column[string](rows, err)
	if err != nil {
		return userdata.Step{}, err
	}
	for _, name := range names {
		if err := d.service.deleteConsumer(ctx, name); err != nil {
			return userdata.Step{}, err
		}
	}
	if len(names) > 0 {
		d.service.deliverer.reload()
	}
	return userdata.Step{Erased: int64(len(names)), Done: true}, nil
}
