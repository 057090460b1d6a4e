package app

import (
	"context"
	"errors"
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
		t.Errorf("jobs list says %q, want it to say that there is no database", text)
	}
	admin(0, "key", "create", "--name", "first") // creates the directory
	db, jobs := openJobsAt(t, data)
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

// openJobsAt opens the jobs of a data directory, whose database the caller closes.
func openJobsAt(t *testing.T, data string) (*sqldb.DB, *job.Service) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), filepath.Join(data, recordsFile))
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := job.New(t.Context(), job.Deps{DB: db, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)}, job.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return db, jobs
}

// The text of an error cannot control the operator's terminal, or pretend to be another field.
func TestErrorsOfJobsArePrintedSafely(t *testing.T) {
	data := t.TempDir()
	var out strings.Builder
	if code := AdminMain(t.Context(), []string{"key", "create", "--name", "first", "--data", data}, &out, &out); code != 0 {
		t.Fatalf("exit code %d, want 0: %s", code, out.String())
	}
	db, jobs := openJobsAt(t, data)
	done, err := jobs.Insert(t.Context(), nightly{}, job.Options{Unique: "\x1b[1mkey"})
	if err != nil {
		t.Fatal(err)
	}
	w := job.NewWorkers(map[string]int{job.DefaultQueue: 1})
	ctx, stop := context.WithCancel(t.Context())
	job.Add(w, func(context.Context, job.Job[nightly]) error {
		stop()
		return job.Discard(errors.New("\x1b[2Jtorn\tat 1\nstate      completed"))
	})
	if err := errors.Join(jobs.Run(ctx, w), db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct{ args, want string }{{"jobs list", "\tfailures 0 of 16\t[2Jtorn at 1\n"},
		{"jobs show --id " + strconv.FormatInt(done.ID, 10), "unique     [1mkey\narguments  {\"User\":0}\nerror      [2Jtorn\tat 1\n           state      completed\n"}} {
		out.Reset()
		if code := AdminMain(t.Context(), append(strings.Fields(try.args), "--data", data), &out, &out); code != 0 || strings.Contains(out.String(), "\x1b") || !strings.HasSuffix(out.String(), try.want) {
			t.Errorf("%s prints %q; want the end %q", try.args, out.String(), try.want)
		}
	}
}
