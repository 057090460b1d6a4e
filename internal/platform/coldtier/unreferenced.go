package coldtier

import (
	"context"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// filesFolder is the first part of the keys of segments.
const filesFolder = "cold"

// Folder is a reconciliation.FileOwner's.
func (t *Tier) Folder() string { return filesFolder }

// isFileName reports whether a key is one that fileName makes.
func isFileName(key string) bool {
	parts := strings.Split(key, "/")
	if len(parts) != 4 {
		return false
	}
	number, unique, _ := strings.Cut(parts[3], "-")
	conversation, err := strconv.ParseUint(parts[2], 16, 64)
	if err != nil {
		return false
	}
	first, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return false
	}
	random, err := hex.DecodeString(unique)
	return err == nil && len(random) == 8 && key == formatFileName(conversation, first, hex.EncodeToString(random))
}

// Unreferenced returns those of some files that are named like segments, but not in the manifest. The manifest names each segment from before it is written until after it was deleted, and names are used once: a slow writer may
// have stored such a file after it was swept.
func (t *Tier) Unreferenced(ctx context.Context, keys []string) (list []string, err error) {
	segments := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !isFileName(key) })
	for some := range slices.Chunk(segments, sweptAtOnce) {
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
