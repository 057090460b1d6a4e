package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/rialto-im/rialto/internal/base/memory"
	"github.com/rialto-im/rialto/internal/engine/searchindex"
	"github.com/rialto-im/rialto/internal/engine/searchindex/blevesearch"
	"github.com/rialto-im/rialto/internal/engine/searchindex/indexprocess"
	"github.com/rialto-im/rialto/internal/service/search"
)

// IndexCommand is the command of the process that has the search index. serve starts it, and nobody else does.
const IndexCommand = "search-index"

// openIndex opens the search index in a directory, in a process of its own if a command for that is set.
func (n *Node) openIndex(ctx context.Context, dir string) (searchindex.Index, error) {
	if n.indexCommand == nil {
		return openBleve(dir, n.logger)
	}
	_, err := os.Stat(dir)
	opened, err := indexprocess.Open(ctx, indexprocess.Config{Command: func() *exec.Cmd { return n.indexCommand(dir) }, Empty: errors.Is(err, os.ErrNotExist),
		Restarted: func() { n.indexRestarts.Add(1) }, Logger: n.logger})
	if err != nil {
		return nil, err // a nil interface
	}
	return opened, nil
}

func openBleve(dir string, logger *slog.Logger) (searchindex.Index, error) {
	opened, err := blevesearch.Open(dir, logger)
	if err != nil {
		return nil, err // a nil interface
	}
	return opened, nil
}

// indexCommand returns what makes the command of the process that has the search index in a directory; nil: there is none, as the path of the program is unknown.
func indexCommand(program string, set search.Config, logger *slog.Logger) func(dir string) *exec.Cmd {
	if program == "" {
		logger.Warn("the search index has no process of its own, because this program does not find itself: indexing delays messages if there are few processors")
		return nil
	}
	niceness := strconv.Itoa(set.ProcessNiceness())
	return func(dir string) *exec.Cmd {
		cmd := exec.Command(program, IndexCommand, niceness, dir)
		cmd.Args[0] = os.Args[0]
		cmd.Env = indexEnvironment(os.Environ())
		return cmd
	}
}

// indexEnvironment returns those variables of the environment that Go's runtime reads. Others may be secrets, such as settings, and files may name any.
func indexEnvironment(environ []string) []string {
	kept := []string{} // nil would be all
	for _, v := range environ {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "GOTRACEBACK":
			kept = append(kept, v)
		}
	}
	return kept
}

// Program returns the path of this program, if possible one that stays valid when another release replaces the file; empty: the system does not say.
func Program() string {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}

const (
	// indexMemoryPercent of the memory that the server may use is Go's in the process of the index. The files of the index are mapped, and the kernel takes back what
	// they have. It is a soft limit: Go collects garbage more often near it.
	indexMemoryPercent = 10
	indexMemoryLeast   = 64 << 20
	// indexGCPercent is lower than Go's: the process computes in the background, and memory is worth more.
	indexGCPercent = 50
	// indexThreads run goroutines at least, so that a search does not wait until a batch yields.
	indexThreads = 2
)

// IndexMain is the process that has the search index: it serves the index in a directory until its input ends. Its arguments are its niceness and the directory.
func IndexMain(args []string, in io.Reader, out, errOut io.Writer) int {
	// A terminal and systemd send their signals to all processes. This one ends when the server has closed the index, or has ended.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	niceness, err := 0, error(nil)
	if len(args) == 2 {
		niceness, err = strconv.Atoi(args[0])
	}
	if len(args) != 2 || err != nil {
		fmt.Fprintln(errOut, "rialto serve starts this command; it is of no use alone")
		return 2
	}
	if err := indexprocess.SetNiceness(niceness); err != nil {
		fmt.Fprintln(errOut, "the niceness of this process cannot be set, so that it delays messages while processors are busy:", err)
	}
	if err := indexprocess.PreferForOOM(); err != nil {
		fmt.Fprintln(errOut, "if memory runs out, the kernel may end the server before this process:", err)
	}
	runtime.GOMAXPROCS(max(indexThreads, runtime.GOMAXPROCS(0)))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(indexGCPercent)
	}
	debug.SetMemoryLimit(max(indexMemoryLeast, memory.Available()/100*indexMemoryPercent))
	err = indexprocess.Serve(in, out, func() (searchindex.Index, error) {
		return openBleve(args[1], slog.New(slog.NewTextHandler(errOut, nil)))
	})
	switch {
	case err == nil:
		return 0
	case !errors.Is(err, indexprocess.ErrCallerEnded) && !errors.Is(err, searchindex.ErrCorrupt): // which the server reports
		fmt.Fprintln(errOut, err)
	}
	return 1
}
