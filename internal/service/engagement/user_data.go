package engagement

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/counter"
	"github.com/rialto-im/rialto/internal/platform/userdata"
)

// userTables are the tables of the package, and of the sets that it has in package counter, with data of users. Members who were
// removed from a set are deleted from its rows after a while.
var userTables = []userdata.Table{
	{Name: "counter_members", Export: `SELECT CASE kind WHEN 1 THEN 'post_like' WHEN 2 THEN 'post_favourite' WHEN 3 THEN 'comment_like' ELSE 'other' END AS kind, subject, at_ms FROM counter_members WHERE kind IN (1, 2, 3) AND member = $1 AND present ORDER BY kind, subject`},
	{Name: "engagement_views", Export: `SELECT post, at_ms FROM engagement_views WHERE member = $1 ORDER BY at_ms`,
		Erase: `DELETE FROM engagement_views WHERE (member, post) IN (SELECT member, post FROM engagement_views WHERE member = $1 LIMIT $2)`},
}

// UserData is what an export and an erasure ask of this package.
func (s *Service) UserData() userdata.Participant {
	return userData{s, &userdata.Tables{Service: "engagement", DB: s.deps.DB, List: userTables}}
}

type userData struct {
	service *Service
	*userdata.Tables
}

// erasedAtOnce is how many likes a step takes back.
const erasedAtOnce = 500

// EraseUser first takes some likes and favourites back, so that the counts of their subjects are right, and when none is left deletes rows.
func (d userData) EraseUser(ctx context.Context, u id.User, from string) (userdata.Step, error) {
	if from != "" {
		return d.Tables.EraseUser(ctx, u, from)
	}
	for _, kind := range []counter.Kind{counter.PostLikes, counter.PostFavourites, counter.CommentLikes} {
		list, err := d.service.deps.Counters.Subjects(ctx, kind, u, counter.Position{}, erasedAtOnce)
		if err != nil {
			return userdata.Step{}, err
		}
		if len(list) == 0 {
			continue
		}
		changes := make([]counter.Change, len(list))
		for i, subject := range list {
			changes[i] = counter.Change{Kind: kind, Subject: subject.ID, User: u, Remove: true}
		}
		return userdata.Step{Erased: int64(len(list))}, d.service.deps.Counters.Apply(ctx, changes)
	}
	return userdata.Step{Next: userdata.FirstTable}, nil
}
