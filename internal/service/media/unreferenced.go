package media

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
)

// filesFolder is the first part of the keys of files.
const filesFolder = "media"

// rowsAtOnce is of how many uploads one query reads the rows.
const rowsAtOnce = 256

// FileOwner says which stored files belong to no upload.
func (s *Service) FileOwner() reconciliation.FileOwner { return fileOwner{s} }

type fileOwner struct{ *Service }

// Folder is a reconciliation.FileOwner's.
func (fileOwner) Folder() string { return filesFolder }

// storedFile is what the key of a file says.
type storedFile struct {
	key     string
	upload  id.Upload
	attempt int64 // 0: the tail of a part
}

// parseKey reads the key of an attempt at an upload, or of a tail.
func parseKey(key string) (f storedFile, ok bool) {
	name := key[strings.LastIndexByte(key, '/')+1:]
	number, suffix, hasSuffix := strings.Cut(name, "-")
	n, err := strconv.ParseUint(number, 10, 63)
	if err != nil {
		return f, false
	}
	f = storedFile{key: key, upload: id.Upload(n), attempt: 1}
	tail, isTail := strings.CutPrefix(suffix, "t")
	if !hasSuffix {
		return f, key == blobKey(f.upload, 1)
	}
	k, err := strconv.ParseInt(tail, 10, 64)
	if err != nil {
		return f, false
	}
	if isTail {
		f.attempt = 0
		return f, key == tailKey(f.upload, k)
	}
	f.attempt = k
	return f, key == blobKey(f.upload, k)
}

// Unreferenced is a reconciliation.FileOwner's. The row of an upload is there from before its first byte until all its files are deleted, and ids are used once. So a file without a row is needed by
// nobody, and neither is a file of a complete upload that is not the stored one: such an upload gets no other bytes. While an upload is not complete, or is being dropped, all its files are left alone.
func (s fileOwner) Unreferenced(ctx context.Context, keys []string) (list []string, err error) {
	files := make([]storedFile, 0, len(keys))
	for _, key := range keys {
		if f, ok := parseKey(key); ok {
			files = append(files, f)
		}
	}
	for some := range slices.Chunk(files, rowsAtOnce) {
		rows := make(map[id.Upload]upload, len(some))
		placeholders, args := sqldb.Placeholders(1, some, func(f storedFile) int64 { return int64(f.upload) })
		found, err := s.deps.DB.Read().QueryContext(ctx, `SELECT id, stored, complete FROM uploads WHERE id IN (`+placeholders+`)`, args...)
		err = sqldb.EachRow(found, err, func(r *sql.Rows) error {
			var n id.Upload
			var u upload
			err := r.Scan(&n, &u.stored, &u.complete)
			rows[n] = u
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, f := range some {
			if u, ok := rows[f.upload]; !ok || u.complete > 0 && u.stored != f.attempt {
				list = append(list, f.key)
			}
		}
	}
	return list, nil
}
