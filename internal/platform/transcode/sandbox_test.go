package transcode_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
)

const shell = "/usr/bin/sh"

// TestSandbox: a program in the sandbox reads its source and writes its output, and nothing else; it has no network, and no more memory, files and time than it is given.
func TestSandbox(t *testing.T) {
	tc := transcodetest.Open(t, transcode.Config{})
	dir, out := t.TempDir(), t.TempDir()
	source, secret := filepath.Join(dir, "source"), filepath.Join(dir, "secret")
	for _, path := range []string{source, secret} {
		if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, script, want string }{
		{"reads its source", "cat " + transcode.SourceInside, "content"},
		{"does not write its source", "echo x > " + transcode.SourceInside + " || echo refused", "refused"},
		{"does not see other files", "cat " + secret + " || echo refused", "refused"},
		{"does not see the system's settings", "cat /etc/passwd || echo refused", "refused"},
		{"writes its output", "echo x > " + transcode.OutInside + "/made && cat " + transcode.OutInside + "/made", "x"},
		{"writes nowhere else", "for d in / /usr /in /tmp /dev; do echo x > $d/made && echo $d; done; echo done", "done"},
		{"has no processes of others", "ls /proc 2>/dev/null || echo none", "none"},
		{"has no environment", "env | sort | tr '\\n' ' '", "LC_ALL=C PATH=/usr/bin PWD=/out"},
		{"writes no large file", "head -c 2000000 /dev/urandom > " + transcode.OutInside + "/large || echo refused", "refused"},
		{"maps no large memory", "head -c 1 /dev/urandom >/dev/null; ulimit -v", "4194304"},
		{"opens few files", "ulimit -n", "64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := tc.Output(t.Context(), transcode.Script{Shell: shell, Text: "(" + c.script + ") 2>/dev/null", Source: source, Out: out})
			if got := strings.TrimSpace(string(b)); got != c.want && !strings.HasSuffix(got, c.want) || err != nil {
				t.Errorf("it printed %q, %v, want %q", got, err, c.want)
			}
		})
	}
	// Its network is one of its own, in which nobody listens.
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	b, err := tc.Output(t.Context(), transcode.Script{Shell: "/usr/bin/bash", Text: "(echo > /dev/tcp/127.0.0.1/" + port + ") 2>&1 && echo connected; (echo > /dev/tcp/192.0.2.1/80) 2>&1"})
	if err == nil || strings.Contains(string(b), "connected") || !strings.Contains(string(b), "unreachable") {
		t.Errorf("a connection is answered with %q, %v", b, err)
	}
}

// TestRelativePaths: source and output are found where the server's working directory has them.
func TestRelativePaths(t *testing.T) {
	tc := transcodetest.Open(t, transcode.Config{})
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("out", 0o700))
	must(t, os.WriteFile("source", []byte("content"), 0o600))
	if _, err := tc.Output(t.Context(), transcode.Script{Shell: shell, Text: "cp " + transcode.SourceInside + " " + transcode.OutInside + "/copy", Source: "source", Out: "out"}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile("out/copy"); string(b) != "content" || err != nil {
		t.Errorf("the output has %q, %v", b, err)
	}
}

// TestOutput: links and pipes that a program leaves are not followed.
func TestOutput(t *testing.T) {
	secret, dir := t.TempDir()+"/secret", t.TempDir()
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	must(t, os.WriteFile(dir+"/file", []byte("file"), 0o600))
	must(t, os.Symlink(secret, dir+"/link"))
	must(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	for name, good := range map[string]bool{"file": true, "link": false, "pipe": false, "missing": false} {
		f, err := transcode.OpenOutput(dir+"/"+name, os.O_RDONLY)
		if (err == nil) != good {
			t.Errorf("%s is opened: %v", name, err)
		}
		if err == nil {
			must(t, f.Close())
		}
	}
}

// TestSandboxEnds: a program that runs too long, prints too much or is cancelled is killed with all its processes.
func TestSandboxEnds(t *testing.T) {
	tc := transcodetest.Open(t, transcode.Config{})
	began := time.Now()
	_, err := tc.Output(t.Context(), transcode.Script{Shell: shell, Text: "sleep 600 & sleep 600", Timeout: 100 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("a long run ends with %v", err)
	}
	if _, err := tc.Output(t.Context(), transcode.Script{Shell: shell, Text: "sleep 0.3", Timeout: 200 * time.Millisecond}); err != nil {
		t.Errorf("a run that waited longer than its processor time ends with %v", err)
	}
	if _, err := tc.Output(t.Context(), transcode.Script{Shell: shell, Text: "yes"}); !errors.Is(err, transcode.ErrTooMuchOutput) {
		t.Errorf("a long output ends with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = tc.Read(ctx, transcode.Script{Shell: shell, Text: "echo ready; sleep 600"}, func(r io.Reader) error {
		b := make([]byte, 5)
		_, err := io.ReadFull(r, b)
		cancel()
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run ends with %v", err)
	}
	if took := time.Since(began); took > 10*time.Minute {
		t.Errorf("it took %v", took)
	}
}

// TestOff: without a program, New says which one is missing, and how to install it.
func TestOff(t *testing.T) {
	_, err := transcode.New(t.Context(), transcode.Config{FFmpeg: t.TempDir()})
	if !errors.Is(err, transcode.ErrOff) || !strings.Contains(err.Error(), "install the package ffmpeg") {
		t.Errorf("it fails with %v", err)
	}
}
