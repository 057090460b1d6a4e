package pebblelog

import (
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// CheckTables reads all blocks of all tables, and passes each file that does not match its checksums to damaged. Reading all rows does not
// find all damage: rows that later ones replace are skipped, and filters serve look-ups only. It calls at with the part that is done.
func (l *Log) CheckTables(ctx context.Context, dir string, at func(done float64), damaged func(path string, err error)) error {
	levels, err := l.db.SSTables()
	if err != nil {
		return err
	}
	o := pebbleOptions(l.options, l.stall.yield)
	o.EnsureDefaults()
	reader := o.MakeReaderOptions()
	all := slices.Concat(levels...)
	for i, t := range all {
		at(float64(i) / float64(len(all)))
		if err := ctx.Err(); err != nil {
			return err
		}
		path := l.fs.PathJoin(dir, t.BackingSSTNum.String()+".sst")
		if err := checkTable(ctx, l.fs, path, reader); err != nil {
			damaged(path, err)
		}
	}
	return nil
}

func checkTable(ctx context.Context, fs vfs.FS, path string, o sstable.ReaderOptions) (err error) {
	f, err := fs.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(ctx, readable, o)
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return r.ValidateBlockChecksums()
}
