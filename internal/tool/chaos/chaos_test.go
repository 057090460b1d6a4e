package chaos_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/tool/chaos"
)

// TestShortRun kills one of three nodes under load and expects that no rule is violated. The report exists, and checking its recording
// again gives the same result.
func TestShortRun(t *testing.T) {
	database, err := chaos.NewPostgres(sqltest.PairOf(t, chaos.PairOptions()))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r, err := chaos.Run(t.Context(), chaos.Config{Dir: dir, Database: database, Over: 8 * time.Second, Every: 2 * time.Second, Longest: 2 * time.Second, Only: []string{chaos.Kill},
		WarmUp: 2 * time.Second, Rate: 0.5, BaselineLatency: time.Minute, DetectionTime: time.Hour, Progress: t.Logf}) // beside other tests no call is held to a time
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Plan) == 0 {
		t.Error("the schedule is empty")
	}
	for _, v := range r.Verdicts {
		if v.State == chaos.Violated || v.State == chaos.Unknown {
			t.Errorf("rule %s: got %s, want holds: %s %v", v.Rule, v.State, v.What, v.Found)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "all rules hold") || strings.Count(string(page), "kill n") < len(r.Plan) {
		t.Errorf("the report lacks the result or the faults: error %v, %d bytes", err, len(page))
	}
	again, err := chaos.Recheck(dir)
	if err != nil || len(again) == 0 || !slices.EqualFunc(again, r.Verdicts[:len(again)], func(a, b chaos.Verdict) bool { return a.Rule == b.Rule && a.State == b.State && a.What == b.What }) {
		t.Errorf("checking the recording again: got %v, %v, want the same verdicts", again, err)
	}
}
