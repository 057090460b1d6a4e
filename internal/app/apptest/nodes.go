package apptest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/app"
	"github.com/rialto-im/rialto/internal/clock"
	"github.com/rialto-im/rialto/internal/config"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
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
	if err := errors.Join(os.MkdirAll(c.Data, 0o700), os.Symlink(filepath.Join(first.Data, "blobs"), filepath.Join(c.Data, "blobs"))); err != nil {
		t.Fatal(err)
	}
	n, err := app.OpenAt(t.Context(), &c, slog.New(slog.NewTextHandler(logTo(t), &slog.HandlerOptions{Level: slog.LevelWarn})), now)
	if err != nil {
		t.Fatal(err)
	}
	h.Others = append(h.Others, n)
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
