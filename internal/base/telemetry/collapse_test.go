package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestWarningsOfOneCauseAreCollapsed: many partitions that wait for one database write one line. It is repeated with growing pauses and
// contains the number of omitted lines; other nodes, other errors and other levels have lines of their own.
func TestWarningsOfOneCauseAreCollapsed(t *testing.T) {
	var out strings.Builder
	h := collapse(slog.NewTextHandler(&out, nil)).WithAttrs([]slog.Attr{slog.String("from", "fanout")})
	start := time.Now()
	log := func(level slog.Level, after time.Duration, text string, attrs ...any) {
		r := slog.NewRecord(start.Add(after), level, text, 0)
		r.Add(attrs...)
		if err := h.Handle(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	for tenth := range 100 { // ten seconds of 64 partitions, each of which logs ten times a second
		for partition := range 64 {
			log(slog.LevelWarn, time.Duration(tenth)*100*time.Millisecond, "waits", "partition", partition, "error", fmt.Errorf("partition %d: refused", partition))
		}
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || strings.Contains(lines[0], "omitted") || !strings.Contains(lines[1], "omitted=639") { // after 0, 1, 3 and 7 s
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	out.Reset()
	log(slog.LevelWarn, time.Hour, "waits", "partition", 1, "error", errors.New("partition 1: refused"))
	log(slog.LevelWarn, time.Hour+time.Second, "waits", "partition", 1, "error", errors.New("partition 1: refused"))
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("after an hour of silence the pauses are as long as before: %d lines\n%s", n, out.String())
	}
	out.Reset()
	for _, node := range []string{"n1", "n2"} {
		for _, cause := range []string{"refused", "timeout"} {
			log(slog.LevelWarn, 2*time.Hour, "a node is silent", "node", node, "error", errors.New(cause))
		}
	}
	for i := range 3 {
		log(slog.LevelError, 2*time.Hour, "damaged", "seq", i)
		log(slog.LevelError, 2*time.Hour, "damaged", "seq", i)
		log(slog.LevelInfo, 2*time.Hour, "information")
	}
	if n := strings.Count(out.String(), "\n"); n != 10 {
		t.Errorf("%d lines:\n%s", n, out.String())
	}
	out.Reset()
	for i := range 10 * maxCauses {
		log(slog.LevelWarn, 3*time.Hour, "cause", "name", fmt.Sprint(i))
	}
	if n := len(h.(*collapser).seen.byKey); n > maxCauses || strings.Count(out.String(), "\n") != 10*maxCauses {
		t.Errorf("%d causes are remembered", n)
	}
}
