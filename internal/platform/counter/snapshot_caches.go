package counter

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

const sizeCacheBytes = 8 << 20 // bytes

// openSnapshotCaches makes the copies of the sizes and views of an embedded database. Who is a member is read for each page: of most sets, a reader reads that once.
func (s *Service) openSnapshotCaches(ctx context.Context) (err error) {
	s.sizes, err = sqldb.NewSnapshotCache(ctx, s.deps.DB, sqldb.SnapshotCacheConfig[setKey, uint64]{Name: "counts", Tables: map[string][]string{"counter_counts": {"kind", "subject"}, "counter_views": {"kind", "subject"}},
		Key: func(k setKey) []int64 { return []int64{int64(k.kind), int64(k.subject)} }, MaxBytes: sizeCacheBytes})
	return err
}

// kinds returns those that are asked for.
func (a Asked) kinds() []Kind {
	return slices.DeleteFunc([]Kind{a.Sets[0], a.Sets[1], a.Views}, func(k Kind) bool { return k == 0 })
}

// cachedFigures is Figures of a snapshot of an embedded database.
func (r Reads) cachedFigures(ctx context.Context, u id.User, subjects []uint64, asked Asked) ([]Figures, error) {
	kinds := asked.kinds()
	keys := make([]setKey, 0, len(kinds)*len(subjects))
	for _, subject := range subjects {
		for _, k := range kinds {
			keys = append(keys, setKey{k, subject})
		}
	}
	sizes, err := r.sizes.Get(r.tx, keys, func(missing []setKey) (map[setKey]uint64, error) { return r.readSizes(ctx, missing, asked) })
	if err != nil {
		return nil, err
	}
	list, err := r.memberships(ctx, u, subjects, asked)
	for i, subject := range subjects {
		for set, k := range asked.Sets {
			list[i].Sizes[set] = sizes[setKey{k, subject}]
		}
		list[i].Views = sizes[setKey{asked.Views, subject}]
	}
	return list, err
}

// readSizes reads the sizes and views of the subjects of some keys.
func (r Reads) readSizes(ctx context.Context, keys []setKey, asked Asked) (map[setKey]uint64, error) {
	var subjects []uint64
	for _, k := range keys {
		if len(subjects) == 0 || subjects[len(subjects)-1] != k.subject {
			subjects = append(subjects, k.subject)
		}
	}
	list, err := r.readFigures(ctx, 0, subjects, asked)
	if err != nil {
		return nil, err
	}
	sizes := make(map[setKey]uint64, len(keys))
	for i, subject := range subjects {
		for set, k := range asked.Sets {
			sizes[setKey{k, subject}] = list[i].Sizes[set]
		}
		if asked.Views != 0 {
			sizes[setKey{asked.Views, subject}] = list[i].Views
		}
	}
	return sizes, nil
}

// memberships returns figures with whether a user (0: nobody) is a member of two sets of subjects.
func (r Reads) memberships(ctx context.Context, u id.User, subjects []uint64, asked Asked) ([]Figures, error) {
	list := make([]Figures, len(subjects))
	if u == 0 {
		return list, nil
	}
	rows, err := r.queryMemberships(ctx, u, subjects, asked)
	err = sqldb.EachRow(rows, err, func(row *sql.Rows) error {
		var k setKey
		if err := row.Scan(&k.kind, &k.subject); err != nil {
			return err
		}
		for i, subject := range subjects {
			if subject == k.subject {
				list[i].Member[slices.Index(asked.Sets[:], k.kind)] = true
			}
		}
		return nil
	})
	return list, err
}

// queryMemberships returns a row for each set that has a user as a member.
func (r Reads) queryMemberships(ctx context.Context, u id.User, subjects []uint64, asked Asked) (*sql.Rows, error) {
	of := func(subject uint64) int64 { return int64(subject) }
	if asked.Sets[1] == 0 {
		placeholders, args := sqldb.Placeholders(3, subjects, of)
		return r.tx.QueryContext(ctx, `SELECT kind, subject FROM counter_members WHERE kind = $1 AND member = $2 AND present AND subject IN (`+placeholders+`)`,
			append([]any{int64(asked.Sets[0]), int64(u)}, args...)...)
	}
	placeholders, args := sqldb.Placeholders(4, subjects, of)
	return r.tx.QueryContext(ctx, `SELECT kind, subject FROM counter_members WHERE kind = $1 AND member = $3 AND present AND subject IN (`+placeholders+`)
		UNION ALL SELECT kind, subject FROM counter_members WHERE kind = $2 AND member = $3 AND present AND subject IN (`+placeholders+`)`,
		append([]any{int64(asked.Sets[0]), int64(asked.Sets[1]), int64(u)}, args...)...)
}
