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
	check(t, dir, "video 3", "video 4", "video 5", "video 6", "video 8")
}

// TestRenditionViolations: a rendition on demand that miscounts its tasks is found, and its tasks are not those of its video.
func TestRenditionViolations(t *testing.T) {
	dir := healthy(t)
	for _, statement := range []string{
		`CREATE TABLE videos (id BIGINT PRIMARY KEY, state BIGINT NOT NULL, remaining BIGINT NOT NULL)`,
		`CREATE TABLE video_tasks (video BIGINT NOT NULL, track TEXT NOT NULL, attempts BIGINT NOT NULL, stored BIGINT NOT NULL)`,
		`CREATE TABLE video_on_demand (video BIGINT NOT NULL, track TEXT NOT NULL, remaining BIGINT NOT NULL, used_ms BIGINT NOT NULL)`,
		`INSERT INTO videos (id, state, remaining) VALUES (1, 2, 0)`,
		`INSERT INTO video_on_demand (video, track, remaining, used_ms) VALUES (1, 'a', 1, 0), (1, 'b', 0, 5), (1, 'c', 0, 0), (1, 'd', 2, 0), (1, 'e', 0, 5), (1, 'f', 0, 0)`,
		`INSERT INTO video_tasks (video, track, attempts, stored) VALUES (1, 'audio', 1, 1), (1, 'a', 1, 0), (1, 'a', 1, 1), (1, 'b', 1, 1), (1, 'c', 1, 0), (1, 'd', 1, 0), (1, 'e', 1, 0), (1, 'f', 1, 1)`,
	} {
		execute(t, dir, statement)
	}
	check(t, dir, "video 1 d", "video 1 e", "video 1 f")
}

// check checks that violations of the rule of videos are found at some places, and no others.
func check(t *testing.T, dir string, want ...string) {
	t.Helper()
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
	if !slices.Equal(where, want) {
		t.Errorf("the violations are %v, want %q", r.Violations, want)
	}
}
