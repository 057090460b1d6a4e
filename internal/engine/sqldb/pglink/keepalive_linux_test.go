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

	"github.com/rialto-im/rialto/internal/engine/sqldb/pglink"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
)

// If the network drops everything, both ends of the connections that watch the servers notice soon. By default a server would keep such a
// connection for two hours, and each partition would add one.
func TestWatchConnectionsEndWhenTheNetworkDropsPackets(t *testing.T) {
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
		if kept == 4 && len(others) == 0 { // both ends of a connection to each of two servers
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %d connection ends with keepalive probes within seconds, want 4; without: %v", kept, others)
		}
	}
}

// keptFor returns the number of connection ends on some ports whose keepalive timer is shorter than a duration, and lists the others.
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
