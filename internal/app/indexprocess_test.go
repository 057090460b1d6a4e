package app

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/service/search"
)

// TestMain is also what the process of a search index does that a test started.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == IndexCommand {
		os.Exit(IndexMain(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// commandOfTest makes the command of a process that has a search index, and counts the starts.
func commandOfTest(t *testing.T, starts *atomic.Int64) func(dir string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	command := indexCommand(program, search.Config{}, slog.New(slog.DiscardHandler))
	return func(dir string) *exec.Cmd {
		starts.Add(1)
		return command(dir)
	}
}

// A new server builds its index of nothing without a second process. It starts with the first user, and again with the server.
func TestTheIndexHasAProcessWhenItIsNeeded(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	var starts atomic.Int64
	start := func() *Node {
		t.Helper()
		h, err := openNode(t.Context(), configure(t, data, "limits.search_user=none", "limits.search_address=none"), slog.New(slog.NewTextHandler(t.Output(), nil)), clock.System{}, commandOfTest(t, &starts))
		must(t, err)
		return h
	}
	for range 2 { // nothing is lost that was in memory
		h := start()
		eventually.True(t, "the index of nothing", func() bool { return !h.search.State().Incomplete })
		must(t, h.Close())
		if n := starts.Load(); n != 0 {
			t.Fatalf("%d processes were started", n)
		}
	}
	h := start()
	ann := client(t, h)
	must(t, ann.Register(t.Context(), "ann", "a good password", "Ann Kingfisher"))
	found := func() bool {
		hits, complete := searched(t, ann, "kingfisher")
		return complete && len(hits) == 1
	}
	eventually.True(t, "the user", found)
	must(t, h.Close())
	if n := starts.Load(); n != 1 {
		t.Errorf("%d processes were started", n)
	}
	h = start()
	defer func() { must(t, h.Close()) }()
	ann = client(t, h)
	must(t, ann.Login(t.Context(), "ann", "a good password"))
	eventually.True(t, "the user after a restart", found)
	if n := starts.Load(); n != 2 || h.indexRestarts.Load() != 0 {
		t.Errorf("%d processes were started, and %d again", n, h.indexRestarts.Load())
	}
}

// The process gets no settings and no other secrets of the environment.
func TestTheIndexGetsNoSecrets(t *testing.T) {
	for _, v := range []string{"RIALTO_POSTGRES", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "GOOGLE_APPLICATION_CREDENTIALS", "HOME"} {
		t.Setenv(v, "canary")
	}
	t.Setenv("GODEBUG", "asyncpreemptoff=0")
	cmd := indexCommand("program", search.Config{Niceness: 5}, slog.New(slog.DiscardHandler))("dir")
	if cmd.Env == nil || strings.Contains(strings.Join(cmd.Env, " "), "canary") || !slices.Contains(cmd.Env, "GODEBUG=asyncpreemptoff=0") {
		t.Errorf("its environment is %q", cmd.Env)
	}
	if !slices.Equal(cmd.Args[1:], []string{IndexCommand, "5", "dir"}) || cmd.Path != "program" {
		t.Errorf("the process of the index is %s %q, want program %q", cmd.Path, cmd.Args, []string{IndexCommand, "5", "dir"})
	}
}

// Alone, the command says that it is of no use.
func TestTheIndexCommandAlone(t *testing.T) {
	for _, args := range [][]string{nil, {"x", t.TempDir()}, {"1"}, {"1", "2", "3"}} {
		var errOut strings.Builder
		if code := IndexMain(args, strings.NewReader(""), &strings.Builder{}, &errOut); code != 2 || !strings.Contains(errOut.String(), "of no use alone") {
			t.Errorf("%q: exit code %d, want 2; errors %s, want them to say that it is of no use alone", args, code, errOut.String())
		}
	}
}
