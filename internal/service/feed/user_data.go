package feed

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/userdata"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// userTables are the tables of the package with data of users. Posts are deleted before, so that counts and readers follow.
var userTables = []userdata.Table{
	{Name: "feed_posts", Export: `SELECT id, content, repost_of, created_ms, edited_ms FROM feed_posts WHERE author = $1 AND NOT deleted ORDER BY id`, Decode: map[string]func([]byte) (any, error){"content": userdata.Proto[feedv1.PostContent]()},
		Erase: `UPDATE feed_posts SET token = CAST(id AS TEXT), request = '', import_key = NULL WHERE id IN (SELECT id FROM feed_posts WHERE author = $1 AND deleted AND (token <> CAST(id AS TEXT) OR import_key IS NOT NULL) LIMIT $2)`},
	{Name: "feed_versions", Export: `SELECT v.post, v.version, v.content, v.time_ms FROM feed_versions v JOIN feed_posts p ON p.id = v.post WHERE p.author = $1 AND NOT p.deleted ORDER BY v.post, v.version`, Decode: map[string]func([]byte) (any, error){"content": userdata.Proto[feedv1.PostContent]()}},
	{Name: "feed_audiences"}, // of the user's posts; in those of others the user is an id that they chose
	{Name: "feed_authors", Erase: `DELETE FROM feed_authors WHERE author = $1 AND $2 > 0`},
	{Name: "feed_pulling_readers", Erase: `DELETE FROM feed_pulling_readers WHERE reader = $1 AND $2 > 0`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return userData{s, &userdata.Tables{Service: "posts", DB: s.deps.DB, List: userTables}}
}

type userData struct {
	service *Service
	*userdata.Tables
}

// erasedAtOnce is how many posts a step deletes. Each is a transaction.
const erasedAtOnce = 50

// EraseUser first deletes some posts, and when none is left the window of the user's home timeline and rows.
func (d userData) EraseUser(ctx context.Context, u id.User, from string) (userdata.Step, error) {
	if from != "" {
		return d.Tables.EraseUser(ctx, u, from)
	}
	rows, err := d.service.deps.DB.Read().QueryContext(ctx, `SELECT id FROM feed_posts WHERE author = $1 AND NOT deleted ORDER BY id DESC LIMIT $2`, int64(u), erasedAtOnce)
	step, err := userdata.EraseFirst(rows, err, func(n uint64) error { return d.service.DeletePost(ctx, u, n) })
	if err != nil || step.Erased > 0 {
		return step, err
	}
	return step, d.service.closeWindow(ctx, u)
}
