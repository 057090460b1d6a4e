package sqldb

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleReadersAreClosed: connections that read at once are closed after they had nothing to read for a while.
func TestIdleReadersAreClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records.db")
	synctest.Test(t, func(t *testing.T) {
		d, err := openSQLite(t.Context(), path, StoreOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = d.reader.Close(); _ = d.writer.Close(); _ = d.store.faults.stop() }()
		var release []func() error
		for range 4 {
			c, err := d.reader.Conn(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			release = append(release, c.Close)
		}
		for _, r := range release {
			if err := r(); err != nil {
				t.Fatal(err)
			}
		}
		if n := d.reader.Stats().Idle; n != 4 {
			t.Fatalf("%d connections are idle, not 4", n)
		}
		time.Sleep(2 * readerIdle)
		synctest.Wait()
		if n := d.reader.Stats().OpenConnections; n != 0 {
			t.Fatalf("%d connections are open, which nobody uses", n)
		}
	})
}
