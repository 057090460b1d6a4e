package faulttest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/bench"
)

// The bench loads a server that is killed and started again several times, in the middle of commits and of writes to sockets. It reconnects,
// sends again and syncs, and finds everything that was acknowledged, once and in order, in deliveries and in histories.
func TestBenchSurvivesAKilledServer(t *testing.T) {
	p := newProcess(t)
	// Making users and conversations commits some dozen batches.
	if !p.start("timeline/after-sync-before-done:300") {
		t.Fatal("the server did not start")
	}
	var out, errOut bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- bench.Main([]string{"chat", "--json", "--pairs", "4", "--rate", "2000", "--duration", "15s", "--drain", "2m", "--url", p.url()}, &out, &errOut)
	}()
	const killed = 3
	next := []string{"gateway/before-write:300", "timeline/after-commit-before-sync:300", ""}
	for n := range killed {
		select {
		case <-p.gone:
		case code := <-ended:
			t.Fatalf("the server was killed %d times before the bench ended with %d: %s\n%s", n, code, out.String(), errOut.String())
		}
		if !p.start(next[n]) {
			t.Fatalf("after kill %d the server did not start", n+1)
		}
	}
	code := <-ended
	var r struct {
		Acked, Delivered, Lost, Duplicated, Reordered, Gaps, Damaged, Reconnects, Resent, History uint64
	}
	if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil {
		t.Fatalf("the bench ended with %d, %v\n%s\n%s", code, err, out.String(), errOut.String())
	}
	if r.Lost+r.Duplicated+r.Reordered+r.Gaps+r.Damaged != 0 || r.History != r.Acked {
		t.Errorf("something is wrong with what was acknowledged: %s", out.String())
	}
	if r.Acked == 0 || r.Reconnects < 8 || r.Resent == 0 { // each of eight connections at least once; some meet two kills before they are back
		t.Errorf("after %d kills there were %d reconnects, %d repeated sends, and %d acknowledged: %s", killed, r.Reconnects, r.Resent, r.Acked, out.String())
	}
	p.stop()
	p.verify()
}
