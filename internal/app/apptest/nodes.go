package apptest

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// Nodes is the environment variable with the number of nodes of a server; if it is unset, one. Several nodes share the run's PostgreSQL,
// and the files.
const Nodes = "TEST_NODES"

// nodes returns the number of nodes.
func nodes(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv(Nodes))
	if os.Getenv(Nodes) == "" {
		return 1
	}
	if err != nil || n < 1 || n > 1 && !sqltest.OnPostgres() {
		t.Fatalf("%s=%s: give a number, and for more than one run it on PostgreSQL", Nodes, os.Getenv(Nodes))
	}
	return n
}

// join starts another node with the data of the first.
func (h *Server) join(t *testing.T, now clock.Clock, first *config.Config, i int) {
	t.Helper()
	c := *first
	c.Data, c.Node = fmt.Sprint(first.Data, "-", i), ""
	// The files are on a disk that all nodes share.
	files := filepath.Join(c.Data, "blobs")
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(first.Data, "blobs"), files); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	n, err := app.OpenAt(t.Context(), &c, logTo(t), now)
	if err != nil {
		t.Fatal(err)
	}
	h.Others = append(h.Others, n)
}

// settle waits until the nodes have divided the partitions, so that none moves during a test.
func (h *Server) settle(t *testing.T) {
	t.Helper()
	all := append([]*app.Node{h.Node}, h.Others...)
	share := (timeline.Partitions + len(all) - 1) / len(all)
	for end := time.Now().Add(time.Minute); ; {
		settled := true
		for _, n := range all {
			f := figures(t, n, "nodes", "bus_peers", "partitions_held", "partitions")
			settled = settled && f[0] >= len(all) && f[1] >= len(all)-1 && f[2] == timeline.Partitions && f[3] <= share
		}
		if settled {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the nodes have not divided the partitions within a minute")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// figures returns metrics of a node.
func figures(t *testing.T, n *app.Node, names ...string) []int {
	t.Helper()
	r, err := uncompressed.Get("http://" + n.AdminAddress().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	list, found := make([]int, len(names)), 0
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		i := slices.Index(names, strings.TrimPrefix(name, "rialto_"))
		if i < 0 {
			continue
		}
		if list[i], err = strconv.Atoi(value); err != nil {
			t.Fatal(err)
		}
		found++
	}
	if found != len(names) {
		t.Fatalf("%d of the metrics %q: %v", found, names, lines.Err())
	}
	return list
}

// uncompressed is a client for answers that are not compressed, which would cost more than all else while nodes settle.
var uncompressed = &http.Client{Transport: &http.Transport{DisableCompression: true}}

// Close stops all nodes.
func (h *Server) Close() error {
	err := h.Node.Close()
	for _, n := range h.Others {
		err = errors.Join(err, n.Close())
	}
	return err
}

// turns sends requests to the nodes in turn.
type turns struct {
	http.RoundTripper
	to   []string // addresses; the first is the one in the requests
	next atomic.Uint32
}

// RoundTrip sends the request to the next node. Its Host header is unchanged, as behind a proxy.
func (r *turns) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != r.to[0] {
		return r.RoundTripper.RoundTrip(req)
	}
	if req.Host == "" {
		req.Host = r.to[0]
	}
	req = req.Clone(req.Context())
	req.URL.Host = r.to[int(r.next.Add(1))%len(r.to)]
	return r.RoundTripper.RoundTrip(req)
}

// inTurns returns a client whose requests go to the nodes in turn.
func (h *Server) inTurns(c *http.Client) *http.Client {
	if len(h.Others) == 0 {
		return c
	}
	r := &turns{RoundTripper: c.Transport, to: []string{h.Address().String()}}
	if r.RoundTripper == nil {
		r.RoundTripper = http.DefaultTransport
	}
	for _, n := range h.Others {
		r.to = append(r.to, n.Address().String())
	}
	return &http.Client{Transport: r}
}
