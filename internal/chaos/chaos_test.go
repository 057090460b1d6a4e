package chaos_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/chaos"
	"github.com/rialto-im/rialto/internal/sqldb/sqltest"
)

// TestAShortRun has a node of three killed, under load, and every promise hold. The report is there, and judging its record again says
// the same.
func TestAShortRun(t *testing.T) {
	database, err := chaos.NewPostgres(sqltest.PairOf(t, chaos.PairOptions()))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r, err := chaos.Run(t.Context(), chaos.Config{Dir: dir, Database: database, Over: 8 * time.Second, Every: 2 * time.Second, Longest: 2 * time.Second, Only: []string{chaos.Kill},
		Calm: 2 * time.Second, Rate: 0.5, Noise: time.Minute, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Plan) == 0 {
		t.Error("nothing was planned")
	}
	for _, v := range r.Verdicts {
		if v.State == chaos.Violated || v.State == chaos.Unknown {
			t.Errorf("%s is %s: %s %v", v.Rule, v.State, v.What, v.Found)
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "every promise held") || strings.Count(string(page), "kill n") < len(r.Plan) {
		t.Errorf("the report: %v, %d bytes", err, len(page))
	}
	again, err := chaos.Judge(dir)
	if err != nil || len(again) == 0 || !slices.EqualFunc(again, r.Verdicts[:len(again)], func(a, b chaos.Verdict) bool { return a.Rule == b.Rule && a.State == b.State && a.What == b.What }) {
		t.Errorf("judged again: %v, %v", again, err)
	}
}
