package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/account/v1/accountv1connect"
)

// TestMain runs the command itself if a test started this process.
func TestMain(m *testing.M) {
	if os.Getenv("BE_THE_COMMAND") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), "BE_THE_COMMAND=1", "GORACE=atexit_sleep_ms=0")
	c.Dir = t.TempDir()
	return c
}

// run returns a command's output and exit code.
func run(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	c := process(t, args...)
	var o, e strings.Builder
	c.Stdout, c.Stderr = &o, &e
	if exit := (*exec.ExitError)(nil); !errors.As(c.Run(), &exit) {
		return o.String(), e.String(), 0
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

// TestEachCommandHelps: each command prints help on standard output, and for an unknown flag says what to do on standard error.
func TestEachCommandHelps(t *testing.T) {
	all, _, code := run(t, "help")
	if code != 0 || !strings.Contains(all, "Exit codes") {
		t.Errorf("help: %d, %q", code, all)
	}
	if _, out, code := run(t); code != 2 || out != all {
		t.Errorf("without a command: %d, %q", code, out)
	}
	if _, out, code := run(t, "nope"); code != 2 || !strings.Contains(out, `"nope"`) || !strings.Contains(out, "rialto help") {
		t.Errorf("an unknown command: %d, %q", code, out)
	}
	if _, out, code := run(t, "serch"); code != 2 || out != "rialto: unknown command \"serch\"; did you mean \"search\"?\nrialto help lists all commands.\n" {
		t.Errorf("a mistyped command: %d, %q", code, out)
	}
	for _, c := range commands() {
		if !strings.Contains(all, "\n  "+c.name+" ") {
			t.Errorf("help does not list %s", c.name)
		}
		for _, args := range [][]string{{c.name, "--help"}, {"help", c.name}} {
			if out, errOut, code := run(t, args...); code != 0 || out+errOut == "" {
				t.Errorf("%v: %d, %q, %q", args, code, out, errOut)
			}
		}
		if _, out, code := run(t, c.name, "--nope"); code != 2 || out == "" {
			t.Errorf("%s with an unknown flag: %d, %q", c.name, code, out)
		}
	}
}

// TestHelpOfAPart: the commands of a command have help of their own.
func TestHelpOfAPart(t *testing.T) {
	if out, errOut, code := run(t, "help", "bench", "chat"); code != 0 || !strings.Contains(out+errOut, "-window") {
		t.Errorf("got code %d, %q, %q, want the flags of rialto bench chat", code, out, errOut)
	}
}

// server is a rialto serve in a process of its own.
type server struct {
	*exec.Cmd
	url     string
	lines   *bufio.Scanner
	waited  chan struct{} // closed when the process has ended
	waitErr error
}

func serve(t *testing.T, data string) *server {
	t.Helper()
	s := &server{Cmd: process(t, "serve", "--data", data, "--listen", "127.0.0.1:0", "--set", "gateway.drain_over=10ms"), waited: make(chan struct{})}
	out, in, err := os.Pipe() // not StdoutPipe, which Wait would close before the last line is read
	if err != nil {
		t.Fatal(err)
	}
	s.Stdout, s.Stderr, s.lines = in, t.Output(), bufio.NewScanner(out)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	go func() {
		s.waitErr = s.Wait()
		close(s.waited)
	}()
	t.Cleanup(func() {
		_ = s.Process.Kill() // it may have ended
		<-s.waited
		out.Close()
	})
	line := s.until(t, "is ready")
	s.url = "http://" + strings.Fields(line[strings.Index(line, "http://")+7:])[0]
	return s
}

// until reads lines until one has a word.
func (s *server) until(t *testing.T, word string) string {
	t.Helper()
	for s.lines.Scan() {
		if strings.Contains(s.lines.Text(), word) {
			return s.lines.Text()
		}
	}
	t.Fatalf("the server ended without %q", word)
	return ""
}

// TestTheFirstSignalDrains: sockets are told to reconnect, and the process exits with 0.
func TestTheFirstSignalDrains(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		s := serve(t, filepath.Join(t.TempDir(), "data"))
		r, err := accountv1connect.NewAccountServiceClient(http.DefaultClient, s.url).Register(t.Context(),
			connect.NewRequest(&accountv1.RegisterRequest{Handle: "alice", Password: "a good password", DisplayName: "Alice"}))
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+"/v1/socket", &websocket.DialOptions{
			Subprotocols: []string{"rialto.v1.json"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + r.Msg.AccessToken}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, hello, err := c.Read(t.Context()); err != nil || !strings.Contains(string(hello), "hello") {
			t.Fatalf("the first frame is %s, %v, want hello", hello, err)
		}
		if err := s.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_, bye, err := c.Read(t.Context())
		if err != nil || !strings.Contains(string(bye), "draining") {
			t.Errorf("%v: the last frame was %s, %v", sig, bye, err)
		}
		if _, _, err = c.Read(t.Context()); websocket.CloseStatus(err) != 4000 {
			t.Errorf("%v: the socket was closed with %v", sig, err)
		}
		if <-s.waited; s.waitErr != nil {
			t.Errorf("%v: the server ended with %v", sig, s.waitErr)
		}
	}
}

// TestTheSecondSignalEnds a server that still waits for a call.
func TestTheSecondSignalEnds(t *testing.T) {
	s := serve(t, filepath.Join(t.TempDir(), "data"))
	half, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	fmt.Fprint(half, "POST /rialto.account.v1.AccountService/Login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n")
	if line, err := bufio.NewReader(half).ReadString('\n'); err != nil || !strings.Contains(line, "100") { // the call has begun
		t.Fatalf("the answer begins with %q, %v, want 100 Continue", line, err)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.until(t, "is stopping")
	again := time.NewTicker(5 * time.Millisecond) // the process handles the signal a moment after it said so
	defer again.Stop()
	for ended := false; !ended; {
		select {
		case <-s.waited:
			ended = true
		case <-again.C:
			_ = s.Process.Signal(syscall.SIGTERM) // it may have ended
		}
	}
	if status := s.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
		t.Errorf("it ended by itself: %v", s.waitErr)
	}
}

// TestASecondServerIsRefused: a second server on the same directory or address fails, and says who uses it and what to do.
func TestASecondServerIsRefused(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	_, out, code := run(t, "serve", "--data", data, "--listen", "127.0.0.1:0")
	lines := strings.SplitN(out, "\n", 3) // its build, that it waits, and the refusal
	if code != 1 || len(lines) != 3 || !strings.Contains(lines[0], "rialto starts") || !strings.Contains(lines[1], "waiting for the other process") || !strings.Contains(lines[2], data) || !strings.Contains(lines[2], "in use by another rialto") || strings.Count(lines[2], "\n") != 1 {
		t.Errorf("the same directory: %d, %q", code, out)
	}
	address := strings.TrimPrefix(s.url, "http://")
	_, out, code = run(t, "serve", "--data", filepath.Join(t.TempDir(), "other"), "--listen", address)
	if code != 1 || !strings.Contains(out, address) || !strings.Contains(out, "another program has it") || !strings.Contains(out, "--listen") {
		t.Errorf("a second server on the same address: got exit code %d, %q, want 1, and that another program has the address", code, out)
	}
	if r, err := http.Get(s.url + "/healthz"); err != nil || r.StatusCode != 200 {
		t.Errorf("the first server is hurt: %v", err)
	} else {
		r.Body.Close()
	}
}

// TestBuildsNameTheirCommit: a program that scripts/build.sh builds names the commit, as rialto version and in its first log line.
func TestBuildsNameTheirCommit(t *testing.T) {
	const commit, at = "0123456789abcdef0123456789abcdef01234567", "2026-01-02T03:04:05Z"
	for stamp, want := range map[string]string{
		commit + " " + at:               "\ncommit   " + commit + " of " + at + "\n",
		commit + " " + at + " modified": "\ncommit   " + commit + " of " + at + ", with uncommitted changes\n",
		"":                              headOf(t),
	} {
		path := filepath.Join(t.TempDir(), "rialto")
		build := exec.CommandContext(t.Context(), "../../scripts/build.sh", path, "./cmd/rialto")
		build.Env = append(os.Environ(), "BUILD_COMMIT="+stamp)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		out, err := exec.CommandContext(t.Context(), path, "version").Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("built with the stamp %q, the version is %q, want it to contain %q (%v)", stamp, out, want, err)
		}
	}
}

// headOf is what a program names that is built here: the commit of the checkout, or that there is none.
func headOf(t *testing.T) string {
	t.Helper()
	head, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "\ncommit   unknown: the build had no access to git\n" // an unpacked archive
	} else if err != nil {
		t.Fatal(err)
	}
	return "\ncommit   " + strings.TrimSpace(string(head)) + " of "
}

// TestVersion: the version names the known properties of the build. What go test builds has no stamp: TestBuildsNameTheirCommit tests that.
func TestVersion(t *testing.T) {
	out, errOut, code := run(t, "version")
	if flag, _, code := run(t, "--version"); code != 0 || flag != out {
		t.Errorf("--version: %d, %q", code, flag)
	}
	for _, want := range []string{"rialto ", "\ncommit   ", "\ngo       go1", "\nengines  "} {
		if code != 0 || errOut != "" || !strings.Contains(out, want) {
			t.Errorf("%q is not in %q, %d, %q", want, out, code, errOut)
		}
	}
}
