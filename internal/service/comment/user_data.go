package comment

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
)

// userTables are the tables of the package with data of users. Comments are deleted before; their rows stay, for the replies of others.
var userTables = []userdata.Table{
	{Name: "comments", Export: `SELECT id, kind, subject, reply_to, content, time_ms, created_ms, edited_ms FROM comments WHERE author = $1 AND NOT deleted ORDER BY id`, Decode: map[string]func([]byte) (any, error){"content": userdata.Proto[commentv1.CommentContent]()},
		Erase: `UPDATE comments SET token = CAST(id AS TEXT), request = '', hidden_content = NULL, import_key = NULL WHERE id IN (SELECT id FROM comments WHERE author = $1 AND deleted AND (token <> CAST(id AS TEXT) OR hidden_content IS NOT NULL OR import_key IS NOT NULL) LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return userData{s, &userdata.Tables{Service: "comments", DB: s.deps.DB, List: userTables}}
}

type userData struct {
	service *Service
	*userdata.Tables
}

// erasedAtOnce is how many comments a step deletes. Each is a transaction.
const erasedAtOnce = 50

// EraseUser first deletes some comments, and when none is left removes what rows have beside them.
func (d userData) EraseUser(ctx context.Context, u id.User, from string) (userdata.Step, error) {
	if from != "" {
		return d.Tables.EraseUser(ctx, u, from)
	}
	rows, err := d.service.deps.DB.Read().QueryContext(ctx, `SELECT id FROM comments WHERE author = $1 AND NOT deleted ORDER BY kind, id LIMIT $2`, int64(u), erasedAtOnce)
	return userdata.EraseFirst(rows, err, func(n uint64) error { return d.service.DeleteComment(ctx, u, n) })
}
