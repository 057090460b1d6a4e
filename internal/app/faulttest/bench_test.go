package faulttest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/eventually"
)

// loading is a running bench. Its output may be read after its end.
type loading struct {
	*exec.Cmd
	out, errOut bytes.Buffer
	failed      error         // how it ended; read it after ended
	ended       chan struct{} // closed
}

// startBench loads a server until it is interrupted, or the test ends.
func startBench(t *testing.T, p *process, args ...string) *loading {
	t.Helper()
	b := &loading{Cmd: exec.Command(p.Path, append([]string{"bench", "chat", "--json", "--url", p.url(), "--duration", "1h"}, args...)...), ended: make(chan struct{})}
	b.Stdout, b.Stderr = &b.out, &b.errOut
	if err := b.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(b.ended)
		b.failed = b.Wait()
	}()
	t.Cleanup(func() {
		_ = b.Process.Kill() // it may have ended
		<-b.ended
	})
	return b
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// The bench loads a server that is killed and started again several times, in the middle of commits and of writes to sockets. It reconnects,
// sends again and syncs, and finds everything that was acknowledged, once and in order, in deliveries and in histories.
func TestBenchSurvivesAKilledServer(t *testing.T) {
	p := newProcess(t)
	// Making users and conversations commits some dozen batches.
	if !p.start("timeline/after-sync-before-done:300") {
		t.Fatal("the server did not start")
	}
	b := startBench(t, p, "--pairs", "4", "--rate", "2000", "--patience", "1m", "--drain", "1m")
	next := []string{"gateway/before-write:300", "timeline/after-commit-before-sync:300", ""}
	for n, failpoint := range next {
		eventually.True(t, "the server is killed", func() bool { return isClosed(p.gone) || isClosed(b.ended) })
		if isClosed(b.ended) {
			t.Fatalf("the bench ended before kill %d, with %v: %s\n%s", n+1, b.failed, &b.out, &b.errOut)
		}
		if !p.start(failpoint) {
			t.Fatalf("after kill %d the server did not start", n+1)
		}
	}
	if err := b.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	eventually.Within(t, 5*time.Minute, "the bench reports", func() bool { return isClosed(b.ended) }) // longer than --patience and --drain
	var r struct {
		Acked, Lost, Duplicated, Reordered, Gaps, Damaged, Reconnects, History uint64
	}
	if err := json.Unmarshal(b.out.Bytes(), &r); b.failed != nil || err != nil {
		t.Fatalf("the bench ended with %v, %v\n%s\n%s", b.failed, err, &b.out, &b.errOut)
	}
	if r.Lost+r.Duplicated+r.Reordered+r.Gaps+r.Damaged != 0 || r.History != r.Acked {
		t.Errorf("something is wrong with what was acknowledged: %s", &b.out)
	}
	// Each later kill needs a client that is back, and the end needs all.
	if r.Acked == 0 || r.Reconnects < uint64(len(next)) {
		t.Errorf("after %d kills there were %d reconnects, and %d acknowledged: %s", len(next), r.Reconnects, r.Acked, &b.out)
	}
	p.stop()
	p.verify()
}
