package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/eventually"
	rialto "github.com/rialto-im/rialto/sdk/go"
)

// page is written by many and read by the test.
type page struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func configure(t testing.TB, data string, set ...string) *config.Config {
	t.Helper()
	c, err := config.Load("", nil, append([]string{"data=" + data, "listen=127.0.0.1:0", "gateway.drain_over=10ms", "account.who_may_add=everyone", "limits.call_user=none", "canary.off=true", "video.niceness=1"}, set...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// open starts a node that logs to a buffer. It is closed at the end of the test, unless the test has closed it.
func open(t *testing.T, set ...string) (*Node, *page) {
	t.Helper()
	log := &page{}
	h, err := Open(t.Context(), configure(t, filepath.Join(t.TempDir(), "data"), set...), slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, log
}

func url(h *Node) string { return "http://" + h.Address().String() }

// client of a node, not logged in. It runs, once started, until the test ends; its events are dropped.
func client(t *testing.T, h *Node) *rialto.Client {
	t.Helper()
	c, err := rialto.New(rialto.Config{URL: url(h)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// running keeps a client's connection until the test ends.
func running(t *testing.T, c *rialto.Client) {
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		_ = c.Run(ctx) // the node may have gone
	}()
	t.Cleanup(func() {
		cancel()
		<-left
	})
}

// uncompressed is a client for answers that are not compressed: metrics that are read again and again would cost more than all else.
var uncompressed = &http.Client{Transport: &http.Transport{DisableCompression: true}}

func get(t *testing.T, address string) (int, string) {
	t.Helper()
	code, text, err := tryGet(address)
	if err != nil {
		t.Fatal(err)
	}
	return code, text
}

// tryGet is get where an answer may break off.
func tryGet(address string) (int, string, error) {
	r, err := uncompressed.Get(address)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return r.StatusCode, string(b), err
}

// noneLeft waits until no goroutine of this repository runs: one that has signalled its end may still have to return.
func noneLeft(t *testing.T) {
	t.Helper()
	left := ""
	defer func() {
		if left != "" {
			t.Logf("left behind: %s", left)
		}
	}()
	eventually.True(t, "all goroutines have ended", func() bool {
		buf := make([]byte, 1<<20)
		left = ""
		for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(g, "rialto/internal/") && !strings.Contains(g, "testing.tRunner") && !strings.Contains(g, "testing.(*T).Run") {
				left = g
			}
		}
		return left == ""
	})
}
