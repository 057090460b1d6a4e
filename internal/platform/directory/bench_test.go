package directory_test

import (
	"log/slog"
	"runtime"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/directory"
)

// BenchmarkMemory measures the bytes per user who is online.
func BenchmarkMemory(b *testing.B) {
	const users = 100_000
	for b.Loop() {
		s := directory.New(directory.Deps{Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, directory.Config{})
		before := heap()
		for u := range id.User(users) {
			s.Connected(id.Caller{User: u + 1, Session: id.Session(u) + 1})
		}
		b.ReportMetric(float64(heap()-before)/users, "B/user")
		runtime.KeepAlive(s)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkConnect measures connecting, locating and disconnecting on a single node.
func BenchmarkConnect(b *testing.B) {
	s := directory.New(directory.Deps{Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, directory.Config{})
	b.ReportAllocs()
	n := id.User(0)
	for b.Loop() {
		n = n%10_000 + 1
		c := id.Caller{User: n, Session: id.Session(n)}
		s.Connected(c)
		s.Active(c)
		if len(s.Locate(n)) != 1 {
			b.Fatal("not located")
		}
		s.Disconnected(c, false)
	}
}
