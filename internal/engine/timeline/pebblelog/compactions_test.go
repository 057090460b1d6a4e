package pebblelog

import (
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A start that waits for a compaction takes seconds after heavy load.
func TestNoCompactionBeginsWhileOpening(t *testing.T) {
	o := Options{FS: vfs.NewMem(), Logger: slog.New(slog.DiscardHandler)}
	p := pebbleOptions(o, func(int) { runtime.Gosched() })
	p.DisableAutomaticCompactions = true
	db, err := pebble.Open("log", p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * p.L0CompactionThreshold { // files that lie over one another
		for _, key := range []string{"a", fmt.Sprint("b", i), "c"} {
			if err := db.Set([]byte(key), []byte("value"), pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	p = pebbleOptions(o, func(int) { runtime.Gosched() })
	var begun atomic.Int32
	ended := make(chan struct{}, 100)
	p.EventListener = &pebble.EventListener{
		CompactionBegin: func(pebble.CompactionInfo) { begun.Add(1) },
		CompactionEnd:   func(pebble.CompactionInfo) { ended <- struct{}{} },
	}
	c := newCompactions()
	p.Experimental.CompactionScheduler = c
	if db, err = pebble.Open("log", p); err != nil {
		t.Fatal(err)
	}
	if n := begun.Load(); n != 0 {
		t.Errorf("%d compactions began while the store was opened", n)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		c.run(stop)
	}()
	<-ended // what waited is run
	close(stop)
	<-stopped
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if c.running != 0 {
		t.Errorf("%d compactions are still counted as running", c.running)
	}
}
