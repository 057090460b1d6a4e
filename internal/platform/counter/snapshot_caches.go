package counter

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

const (
	sizeCacheBytes   = 8 << 20 // bytes
	memberCacheBytes = 8 << 20
	memberBytes      = 8
	// smallSet is the largest size of sets whose members are kept. Most posts and comments have few likes, and one reading of them serves all readers. Of larger sets, whether a
	// reader is a member is read for each page.
	smallSet = 16
)

// openSnapshotCaches makes the copies of the sizes, of views and of small sets of an embedded database.
func (s *Service) openSnapshotCaches(ctx context.Context) (err error) {
	if s.members, err = sqldb.NewSnapshotCache(ctx, s.deps.DB, sqldb.SnapshotCacheConfig[setKey, []id.User]{Name: "small_sets", Tables: map[string][]string{"counter_members": {"kind", "subject"}},
		Key: func(k setKey) []int64 { return []int64{int64(k.kind), int64(k.subject)} }, Size: func(list []id.User) int { return memberBytes * len(list) }, MaxBytes: memberCacheBytes}); err != nil {
		return err
	}
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
	list, err := r.memberships(ctx, u, subjects, asked, sizes)
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

// memberships returns figures with whether a user (0: nobody) is a member of two sets of subjects, whose sizes are known.
func (r Reads) memberships(ctx context.Context, u id.User, subjects []uint64, asked Asked, sizes map[setKey]uint64) ([]Figures, error) {
	list := make([]Figures, len(subjects))
	if u == 0 {
		return list, nil
	}
	var small []setKey
	var others []uint64 // subjects with a larger set
	for _, subject := range subjects {
		isSmall := true
		for _, k := range asked.Sets {
			isSmall = isSmall && sizes[setKey{k, subject}] <= smallSet
		}
		if !isSmall {
			others = append(others, subject)
			continue
		}
		for _, k := range asked.Sets {
			if k != 0 {
				small = append(small, setKey{k, subject})
			}
		}
	}
	members := map[setKey]bool{} // sets that have the user as a member
	if err := r.addLargeSets(ctx, members, u, others, asked); err != nil {
		return nil, err
	}
	found, err := r.members.Get(r.tx, small, func(missing []setKey) (map[setKey][]id.User, error) { return r.readMembers(ctx, missing, asked) })
	if err != nil {
		return nil, err
	}
	for i, subject := range subjects {
		for set, k := range asked.Sets {
			key := setKey{k, subject}
			list[i].Member[set] = members[key] || slices.Contains(found[key], u)
		}
	}
	return list, nil
}

// readMembers reads the members of some sets.
func (r Reads) readMembers(ctx context.Context, keys []setKey, asked Asked) (map[setKey][]id.User, error) {
	var subjects []uint64
	for _, k := range keys {
		if len(subjects) == 0 || subjects[len(subjects)-1] != k.subject {
			subjects = append(subjects, k.subject)
		}
	}
	found := make(map[setKey][]id.User, len(keys))
	for _, k := range keys {
		found[k] = nil // also an empty set is known
	}
	placeholders, args := sqldb.Placeholders(3, subjects, func(subject uint64) int64 { return int64(subject) })
	rows, err := r.tx.QueryContext(ctx, `SELECT kind, subject, member FROM counter_members WHERE kind IN ($1, $2) AND present AND subject IN (`+placeholders+`)`,
		append([]any{int64(asked.Sets[0]), int64(asked.Sets[1])}, args...)...)
	err = sqldb.EachRow(rows, err, func(row *sql.Rows) error {
		var k setKey
		var u id.User
		err := row.Scan(&k.kind, &k.subject, &u)
		found[k] = append(found[k], u)
		return err
	})
	return found, err
}

// addLargeSets adds those sets of some subjects that have a user as a member.
func (r Reads) addLargeSets(ctx context.Context, members map[setKey]bool, u id.User, subjects []uint64, asked Asked) error {
	if len(subjects) == 0 {
		return nil
	}
	of := func(subject uint64) int64 { return int64(subject) }
	placeholders, args := sqldb.Placeholders(4, subjects, of)
	rows, err := r.tx.QueryContext(ctx, `SELECT kind, subject FROM counter_members WHERE kind = $1 AND member = $3 AND present AND subject IN (`+placeholders+`)
		UNION ALL SELECT kind, subject FROM counter_members WHERE kind = $2 AND member = $3 AND present AND subject IN (`+placeholders+`)`,
		append([]any{int64(asked.Sets[0]), int64(asked.Sets[1]), int64(u)}, args...)...)
	return sqldb.EachRow(rows, err, func(row *sql.Rows) error {
		var k setKey
		err := row.Scan(&k.kind, &k.subject)
		members[k] = true
		return err
	})
}
