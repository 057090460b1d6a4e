package pebblelog

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A few entries are deleted one by one, and more by a range, which each new iterator reads.
func TestAFewEntriesAreDeletedOneByOne(t *testing.T) {
	l, err := Open("log", Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was stored
	for _, c := range []struct {
		to   uint64
		want uint32
		kind pebble.InternalKeyKind
	}{{4, 1, pebble.InternalKeyKindDelete}, {3 + fewEntries, fewEntries, pebble.InternalKeyKindDelete}, {4 + fewEntries, 1, pebble.InternalKeyKindRangeDelete}} {
		b := l.db.NewBatch()
		if err := deleteEntries(b, feedKey(0), 3, c.to); err != nil {
			t.Fatal(err)
		}
		r := b.Reader()
		if kind, _, _, ok, err := r.Next(); err != nil || !ok || kind != c.kind || b.Count() != c.want {
			t.Errorf("entries from 3 to %d: %d deletions of kind %v, %v, want %d of %v", c.to, b.Count(), kind, err, c.want, c.kind)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
