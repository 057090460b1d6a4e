package apptest

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/config"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/timeline"
)

// Nodes is the variable that says how many nodes a house has; unset: one. More share the records that the run keeps in PostgreSQL,
// and the files.
const Nodes = "TEST_NODES"

// nodes of each house of this run.
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

// join starts a node more on what the first has.
func (h *House) join(t *testing.T, now clock.Clock, first *config.Config, i int) {
	t.Helper()
	c := *first
	c.Data, c.Node = fmt.Sprint(first.Data, "-", i), ""
	// The files are on a disk that all nodes see.
	files := filepath.Join(c.Data, "blobs")
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(first.Data, "blobs"), files); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	n, err := app.OpenAt(t.Context(), &c, slog.New(slog.NewTextHandler(logTo(t), &slog.HandlerOptions{Level: slog.LevelWarn})), now)
	if err != nil {
		t.Fatal(err)
	}
	h.Others = append(h.Others, n)
}

// settle waits until the nodes have shared the work, so that none of it moves under a test that does not expect that.
func (h *House) settle(t *testing.T) {
	t.Helper()
	all := append([]*app.House{h.House}, h.Others...)
	share := (timeline.Partitions + len(all) - 1) / len(all)
	for end := time.Now().Add(time.Minute); ; {
		settled := true
		for _, n := range all {
			settled = settled && figure(t, n, "nodes") >= len(all) && figure(t, n, "bus_peers") >= len(all)-1 &&
				figure(t, n, "partitions_held") == timeline.Partitions && figure(t, n, "partitions") <= share
		}
		if settled {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the nodes have not shared the work in a minute")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// figure of a node, as its metrics have it.
func figure(t *testing.T, n *app.House, name string) int {
	t.Helper()
	r, err := http.Get("http://" + n.AdminAddress().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "rialto_"+name+" "); ok {
			v, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("there is no figure %s: %v", name, lines.Err())
	return 0
}

// Close stops all nodes.
func (h *House) Close() error {
	err := h.House.Close()
	for _, n := range h.Others {
		err = errors.Join(err, n.Close())
	}
	return err
}

// turns has one node after the other do what the first is asked.
type turns struct {
	http.RoundTripper
	to   []string // addresses; the first is the one that is asked
	next atomic.Uint32
}

// RoundTrip asks the next node. What the request says of its host stays, as behind a proxy.
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

// inTurns has a client's requests go to all nodes of the house.
func (h *House) inTurns(c *http.Client) *http.Client {
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
