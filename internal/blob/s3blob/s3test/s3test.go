// Package s3test starts a real S3 server (versitygw, on a temporary directory) on loopback. For tests only.
//
// The server is built from Go modules, of a module of its own beside this file, whose many dependencies are not the product's. Go keeps
// what it has built in its cache. The server ends with the process that started it, also when that is killed (on Linux).
package s3test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
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
)

const (
	// tries to find a port that nobody takes meanwhile.
	tries = 5
	// readyIn is how long a server may take to start.
	readyIn = time.Minute
)

// Server is a private one. One goroutine at a time may call its methods.
type Server struct {
	// Endpoint is its URL.
	Endpoint string
	// AccessKey and SecretKey may do everything.
	AccessKey, SecretKey string

	path    string // of the program
	dir     string // of what it keeps
	buckets int

	process *os.Process
	ended   chan struct{} // closed when the process is gone
}

// Start builds a server, where that is not done yet, and starts it until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
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

// Open builds a server, where that is not done yet, and starts it. The caller must Close it.
func Open(ctx context.Context) (_ *Server, err error) {
	_, here, _, _ := runtime.Caller(0)
	build := exec.CommandContext(ctx, "go", "tool", "-n", "versitygw")
	build.Dir = filepath.Join(filepath.Dir(here), "server")
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
	// Its notes on files go into a directory beside, since not every file system has room for them.
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

// free is an endpoint that nobody has at this moment.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return "http://" + l.Addr().String(), l.Close()
}

// Restart starts a server that was killed, and returns when it answers.
func (s *Server) Restart(ctx context.Context) error {
	var said bytes.Buffer
	run := exec.Command(s.path, "--access", s.AccessKey, "--secret", s.SecretKey, "--port", strings.TrimPrefix(s.Endpoint, "http://"), "--health", "/health", "--quiet", "posix", "--sidecar", s.notes(), s.kept())
	run.Stdout, run.Stderr, run.SysProcAttr = &said, &said, attributes()
	started, ended := make(chan error, 1), make(chan struct{})
	go func() { // ends with the process, which is told when the thread that started it ends: this one stays
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
	ctx, cancel := context.WithTimeout(ctx, readyIn)
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

// Kill ends the server at once; what it has stored stays.
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

// Pause holds the server where it is; Resume lets it go on.
func (s *Server) Pause() error { return s.process.Signal(syscall.SIGSTOP) }

// Resume lets a server that was paused go on.
func (s *Server) Resume() error { return s.process.Signal(syscall.SIGCONT) }

// Close ends the server and removes what it has stored.
func (s *Server) Close() error { return errors.Join(s.Kill(), os.RemoveAll(s.dir)) }

func (s *Server) client() (*minio.Core, error) {
	return minio.NewCore(strings.TrimPrefix(s.Endpoint, "http://"), &minio.Options{Creds: credentials.NewStaticV4(s.AccessKey, s.SecretKey, ""), Region: "us-east-1"})
}

// Client speaks to the server.
func (s *Server) Client(t testing.TB) *minio.Core {
	t.Helper()
	c, err := s.client()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Bucket makes an empty one.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	name, err := s.NewBucket(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// NewBucket makes an empty one.
func (s *Server) NewBucket(ctx context.Context) (string, error) {
	c, err := s.client()
	if err != nil {
		return "", err
	}
	s.buckets++
	name := "bucket-" + strconv.Itoa(s.buckets)
	return name, c.MakeBucket(ctx, name, minio.MakeBucketOptions{})
}
