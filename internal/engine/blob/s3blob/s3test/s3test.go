// Package s3test starts a real S3 server (versitygw, on a temporary directory) on loopback. For tests only.
//
// The server is built from its own Go module in this folder, so that its many dependencies are not the product's. Go caches the build. The
// server ends with the process that started it, even if that is killed (on Linux).
package s3test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/rialto-im/rialto/internal/base/loopback"
)

const (
	// tries is how often a free port is searched for: another process may take it.
	tries = 5
	// startTimeout bounds the start of a server.
	startTimeout = time.Minute
)

// Server is a private server. One goroutine at a time may call its methods.
type Server struct {
	// Endpoint is its URL.
	Endpoint string
	// AccessKey and SecretKey may do everything.
	AccessKey, SecretKey string

	path    string // folder of the program
	dir     string // folder of its data
	buckets int

	process *os.Process
	ended   chan struct{} // closed when the process is gone
}

// Setting is the environment variable that lets tests with a server run. scripts/test-long.sh s3 sets it; the server takes minutes to build.
const Setting = "TEST_S3"

// Start builds a server if necessary, and runs it until the test ends. Without Setting, it skips the test.
func Start(t testing.TB) *Server {
	t.Helper()
	if os.Getenv(Setting) == "" {
		t.Skipf("the S3 server is missing, which takes minutes to build: scripts/test-long.sh s3 runs this test, as does CI by turns; or set %s=1", Setting)
	}
	s, err := Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Open builds a server if necessary, and starts it. The caller must Close it.
func Open(ctx context.Context) (_ *Server, err error) {
	// The source is found through the module: a build with -trimpath has no paths in it.
	here, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/rialto-im/rialto/internal/engine/blob/s3blob/s3test").Output()
	if err != nil {
		return nil, fmt.Errorf("the S3 server's folder is not found (run this inside the repository): %w", err)
	}
	build := exec.CommandContext(ctx, "go", "tool", "-n", "versitygw")
	build.Dir = filepath.Join(strings.TrimSpace(string(here)), "server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as scripts/setup.sh has built it, also in tests with the race detector, which need cgo
	var said bytes.Buffer
	build.Stderr = &said
	path, err := build.Output()
	if err != nil {
		return nil, fmt.Errorf("the S3 server cannot be built: %w\n%s", err, said.String())
	}
	s := &Server{AccessKey: "rialto", SecretKey: "a-secret-key-for-tests", path: strings.TrimSpace(string(path))}
	if s.dir, err = os.MkdirTemp("", "rialto-s3-"); err != nil {
		return nil, err
	}
	// File metadata goes into a separate directory, because not every file system has extended attributes.
	if err = errors.Join(os.Mkdir(s.kept(), 0o700), os.Mkdir(s.notes(), 0o700)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for range tries {
		if s.Endpoint, err = free(); err != nil {
			break
		}
		if err = s.Restart(ctx); err == nil {
			return s, nil
		}
	}
	return nil, errors.Join(err, s.Close())
}

func (s *Server) kept() string  { return filepath.Join(s.dir, "kept") }
func (s *Server) notes() string { return filepath.Join(s.dir, "notes") }

// free returns an endpoint that is currently unused.
func free() (string, error) {
	port, err := loopback.FreePort()
	return fmt.Sprintf("http://127.0.0.1:%d", port), err
}

// Restart starts a killed server, and returns when it answers.
func (s *Server) Restart(ctx context.Context) error {
	var said bytes.Buffer
	run := exec.Command(s.path, "--access", s.AccessKey, "--secret", s.SecretKey, "--port", strings.TrimPrefix(s.Endpoint, "http://"), "--health", "/health", "--quiet", "posix", "--sidecar", s.notes(), s.kept())
	run.Stdout, run.Stderr, run.SysProcAttr = &said, &said, attributes()
	started, ended := make(chan error, 1), make(chan struct{})
	go func() { // the server is signalled when the thread that started it ends, so this thread stays
		runtime.LockOSThread()
		defer close(ended)
		err := run.Start()
		started <- err
		if err == nil {
			_ = run.Wait() // by a signal, mostly
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	s.process, s.ended = run.Process, ended
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return fmt.Errorf("the S3 server ended: %s", said.String())
		case <-ctx.Done():
			return errors.Join(errors.New("the S3 server does not answer"), s.Kill())
		case <-tick.C:
			if answer, err := http.Get(s.Endpoint + "/health"); err == nil {
				if err := answer.Body.Close(); err == nil && answer.StatusCode == http.StatusOK {
					return nil
				}
			}
		}
	}
}

// Kill kills the server. Its data remains.
func (s *Server) Kill() error {
	if s.process == nil {
		return nil
	}
	err := s.process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-s.ended
	return err
}

// Pause suspends the server until Resume.
func (s *Server) Pause() error { return s.process.Signal(syscall.SIGSTOP) }

// Resume continues a paused server.
func (s *Server) Resume() error { return s.process.Signal(syscall.SIGCONT) }

// Close stops the server and removes its data.
func (s *Server) Close() error { return errors.Join(s.Kill(), os.RemoveAll(s.dir)) }

func (s *Server) client() (*minio.Core, error) {
	return minio.NewCore(strings.TrimPrefix(s.Endpoint, "http://"), &minio.Options{Creds: credentials.NewStaticV4(s.AccessKey, s.SecretKey, ""), Region: "us-east-1"})
}

// Client returns a client of the server.
func (s *Server) Client(t testing.TB) *minio.Core {
	t.Helper()
	c, err := s.client()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Bucket creates an empty bucket.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	name, err := s.NewBucket(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// NewBucket creates an empty bucket.
func (s *Server) NewBucket(ctx context.Context) (string, error) {
	c, err := s.client()
	if err != nil {
		return "", err
	}
	s.buckets++
	name := "bucket-" + strconv.Itoa(s.buckets)
	return name, c.MakeBucket(ctx, name, minio.MakeBucketOptions{})
}
