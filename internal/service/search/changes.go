package search

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rialto-im/rialto/internal/base/wakeup"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/cluster"
)

// A change of a user, a post or a video is noted by a row in its transaction. Each node reads all rows, in the order of their numbers, and brings its index up to
// date with the rows of users and posts as they are then. PostgreSQL numbers rows when they are written, not when they are committed: a number that is
// missing is looked for again, until no transaction that could have it is open any more. The checkpoint stays below it, so a node that starts again
// reads from there. If too many are missing at once, all users and posts are read again once those transactions have ended. (Package clusterevent follows its
// rows likewise, but deletes them by what it has read, and reports a loss instead of reading again.)

// Subject is what a change is about.
type Subject int64

// Subjects of changes.
const (
	ChangedUser  Subject = 1
	ChangedPost  Subject = 2
	ChangedVideo Subject = 3 // its subtitles, or whether posts show it
	// ErasedAuthor is a user whose messages were erased.
	ErasedAuthor Subject = 4
	// ChangedConversation is a conversation whose messages are all indexed again.
	ChangedConversation Subject = 5
)

var migrations = []string{
	`CREATE TABLE search_changes (n {number}, kind BIGINT NOT NULL, subject BIGINT NOT NULL, time_ms BIGINT NOT NULL)`,
	// Through is the highest number of a change that was deleted.
	`CREATE TABLE search_trims (one BIGINT PRIMARY KEY, through BIGINT NOT NULL)`,
	`INSERT INTO search_trims (one, through) VALUES (1, 0)`,
	// Place is where the shared index is; empty: there was none. Rebuild is 1 if it is to be built again.
	`CREATE TABLE search_shared (one BIGINT PRIMARY KEY, place TEXT NOT NULL, rebuild BIGINT NOT NULL)`,
	`INSERT INTO search_shared (one, place, rebuild) VALUES (1, '', 0)`,
}

const (
	pollInterval = time.Second
	trimInterval = 10 * time.Minute
	// retention of a change: an index of a node that was away for longer is built again from the rows.
	retention = 7 * 24 * time.Hour
	trimBatch = 1000
	// maxTransactionAge is longer than a transaction is open.
	maxTransactionAge = 3 * time.Minute
	maxGaps           = 10_000
	// initialGap is how many numbers before the newest are read again when all rows are read: they may be of transactions that are open then.
	initialGap   = 64
	gapsPerQuery = 200
)

// Changed notes a change, in its transaction. Call Wake after the commit, or the index follows within a second.
func (s *Service) Changed(ctx context.Context, tx *sql.Tx, kind Subject, subject uint64) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO search_changes (kind, subject, time_ms) VALUES ($1, $2, $3)`, int64(kind), int64(subject), s.nowMs())
	return err
}

// Wake makes this node read changes at once.
func (s *Service) Wake() { wakeup.Signal(s.changes) }

// runTrim deletes old changes until ctx ends.
func (s *Service) runTrim(ctx context.Context) {
	work := cluster.Periodic{IsCoordinator: s.deps.IsCoordinator, Interval: trimInterval, Round: s.trim, Failed: "old changes could not be deleted from search_changes; the next round tries again", Logger: s.deps.Logger}
	work.Run(ctx)
}

func (s *Service) trim(ctx context.Context) error {
	before := s.deps.Clock.Now().Add(-retention).UnixMilli()
	return s.deps.DB.WriteInBatches(ctx, trimBatch, func(tx *sql.Tx) (int64, error) {
		var last sql.NullInt64
		var rows int64
		// Numbers rise with time, but for transactions that were open at once.
		err := tx.QueryRowContext(ctx, `SELECT max(n), count(*) FROM (SELECT n, time_ms FROM search_changes ORDER BY n LIMIT $1) AS oldest WHERE time_ms < $2`, trimBatch, before).Scan(&last, &rows)
		if err != nil || rows == 0 {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM search_changes WHERE n <= $1`, last.Int64); err != nil {
			return 0, err
		}
		_, err = tx.ExecContext(ctx, `UPDATE search_trims SET through = $1 WHERE one = 1 AND through < $1`, last.Int64)
		return rows, err
	})
}

// reader reads changes for one index.
type reader struct {
	high uint64               // the highest number that was read
	gaps map[uint64]time.Time // missing numbers below high, and since when
	// lost is the first missing number that gaps had no room for, 0 if there is none, and lostAt when the last such number was found.
	lost   uint64
	lostAt time.Time
}

// change is a row.
type change struct {
	kind    Subject
	subject uint64
}

// checkpoint returns the highest number below which none is missing.
func (r *reader) checkpoint() uint64 {
	low := r.high
	if r.lost != 0 {
		low = r.lost - 1
	}
	for n := range r.gaps {
		low = min(low, n-1)
	}
	return low
}

// newest returns the highest number of a change, and of one that was deleted.
func (s *Service) newest(ctx context.Context) (high, trimmed uint64, err error) {
	err = s.deps.DB.Read().QueryRowContext(ctx, `SELECT coalesce((SELECT max(n) FROM search_changes), 0), through FROM search_trims WHERE one = 1`).Scan(&high, &trimmed)
	return max(high, trimmed), trimmed, err
}

// read returns changes that were not read yet, at most limit of new ones, and whether there are more.
func (r *reader) read(ctx context.Context, db *sqldb.DB, size sizes) (list []change, more bool, err error) {
	now := time.Now()
	if list, err = r.readGaps(ctx, db); err != nil {
		return nil, false, err
	}
	rows, err := db.Read().QueryContext(ctx, `SELECT n, kind, subject FROM search_changes WHERE n > $1 ORDER BY n LIMIT $2`, int64(r.high), size.rows)
	found := 0
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var n uint64
		var c change
		if err := rows.Scan(&n, &c.kind, &c.subject); err != nil {
			return err
		}
		for missing := r.high + 1; missing < n; missing++ {
			if len(r.gaps) >= size.gaps {
				r.lost, r.lostAt = cmp.Or(r.lost, missing), now
				break
			}
			r.gaps[missing] = now
		}
		r.high, list, found = n, append(list, c), found+1
		return nil
	})
	maps.DeleteFunc(r.gaps, func(_ uint64, since time.Time) bool { return now.Sub(since) > size.transaction })
	return list, found == size.rows, err
}

// isLost reports whether numbers were lost of which no transaction is open any more, so that reading all rows finds what they were about.
func (r *reader) isLost(age time.Duration) bool { return r.lost != 0 && time.Since(r.lostAt) > age }

// readGaps looks for the numbers that were missing.
func (r *reader) readGaps(ctx context.Context, db *sqldb.DB) (list []change, err error) {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(r.gaps)), gapsPerQuery) {
		marks, args := sqldb.Placeholders(1, some, func(n uint64) int64 { return int64(n) })
		rows, err := db.Read().QueryContext(ctx, `SELECT n, kind, subject FROM search_changes WHERE n IN (`+marks+`)`, args...)
		err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
			var n uint64
			var c change
			err := rows.Scan(&n, &c.kind, &c.subject)
			delete(r.gaps, n)
			list = append(list, c)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Checkpoints of an index, beside those of conversations.
const (
	changesPoint  = "changes"  // the number of the last change, plus 1; 0: none was read
	usersPoint    = "users"    // the last user of the first pass; finished: all were
	postsPoint    = "posts"    // likewise
	completePoint = "complete" // 1: the index has had everything
	// dictionaryPoint is Dictionary.Sum of the dictionary by which the index was built.
	dictionaryPoint = "dictionary"
	finished        = math.MaxUint64
)

// startRows reads how far an index is with users and posts: at the start, and after an error.
func (x *indexer) startRows(ctx context.Context) error {
	at, err := x.index.Checkpoints(ctx, []string{changesPoint, usersPoint, postsPoint})
	if err != nil {
		return err
	}
	high, trimmed, err := x.service.newest(ctx)
	if err != nil {
		return err
	}
	x.users, x.posts = at[1], at[2]
	x.reader = reader{high: at[0] - 1, gaps: map[uint64]time.Time{}}
	if at[0] == 0 || at[0]-1 < trimmed || at[0]-1 > high { // changes are missing: all rows are read again
		if at[0] != 0 {
			x.service.deps.Logger.Info("the search index has missed changes of users and posts; it reads all again", "read_through", at[0]-1, "deleted_through", trimmed, "newest", high)
		}
		x.users, x.posts, x.reader.high = 0, 0, high-min(high, initialGap)
		x.generation.complete.Store(false)
		if err := x.index.Apply(ctx, &searchindex.Batch{Checkpoints: map[string]uint64{changesPoint: x.reader.high + 1, usersPoint: 0, postsPoint: 0, completePoint: 0}}); err != nil {
			return err
		}
	}
	x.started, x.nextPoll = true, time.Time{}
	return nil
}
