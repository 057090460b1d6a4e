package video

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// userTables are the tables of the package with data of users. Videos are deleted before, and their renditions by the sweep.
var userTables = []userdata.Table{
	{Name: "video_watches", Export: `SELECT video, post, position_ms, at_ms FROM video_watches WHERE member = $1 ORDER BY at_ms`,
		Erase: `DELETE FROM video_watches WHERE (member, video) IN (SELECT member, video FROM video_watches WHERE member = $1 LIMIT $2)`},
	{Name: "videos", Export: `SELECT id, upload, name, format, created_ms FROM videos WHERE owner = $1 AND ended_ms >= 0 ORDER BY id`,
		Erase: `UPDATE videos SET name = '', message = '' WHERE id IN (SELECT id FROM videos WHERE owner = $1 AND (name <> '' OR message <> '') LIMIT $2)`},
	{Name: "video_subtitles", Export: `SELECT s.video, s.language, s.label, s.content FROM video_subtitles s JOIN videos v ON v.id = s.video WHERE v.owner = $1 ORDER BY s.video, s.language`,
		Erase: `DELETE FROM video_subtitles WHERE (video, language) IN (SELECT s.video, s.language FROM video_subtitles s JOIN videos v ON v.id = s.video WHERE v.owner = $1 LIMIT $2)`},
	{Name: "video_viewers", Export: `SELECT video FROM video_viewers WHERE member = $1 ORDER BY video`,
		Erase: `DELETE FROM video_viewers WHERE (video, member) IN (SELECT video, member FROM video_viewers WHERE member = $1 LIMIT $2)`},
	{Name: "video_on_demand", Export: `SELECT video, track FROM video_on_demand WHERE wanted_by = $1 AND remaining > 0 ORDER BY video, track`,
		Erase: `UPDATE video_on_demand SET wanted_by = 0 WHERE (video, track) IN (SELECT video, track FROM video_on_demand WHERE wanted_by = $1 AND remaining > 0 LIMIT $2)`},
	{Name: "video_tracks"},
	{Name: "video_tasks"},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return userData{s, &userdata.Tables{Service: "videos", DB: s.deps.DB, List: userTables}}
}

type userData struct {
	service *Service
	*userdata.Tables
}

// erasedAtOnce is how many videos a step deletes. Each is a transaction.
const erasedAtOnce = 20

// EraseUser first deletes some videos, and when none is left rows.
func (d userData) EraseUser(ctx context.Context, u id.User, from string) (userdata.Step, error) {
	if from != "" {
		return d.Tables.EraseUser(ctx, u, from)
	}
	rows, err := d.service.deps.DB.Read().QueryContext(ctx, `SELECT id FROM videos WHERE owner = $1 AND state <> $2 ORDER BY id LIMIT $3`, int64(u), stateDeleted, erasedAtOnce)
	return userdata.EraseFirst(rows, err, func(n uint64) error { return d.service.DeleteVideo(ctx, u, n) })
}
