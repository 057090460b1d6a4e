package apptest_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/rialto-im/rialto/internal/app/apptest"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/tool/bench"
)

// The bench loads a cluster of two nodes, with pairs and devices on different ones: everything arrives, once and in order, and the result
// has each node's share.
func TestBenchOverTwoNodes(t *testing.T) {
	place := sqltest.Schema(t, sqltest.Postgres(t))
	node := func(name string) *apptest.Server {
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
			t.Fatalf("bench %v: got exit code %d, %v\n%s\n%s", load, code, err, out.String(), errOut.String())
		}
		a, b := r.Nodes[0], r.Nodes[1]
		if a.URL != one.URL || b.URL != two.URL || a.Connections != b.Connections || a.Connections+b.Connections != r.Connections {
			t.Errorf("bench %v: the connections are not divided among the nodes: %s", load, out.String())
		}
		if a.Acked == 0 || b.Acked == 0 || a.Acked+b.Acked != r.Acked || a.Delivered == 0 || b.Delivered == 0 || a.Delivered+b.Delivered != r.Delivered {
			t.Errorf("bench %v: the nodes' counts do not add up: %s", load, out.String())
		}
	}
}
