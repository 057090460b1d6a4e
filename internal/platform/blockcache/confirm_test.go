package blockcache

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestUnconfirmedGroupsGo after their time, also at the start; what was confirmed meanwhile stays, and the disk knows.
func TestUnconfirmedGroupsGo(t *testing.T) {
	dir := t.TempDir()
	reopen := func() *Cache {
		t.Helper()
		c, err := Open(Config{Dir: dir}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() }) // it cannot fail
		return c
	}
	check := func(what string, c *Cache, groups ...string) {
		t.Helper()
		for _, group := range groups {
			if _, ok := c.Size(group, "f"); !ok {
				t.Errorf("%s: %s has gone", what, group)
			}
		}
		n := 0
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				n++
			}
			return err
		})
		if blocks, _ := c.Usage(); err != nil || blocks != len(groups) || n != len(groups) {
			t.Errorf("%s: %d blocks, %d on disk, not %d, %v", what, blocks, n, len(groups), err)
		}
	}
	put := func(c *Cache, group string, at time.Time) {
		t.Helper()
		f := File{Group: group, Name: "f", Size: 10}
		c.Put(f, 0, bytes.Repeat([]byte("x"), 10))
		if err := os.Chtimes(c.join(blockID{file: f.id()}.path()), at, at); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	c := reopen()
	for _, group := range []string{"a", "b"} {
		put(c, group, now.Add(-23*time.Hour))
	}
	put(c, "old", now.Add(-25*time.Hour))
	check("in this process, which has just fetched them", c, "a", "b", "old")
	_ = c.Close() // it cannot fail
	c = reopen()
	check("after a start", c, "a", "b")
	c.Confirm("a")
	c.Confirm("unknown")
	c.sweep(now.Add(90 * time.Minute))
	check("later", c, "a")
	_ = c.Close() // it cannot fail
	c = reopen()
	c.sweep(now.Add(20 * time.Hour))
	check("the disk knows of the confirmation", c, "a")
	c.sweep(now.Add(30 * time.Hour))
	check("much later", c)
}
