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
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
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

// Server is a private one.
type Server struct {
	// Endpoint is its URL.
	Endpoint string
	// AccessKey and SecretKey may do everything.
	AccessKey, SecretKey string

	buckets int
}

// Start builds a server, where that is not done yet, and starts it until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	build := exec.Command("go", "tool", "-n", "versitygw")
	build.Dir = filepath.Join(filepath.Dir(here), "server")
	var said bytes.Buffer
	build.Stderr = &said
	path, err := build.Output()
	if err != nil {
		t.Fatalf("the S3 server cannot be built: %v\n%s", err, said.String())
	}
	s := &Server{AccessKey: "rialto", SecretKey: "a-secret-key-for-tests"}
	for range tries {
		if err = s.start(t, strings.TrimSpace(string(path))); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

func (s *Server) start(t testing.TB, path string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	var said bytes.Buffer
	// Its notes on files go into a directory beside, since not every file system has room for them.
	run := exec.Command(path, "--access", s.AccessKey, "--secret", s.SecretKey, "--port", address, "--health", "/health", "--quiet", "posix", "--sidecar", t.TempDir(), t.TempDir())
	run.Stdout, run.Stderr, run.SysProcAttr = &said, &said, attributes()
	if err := run.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = run.Wait() // by a signal, mostly
	}()
	t.Cleanup(func() {
		_ = run.Process.Kill() // fails where it has ended
		<-ended
	})
	s.Endpoint = "http://" + address
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(readyIn); ; {
		select {
		case <-ended:
			return fmt.Errorf("the S3 server ended: %s", said.String())
		case <-late:
			return errors.New("the S3 server does not answer")
		case <-tick.C:
			if answer, err := http.Get(s.Endpoint + "/health"); err == nil {
				if err := answer.Body.Close(); err == nil && answer.StatusCode == http.StatusOK {
					return nil
				}
			}
		}
	}
}

// Client speaks to the server.
func (s *Server) Client(t testing.TB) *minio.Core {
	t.Helper()
	c, err := minio.NewCore(strings.TrimPrefix(s.Endpoint, "http://"), &minio.Options{Creds: credentials.NewStaticV4(s.AccessKey, s.SecretKey, ""), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Bucket makes an empty one.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	s.buckets++
	name := "bucket-" + strconv.Itoa(s.buckets)
	if err := s.Client(t).MakeBucket(context.Background(), name, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}
