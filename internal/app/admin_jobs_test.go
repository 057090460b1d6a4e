package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/job"
)

type nightly struct{ User int }

func (nightly) Kind() string { return "nightly" }

// An operator lists, shows, discards and retries jobs.
func TestOperatorsSeeAndRetryJobs(t *testing.T) {
	data := t.TempDir()
	admin := func(wantCode int, args ...string) string {
		t.Helper()
		var out, errOut strings.Builder
		if code := AdminMain(t.Context(), append(args, "--data", data), &out, &errOut); code != wantCode {
			t.Fatalf("%v: exit code %d, %s%s", args, code, out.String(), errOut.String())
		}
		return out.String() + errOut.String()
	}
	if text := admin(1, "jobs", "list"); !strings.Contains(text, "has no database") {
		t.Error(text)
	}
	admin(0, "key", "create", "--name", "first") // creates the directory
	db, err := sqldb.Open(t.Context(), filepath.Join(data, recordsFile))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := job.New(t.Context(), job.Deps{DB: db, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, job.Config{})
	if err != nil {
		t.Fatal(err)
	}
	done, err := jobs.Insert(context.Background(), nightly{User: 5}, job.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	id := strconv.FormatInt(done.ID, 10)
	for _, step := range []struct {
		code int
		args []string
		want string
	}{
		{2, []string{"jobs", "show"}, "--id is required"},
		{2, []string{"jobs", "retry"}, "give either --id or --all"},
		{2, []string{"jobs", "retry", "--id", id, "--all"}, "give either --id or --all"},
		{2, []string{"jobs", "retry", "--id", id, "--kind", "nightly"}, "--kind needs --all"},
		{1, []string{"jobs", "list", "--state", "lost"}, "unknown state"},
		{1, []string{"jobs", "show", "--id", "12345"}, "no such job"},
		{0, []string{"jobs", "list", "--state", "available"}, id + "\tnightly\tavailable"},
		{0, []string{"jobs", "show", "--id", id}, `{"User":5}`},
		{1, []string{"jobs", "retry", "--id", id}, "is available; only"},
		{0, []string{"jobs", "discard", "--id", id}, "is discarded"},
		{0, []string{"jobs", "list"}, "discarded by an operator"},
		{0, []string{"jobs", "retry", "--id", id}, "is available again"},
		{0, []string{"jobs", "discard", "--id", id}, "is discarded"},
		{0, []string{"jobs", "retry", "--all", "--kind", "nightly"}, "made available again: 1"},
	} {
		if text := admin(step.code, step.args...); !strings.Contains(text, step.want) {
			t.Errorf("%v: %s; want %q", step.args, text, step.want)
		}
	}
}
