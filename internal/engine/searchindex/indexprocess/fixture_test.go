package indexprocess_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/blevesearch"
	"github.com/rialto-im/rialto/internal/engine/searchindex/indexprocess"
)

// role is the variable of the environment that says what a process of this test does.
const role = "RIALTO_INDEX_PROCESS"

// niceness of the processes that serve an index.
const niceness = 7

// TestMain is what a process does that a test started.
func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "serve":
		serve(func() (searchindex.Index, error) {
			index, err := blevesearch.Open(os.Args[1], slog.New(slog.DiscardHandler))
			if err != nil {
				return nil, err
			}
			return index, nil
		})
	case "patient":
		serve(func() (searchindex.Index, error) { return &patient{}, nil })
	case "oversized": // it is open, and then replies with 4 GiB
		go func() { _, _ = io.Copy(io.Discard, os.Stdin) }()
		serveFrom(io.MultiReader(), func() (searchindex.Index, error) { return &patient{}, nil })
		_, _ = os.Stdout.Write([]byte{0xff, 0xff, 0xff, 0xff})
		select {}
	case "hung": // it never says that the index is open
		select {}
	case "call": // it opens an index, and does nothing more
		index, err := indexprocess.Open(context.Background(), config("serve", os.Args[1]))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if err := index.Apply(context.Background(), batch(1)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("ready")
		select {}
	}
	os.Exit(1)
}

func serve(open func() (searchindex.Index, error)) {
	if err := indexprocess.SetNiceness(niceness); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := indexprocess.PreferForOOM(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	serveFrom(os.Stdin, open)
	os.Exit(0)
}

func serveFrom(in io.Reader, open func() (searchindex.Index, error)) {
	_ = indexprocess.Serve(in, os.Stdout, open) // the caller sees that it has ended
}

// patient is an index whose searches take until their contexts end. Its checkpoints are how many have begun, and how many have ended.
type patient struct{ begun, ended atomic.Uint64 }

func (p *patient) Search(ctx context.Context, _ *searchindex.Query) (searchindex.Result, error) {
	p.begun.Add(1)
	<-ctx.Done()
	p.ended.Add(1)
	return searchindex.Result{}, ctx.Err()
}

func (p *patient) Checkpoints(context.Context, []string) ([]uint64, error) {
	return []uint64{p.begun.Load(), p.ended.Load()}, nil
}

func (p *patient) Missing(context.Context, []searchindex.Document) ([]searchindex.ID, error) {
	return nil, nil
}

func (p *patient) Apply(context.Context, *searchindex.Batch) error { return nil }
func (p *patient) Close() error                                    { return nil }

// config is of an index that processes of a role serve.
func config(of, dir string) indexprocess.Config {
	return indexprocess.Config{Logger: slog.New(slog.DiscardHandler), Command: func() *exec.Cmd { return command(of, dir) }}
}

func command(of, dir string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self, dir)
	cmd.Env = append(os.Environ(), role+"="+of, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// watched is an index, with its present process, and how often one was started, and again because it had ended by itself.
type watched struct {
	*indexprocess.Index
	process          atomic.Pointer[exec.Cmd]
	starts, restarts atomic.Int64
}

func open(t testing.TB, of, dir string, set ...func(*indexprocess.Config)) *watched {
	t.Helper()
	w := &watched{}
	c := config(of, dir)
	c.Restarted = func() { w.restarts.Add(1) }
	c.Command = func() *exec.Cmd {
		cmd := command(of, dir)
		w.process.Store(cmd)
		w.starts.Add(1)
		return cmd
	}
	for _, f := range set {
		f(&c)
	}
	index, err := indexprocess.Open(t.Context(), c)
	must(t, err)
	w.Index = index
	t.Cleanup(func() { must(t, index.Close()) })
	return w
}

// kill ends the process as if there were no memory.
func (w *watched) kill() {
	if cmd := w.process.Load(); cmd != nil && cmd.Process != nil {
		_ = cmd.Process.Kill() // it may have ended
	}
}

// stop stops the process, so that it hangs.
func (w *watched) stop(t *testing.T) {
	t.Helper()
	must(t, w.process.Load().Process.Signal(syscall.SIGSTOP))
}

// runs reports whether a process that was started is there.
func runs(cmd *exec.Cmd) bool { return cmd.Process.Signal(syscall.Signal(0)) == nil }

func empty(c *indexprocess.Config) { c.Empty = true }

// idleSoon is of an index whose process ends whenever nobody calls it, however long its start took.
func idleSoon(c *indexprocess.Config) { c.Idle, c.SlowStart = time.Millisecond, time.Hour }

// impatient is of an index whose process is killed soon when it hangs.
func impatient(c *indexprocess.Config) { c.Silence = 3 * time.Second }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// batch has a document with a number, and the checkpoint that says so.
func batch(n uint64) *searchindex.Batch {
	return &searchindex.Batch{Put: []searchindex.Document{{ID: searchindex.ID{Kind: searchindex.Message, Parent: 1, Number: n}, Text: "canary", Access: []string{"x"}}}, Checkpoints: map[string]uint64{"m": n}}
}

func query() *searchindex.Query {
	return &searchindex.Query{Kind: searchindex.Message, Terms: []searchindex.Term{{Word: "canary"}}, Access: []string{"x"}, Limit: 1000}
}

// isUnavailable reports whether an error is that of an index that starts again.
func isUnavailable(err error) bool {
	e := errs.Of(err)
	return err != nil && e.Kind == errs.Unavailable && e.Reason == "search_unavailable" && e.Retry > 0
}

// nicenessOf returns that of each thread of a process.
func nicenessOf(t *testing.T, process int) (list []int) {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", process))
	must(t, err)
	for _, e := range threads {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", process, e.Name()))
		if err != nil {
			continue // it has ended
		}
		_, fields, _ := strings.Cut(string(stat), ") ") // the third field follows
		n, err := strconv.Atoi(strings.Fields(fields)[16])
		must(t, err)
		list = append(list, n)
	}
	return list
}

// firstLine returns what a process says first.
func firstLine(t *testing.T, from io.Reader) string {
	t.Helper()
	line, err := bufio.NewReader(from).ReadString('\n')
	must(t, err)
	return strings.TrimSpace(line)
}

// oomScoreOf returns what is added to the badness of a process when memory runs out.
func oomScoreOf(t *testing.T, process int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", process))
	must(t, err)
	return strings.TrimSpace(string(b))
}
