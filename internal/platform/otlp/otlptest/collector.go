package otlptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/loopback"
)

// Setting is the environment variable that lets tests with a collector run. scripts/test-long.sh collector sets it; the collector takes minutes to build.
const Setting = "TEST_COLLECTOR"

// startTimeout bounds the start of a collector.
const startTimeout = time.Minute

// tries is how often a free port is searched for: another process may take it.
const tries = 5

// Collector builds an OpenTelemetry Collector from its own Go module in this folder, so that its many dependencies are not the product's, and runs it
// until the test ends. It passes on all that it accepts to the receiver. It returns its endpoint. Without Setting, it skips the test.
func Collector(t testing.TB, to *Receiver) (endpoint string) {
	t.Helper()
	if os.Getenv(Setting) == "" {
		t.Skipf("the OpenTelemetry Collector is missing, which takes minutes to build: scripts/test-long.sh collector runs this test, as does CI by turns; or set %s=1", Setting)
	}
	// The source is found through the module: a build with -trimpath has no paths in it.
	here, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/rialto-im/rialto/internal/platform/otlp/otlptest").Output()
	if err != nil {
		t.Fatalf("the collector's folder is not found (run this inside the repository): %v", err)
	}
	program := filepath.Join(t.TempDir(), "collector")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, ".")
	build.Dir, build.Env = filepath.Join(strings.TrimSpace(string(here)), "collector"), append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the collector cannot be built: %v\n%s", err, said)
	}
	for range tries {
		address, err := free()
		if err != nil {
			t.Fatal(err)
		}
		if err = start(t, program, address, to.Endpoint); err == nil {
			return "http://" + address
		}
		t.Logf("the collector did not start: %v", err)
	}
	t.Fatal("the collector does not start")
	return ""
}

// free returns an address that is currently unused.
func free() (string, error) {
	port, err := loopback.FreePort()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

// start runs the collector, and returns when it answers. It ends with the test.
func start(t testing.TB, program, address, to string) error {
	config := fmt.Sprintf("yaml:{receivers: {otlp: {protocols: {http: {endpoint: %q}}}}, exporters: {otlp_http: {endpoint: %q, compression: gzip, sending_queue: {enabled: false}}}, "+
		"service: {telemetry: {metrics: {level: none}}, pipelines: {traces: {receivers: [otlp], exporters: [otlp_http]}}}}", address, to)
	var said bytes.Buffer
	run := exec.Command(program, "--config", config)
	run.Stdout, run.Stderr, run.SysProcAttr = &said, &said, attributes()
	started, ended := make(chan error, 1), make(chan struct{})
	go func() { // the program is signalled when the thread that started it ends, so this thread stays
		runtime.LockOSThread()
		defer close(ended)
		err := run.Start()
		started <- err
		if err == nil {
			_ = run.Wait() // by a signal
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	stop := func() {
		if err := run.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		<-ended
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	for !answers(ctx, address) {
		select {
		case <-ended:
			return errors.New(said.String())
		case <-ctx.Done():
			stop()
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Cleanup(stop)
	return nil
}

// answers reports whether a collector accepts connections.
func answers(ctx context.Context, address string) bool {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	return err == nil && c.Close() == nil
}
