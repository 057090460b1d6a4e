package verify_test

import (
	"slices"
	"testing"

	"github.com/rialto-im/rialto/internal/tool/verify"
)

// TestVideoViolations: a video that miscounts its tasks is found.
func TestVideoViolations(t *testing.T) {
	dir := healthy(t)
	for _, statement := range []string{
		`CREATE TABLE videos (id BIGINT PRIMARY KEY, state BIGINT NOT NULL, remaining BIGINT NOT NULL)`,
		`CREATE TABLE video_tasks (video BIGINT NOT NULL, attempts BIGINT NOT NULL, stored BIGINT NOT NULL)`,
		`INSERT INTO videos (id, state, remaining) VALUES (1, 2, 0), (2, 1, 1), (3, 1, 2), (4, 2, 1), (5, 1, 0), (6, 2, 0), (7, 4, 9), (8, 0, 1)`,
		`INSERT INTO video_tasks (video, attempts, stored) VALUES (1, 2, 1), (2, 1, 0), (2, 1, 1), (3, 1, 0), (4, 1, 0), (5, 1, 1), (6, 1, 2)`,
	} {
		execute(t, dir, statement)
	}
	r, err := verify.Run(t.Context(), dir, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	var where []string
	for _, v := range r.Violations {
		if where = append(where, v.Where); v.Rule != "videos" {
			t.Errorf("%s violates %s: %s", v.Where, v.Rule, v.What)
		}
	}
	if want := []string{"video 3", "video 4", "video 5", "video 6", "video 8"}; !slices.Equal(where, want) {
		t.Errorf("the violations are %v, want %q", r.Violations, want)
	}
}
