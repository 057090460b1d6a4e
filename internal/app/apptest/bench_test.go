package apptest_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/bench"
	"github.com/rialto-im/rialto/internal/config"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// TestBenchOverTwoNodes loads a cluster of two, whose pairs and devices sit on different nodes: all arrives, once and in order, and
// each node is said to have its share.
func TestBenchOverTwoNodes(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	node := func(name string) *apptest.House {
		return apptest.Open(t, func(c *config.Config) { c.Postgres, c.Node = place, name })
	}
	one, two := node("one"), node("two")
	for _, load := range [][]string{{"--pairs", "4"}, {"--pairs", "1", "--groups", "2", "--group-size", "6", "--devices", "2", "--window", "2"}} {
		var out, errOut bytes.Buffer
		args := append([]string{"chat", "--json", "--duration", "2s", "--drain", "3m", "--url", one.URL + "," + two.URL}, load...)
		code := bench.Main(args, &out, &errOut)
		var r struct {
			Acked, Delivered uint64
			Connections      int
			Nodes            []struct {
				URL              string
				Connections      int
				Acked, Delivered uint64
			}
		}
		if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil || len(r.Nodes) != 2 {
			t.Fatalf("%v: %d, %v\n%s\n%s", load, code, err, out.String(), errOut.String())
		}
		a, b := r.Nodes[0], r.Nodes[1]
		if a.URL != one.URL || b.URL != two.URL || a.Connections != b.Connections || a.Connections+b.Connections != r.Connections {
			t.Errorf("%v: the connections are not shared: %s", load, out.String())
		}
		if a.Acked == 0 || b.Acked == 0 || a.Acked+b.Acked != r.Acked || a.Delivered == 0 || b.Delivered == 0 || a.Delivered+b.Delivered != r.Delivered {
			t.Errorf("%v: the counts of the nodes are not those of all: %s", load, out.String())
		}
	}
}
