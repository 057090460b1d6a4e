package sqltest

import (
	"os"
	"strconv"
	"testing"
)

// Schedules is how many random schedules a property test runs: as many as an environment variable says, as for long runs; else the usual number, or a third of
// it where each takes several times as long, on PostgreSQL and with the race detector.
func Schedules(t testing.TB, variable string, usual int) int {
	t.Helper()
	if v := os.Getenv(variable); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			t.Fatalf("%s is %q, want a positive number", variable, v)
		}
		return n
	}
	if OnPostgres() || WithRaceDetector {
		return max(1, usual/3)
	}
	return usual
}
