package flightrecorder_test

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/flightrecorder"
)

func all(r *flightrecorder.Recorder) (list []flightrecorder.Record) {
	r.Scan(func(c *flightrecorder.Record) { list = append(list, *c) })
	return list
}

func TestRecordsAreKept(t *testing.T) {
	r := flightrecorder.New(clock.System{}, flightrecorder.Config{})
	want := []flightrecorder.Record{
		{AtUs: 1_800_000_000_000_001, Kind: flightrecorder.Committed, Conversation: 1<<64 - 1, Seq: 2, User: 1<<64 - 1},
		{AtUs: 1_800_000_000_000_003, Kind: flightrecorder.Pushed, Conversation: 7, Seq: 8, User: 9, Device: 10},
		{AtUs: 1_800_000_000_000_002, Kind: flightrecorder.Read, Conversation: 7, Seq: 8, User: 9},
	}
	r.Add(want[1])
	r.Add(want[0])
	r.Add(want[2:]...)
	r.Add()
	if got := all(r); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var off *flightrecorder.Recorder
	off.Add(want...)
	if flightrecorder.New(clock.System{}, flightrecorder.Config{Off: true}) != nil || all(off) != nil {
		t.Error("a recorder that is off has records")
	}
}

// A full ring has the newest records, in order, and says since when it has all. Records of devices do not displace those of messages.
func TestTheOldestRecordsGiveWay(t *testing.T) {
	r := flightrecorder.New(clock.System{}, flightrecorder.Config{Memory: 1 << 20})
	began := r.Spans()
	r.Add(flightrecorder.Record{AtUs: 5, Kind: flightrecorder.Committed})
	n := r.Capacity()
	batch := make([]flightrecorder.Record, 0, 7)
	for i := range n + 3 {
		batch = append(batch, flightrecorder.Record{AtUs: int64(i), Kind: flightrecorder.Pushed, Seq: uint64(i)})
		if len(batch) == cap(batch) || i == n+2 {
			r.Add(batch...)
			batch = batch[:0]
		}
	}
	list := all(r)
	if len(list) != 1+n || list[0].AtUs != 5 {
		t.Fatalf("%d records are kept of %d and one, the first is %v", len(list), n, list[0])
	}
	for i, c := range list[1:] {
		if c.Seq != uint64(i+3) {
			t.Fatalf("record %d is %v", i, c)
		}
	}
	if s := r.Spans(); s.Messages != began.Messages || s.Devices != 3 {
		t.Errorf("the spans are %v, and were %v", s, began)
	}
}

func TestWritersAndReadersRunTogether(t *testing.T) {
	r := flightrecorder.New(clock.System{}, flightrecorder.Config{Memory: 1 << 20})
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for i := range 5000 {
				n := uint64(w<<32 | i)
				r.Add(flightrecorder.Record{AtUs: int64(i), Kind: flightrecorder.Committed, Conversation: n, Seq: n}, flightrecorder.Record{AtUs: int64(i), Kind: flightrecorder.Committed, Conversation: n, Seq: n})
			}
		})
	}
	wait.Go(func() {
		for range 20 {
			for _, c := range all(r) {
				if c.Conversation != c.Seq {
					t.Errorf("a record is torn: %v", c)
					return
				}
			}
		}
	})
	wait.Wait()
	if n := len(all(r)); n != r.Capacity() {
		t.Errorf("%d records are kept, want %d", n, r.Capacity())
	}
}

func TestMemoryIsBounded(t *testing.T) {
	for memory, ok := range map[int]bool{0: true, 1 << 20: true, 1<<20 - 1: false, -1: false, 16<<30 + 1: false} {
		if err := (flightrecorder.Config{Memory: memory}).Check(); (err == nil) != ok {
			t.Errorf("%d: error %v, want success %v", memory, err, ok)
		}
	}
	if n := flightrecorder.New(clock.System{}, flightrecorder.Config{}).Capacity() * 40 * 2; n > 32<<20 || n < 31<<20 {
		t.Errorf("the default keeps %d bytes", n)
	}
}

// BenchmarkMessage is the CPU time of the records of a message in a one-to-one conversation: one of the commit, two of posts to inboxes, and two of
// pushes to devices, which come in batches of several messages.
func BenchmarkMessage(b *testing.B) {
	for _, size := range []int{1, 4, 16, 128} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			r := flightrecorder.New(clock.System{}, flightrecorder.Config{})
			all := make([]flightrecorder.Record, r.Capacity())
			for _, k := range []flightrecorder.Kind{flightrecorder.Committed, flightrecorder.Pushed} { // the memory is there
				all[0].Kind = k
				r.Add(all...)
			}
			batch := make([]flightrecorder.Record, 0, 2*size)
			add := func(kind flightrecorder.Kind, n, count int) {
				at := r.NowUs()
				batch = batch[:0]
				for i := range count {
					batch = append(batch, flightrecorder.Record{AtUs: at, Kind: kind, Conversation: uint64(i), Seq: uint64(n)})
				}
				r.Add(batch...)
			}
			b.ReportAllocs()
			began := cpuTime(b)
			b.ResetTimer()
			for n := 0; n < b.N; n += size {
				add(flightrecorder.Committed, n, size)
				add(flightrecorder.Posted, n, 2*size)
				add(flightrecorder.Pushed, n, 2*size)
			}
			b.ReportMetric(float64(cpuTime(b)-began)/float64(b.N), "cpu-ns/message")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
