//go:build cluster

package cassandralog

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog/cassandratest"
	"github.com/rialto-im/rialto/internal/engine/timeline/timelinetest"
)

// cluster is shared by all tests of the package; each test uses its own stores.
var (
	cluster *cassandratest.Cluster
	stores  atomic.Int32
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// nodes of the cluster; CASSANDRA_NODES overrides the number.
func nodes() int {
	if n, err := strconv.Atoi(os.Getenv("CASSANDRA_NODES")); err == nil {
		return n
	}
	return 3
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var err error
	if cluster, err = cassandratest.Start(ctx, cassandratest.Config{Nodes: nodes(), Say: os.Stdout}); err != nil {
		fmt.Println(err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		fmt.Println(cluster.Logs())
	}
	if err := cluster.Stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

// options returns the options of a log on the cluster; store 0 is a new one.
func options(store int32) Options {
	if store == 0 {
		store = stores.Add(1)
	}
	o := Options{Hosts: cluster.Hosts, Port: cluster.Port, Keyspace: "timelines", Replicas: len(cluster.Hosts), Store: store, VoidAfter: 300 * time.Millisecond, Timeout: time.Minute}
	if os.Getenv("CASSANDRA_LOG") != "" {
		o.Logger = slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return o
}

func open(t testing.TB, o Options) *Log {
	t.Helper()
	l, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestSuite(t *testing.T) {
	timelinetest.Run(t, func(t testing.TB, listener timeline.Listener) timeline.Log {
		o := options(0)
		o.Listener = listener
		return open(t, o)
	})
}

// TestSuiteOnSmallSegments seals a segment after a few entries.
func TestSuiteOnSmallSegments(t *testing.T) {
	timelinetest.Run(t, func(t testing.TB, listener timeline.Listener) timeline.Log {
		o := options(0)
		o.Listener, o.SegmentEntries, o.SegmentBytes = listener, 3, 100
		return open(t, o)
	})
}
