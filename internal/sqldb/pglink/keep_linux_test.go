package pglink_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/sqldb/pglink"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// TestWhoWatchesIsMissed: where the network drops all, both ends of the connections that watch the servers find out soon. By itself a
// server keeps them for two hours, and a partition more on each that ends.
func TestWhoWatchesIsMissed(t *testing.T) {
	p := sqltest.PairOf(t, sqltest.PairOptions{Listen: "127.0.0.1"})
	config := parse(t, p.URL)
	f := pglink.New(config)
	watching, stop := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		f.Watch(watching, config, time.Hour, slog.New(slog.DiscardHandler))
	}()
	defer func() { stop(); <-watched }()
	ports := []uint16{config.Port, config.Fallbacks[len(config.Fallbacks)-1].Port}
	for end := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		kept, others := keptFor(t, ports, 11*time.Second)
		if kept == 4 && len(others) == 0 { // both ends of a connection to each of two
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d ends of connections ask within seconds whether the other is there; these do not: %v", kept, others)
		}
	}
}

// keptFor gives how many ends of open connections to some ports the kernel asks after within a time whether the other end is there,
// and the others.
func keptFor(t *testing.T, ports []uint16, within time.Duration) (kept int, others []string) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	must(t, err)
	for _, line := range strings.Split(string(table), "\n") {
		w := strings.Fields(line) // number, local, remote, state, queues, timer:when, …
		if len(w) < 6 || w[3] != "01" {
			continue
		}
		for _, port := range ports {
			if at := fmt.Sprintf(":%04X", port); strings.HasSuffix(w[1], at) || strings.HasSuffix(w[2], at) {
				timer, when, _ := strings.Cut(w[5], ":")
				hundredths, err := strconv.ParseInt(when, 16, 64)
				must(t, err)
				if timer == "02" && time.Duration(hundredths)*10*time.Millisecond <= within {
					kept++
				} else {
					others = append(others, line)
				}
			}
		}
	}
	return kept, others
}
