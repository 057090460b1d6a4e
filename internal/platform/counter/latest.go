package counter

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// MaxLatestUsers bounds the users of LatestOf.
const MaxLatestUsers = 64

// latestPerUser is how many subjects of each user LatestOf returns.
const latestPerUser = 5

// latestQuery has a part for each of MaxLatestUsers users. Each part reads a few entries of an index.
var latestQuery = func() string {
	parts := make([]string, MaxLatestUsers)
	for i := range parts {
		parts[i] = `SELECT subject, member FROM (SELECT subject, member FROM counter_members WHERE kind = $1 AND member = $` + strconv.Itoa(i+2) +
			` AND present ORDER BY at_ms DESC, subject DESC LIMIT ` + strconv.Itoa(latestPerUser) + `) AS u` + strconv.Itoa(i)
	}
	return strings.Join(parts, " UNION ALL ")
}()

// LatestOf returns the latest subjects of some users: for each user, the latestPerUser subjects whose sets the user joined last. It counts of how many of the users each
// subject is. It takes at most MaxLatestUsers users.
func (r Reads) LatestOf(ctx context.Context, k Kind, users []id.User) (map[uint64]int, error) {
	if len(users) > MaxLatestUsers {
		return nil, fmt.Errorf("counter: %d users at once; at most %d", len(users), MaxLatestUsers)
	}
	found := map[uint64]int{}
	if len(users) == 0 {
		return found, nil
	}
	args := append(make([]any, 0, MaxLatestUsers+1), int64(k))
	for _, u := range users {
		args = append(args, int64(u))
	}
	for len(args) <= MaxLatestUsers {
		args = append(args, int64(0)) // nobody
	}
	rows, err := r.from(ctx).QueryContext(ctx, latestQuery, args...)
	err = sqldb.EachRow(rows, err, func(row *sql.Rows) error {
		var subject uint64
		var u id.User
		err := row.Scan(&subject, &u)
		found[subject]++
		return err
	})
	return found, err
}
