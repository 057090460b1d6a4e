package pebblelog

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A flush and a compaction yield once in 128 rows, and write the configured policy's filter.
func TestTablesAreWrittenInSmallSteps(t *testing.T) {
	yields := make(chan struct{}, 1<<16)
	o := pebbleOptions(Options{FS: vfs.NewMem(), Logger: quietLog(), Fatal: func(text string) { panic(text) }}, func(int) {})
	for i := range o.Levels {
		f, ok := o.Levels[i].FilterPolicy.(yieldingFilter)
		if !ok {
			t.Fatalf("level %d has the filter %T", i, o.Levels[i].FilterPolicy)
		}
		f.yield = func() { yields <- struct{}{} }
		o.Levels[i].FilterPolicy = f
	}
	o.DisableAutomaticCompactions = true
	db, err := pebble.Open("log", o)
	if err != nil {
		t.Fatal(err)
	}
	key := func(n uint64) []byte { return binary.BigEndian.AppendUint64([]byte{rowEntry}, n) }
	const rows = 40 * yieldRows
	yielded := func(what string) {
		if n := len(yields); n != rows/yieldRows {
			t.Errorf("%s of %d rows yielded %d times, want %d", what, rows, n, rows/yieldRows)
		}
		for len(yields) > 0 {
			<-yields
		}
	}
	for range 2 {
		for n := range uint64(rows) {
			if err := db.Set(key(n), key(n), pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Flush(); err != nil {
			t.Fatal(err)
		}
		yielded("a flush")
	}
	if err := db.Compact(t.Context(), key(0), key(rows), false); err != nil {
		t.Fatal(err)
	}
	yielded("a compaction")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	plain, ours := bloom.FilterPolicy(10), yieldingFilter{bloom.FilterPolicy(10), func() {}}
	a, b := plain.NewWriter(pebble.TableFilter), ours.NewWriter(pebble.TableFilter)
	for n := range uint64(rows) {
		a.AddKey(key(n))
		b.AddKey(key(n))
	}
	if plain.Name() != ours.Name() || !bytes.Equal(a.Finish(nil), b.Finish(nil)) {
		t.Error("the filter differs from that of its policy")
	}
}

// While all appends wait for a flush, it has more threads, and does not yield.
func TestAStallEndsWithoutYields(t *testing.T) {
	yielding, goOn, stalled := make(chan struct{}, 1), make(chan struct{}), make(chan struct{}, 1)
	yields, late := 0, 0
	var s stall
	s.yieldTo = func() { // of one flush at a time
		if yields++; s.begun.Load() {
			late++
		}
		select {
		case yielding <- struct{}{}:
		default:
		}
		<-goOn
	}
	s.moreThreads = func() {
		select {
		case stalled <- struct{}{}:
		default:
		}
	}
	o := pebbleOptions(Options{FS: vfs.NewMem(), Logger: quietLog(), Fatal: func(text string) { panic(text) }}, s.yield)
	o.MemTableSize, o.MemTableStopWritesThreshold, o.DisableAutomaticCompactions = 256<<10, 2, true
	o.EventListener = &pebble.EventListener{}
	s.listen(o.EventListener, o.MemTableSize)
	db, err := pebble.Open("log", o)
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() {
		for n := range uint64(20_000) {
			if err := db.Set(binary.BigEndian.AppendUint64([]byte{rowEntry}, n), make([]byte, 100), pebble.NoSync); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	<-yielding // the first flush waits
	<-stalled  // so appends do
	close(goOn)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if yields == 0 || late > 0 {
		t.Errorf("flushes yielded %d times, %d of them in a stall", yields, late)
	}
	if s.begun.Load() {
		t.Error("the stall has not ended")
	}
}

// A flush does not yield any more once a second memtable has become full before its end, so that appends need not wait for it. Compactions do, and the next flush.
func TestAFlushThatIsBehindDoesNotYield(t *testing.T) {
	var yields, memtables atomic.Int64
	yielding, goOn, flushed := make(chan struct{}), make(chan struct{}), make(chan int64, 10)
	var s stall
	s.yieldTo = func() {
		if yields.Add(1) == 1 {
			close(yielding)
			<-goOn
		}
	}
	o := pebbleOptions(Options{FS: vfs.NewMem(), Logger: quietLog(), Fatal: func(text string) { panic(text) }}, s.yield)
	o.MemTableSize, o.MemTableStopWritesThreshold, o.DisableAutomaticCompactions = 256<<10, 4, true
	o.EventListener = &pebble.EventListener{}
	s.listen(o.EventListener, o.MemTableSize)
	created, ended := o.EventListener.WALCreated, o.EventListener.FlushEnd
	o.EventListener.WALCreated = func(i pebble.WALCreateInfo) {
		created(i)
		memtables.Add(1)
	}
	o.EventListener.FlushEnd = func(i pebble.FlushInfo) {
		ended(i)
		flushed <- yields.Load()
	}
	db, err := pebble.Open("log", o)
	if err != nil {
		t.Fatal(err)
	}
	fillMemtable := func() {
		t.Helper()
		for n, before := uint64(0), memtables.Load(); memtables.Load() == before; n++ {
			if err := db.Set(binary.BigEndian.AppendUint64([]byte{rowEntry}, n), make([]byte, 100), pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
	}
	fillMemtable()
	<-yielding // the first flush waits
	fillMemtable()
	s.yield(1)
	if n := yields.Load(); n != 2 {
		t.Errorf("a compaction yielded %d times, want 1", n-1)
	}
	close(goOn)
	first := <-flushed
	if first != 2 {
		t.Errorf("a flush that was behind yielded %d times", first-2)
	}
	if last := <-flushed; last == first {
		t.Error("the next flush does not yield")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// The first memtables of a store are small, and one flush writes several. It yields like any other.
func TestTheFirstFlushYields(t *testing.T) {
	var yields atomic.Int64
	flushed := make(chan pebble.FlushInfo, 10)
	var s stall
	s.yieldTo = func() { yields.Add(1) }
	o := pebbleOptions(Options{FS: vfs.NewMem(), Logger: quietLog(), Fatal: func(text string) { panic(text) }}, s.yield)
	o.MemTableSize, o.DisableAutomaticCompactions = 4<<20, true
	o.EventListener = &pebble.EventListener{}
	s.listen(o.EventListener, o.MemTableSize)
	ended := o.EventListener.FlushEnd
	o.EventListener.FlushEnd = func(i pebble.FlushInfo) {
		ended(i)
		flushed <- i
	}
	db, err := pebble.Open("log", o)
	if err != nil {
		t.Fatal(err)
	}
	for n := uint64(0); len(flushed) == 0 && n < 100_000; n++ {
		if err := db.Set(binary.BigEndian.AppendUint64([]byte{rowEntry}, n), make([]byte, 100), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	first := <-flushed
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if first.Input < 2 || yields.Load() == 0 {
		t.Errorf("the first flush, of %d memtables, yielded %d times", first.Input, yields.Load())
	}
}
