package coldtier

import (
	"context"
	"slices"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// filesFolder is the first part of the keys of segments.
const filesFolder = "cold"

// Folder is a reconciliation.FileOwner's.
func (t *Tier) Folder() string { return filesFolder }

// Unreferenced returns those of some files that the manifest does not name. It names each from before it is written until after it was deleted, and names are used once: a slow writer may have stored such a file
// after it was swept.
func (t *Tier) Unreferenced(ctx context.Context, keys []string) (list []string, err error) {
	for some := range slices.Chunk(keys, sweptAtOnce) {
		placeholders, args := sqldb.Placeholders(1, some, func(key string) string { return key })
		rows, err := t.deps.DB.Read().QueryContext(ctx, `SELECT file FROM cold_segments WHERE file IN (`+placeholders+`)`, args...)
		named, err := sqldb.Column[string](rows, err)
		if err != nil {
			return nil, err
		}
		for _, key := range some {
			if !slices.Contains(named, key) {
				list = append(list, key)
			}
		}
	}
	return list, nil
}
