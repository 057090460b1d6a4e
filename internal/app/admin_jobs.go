package app

import (
	"cmp"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/printable"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/job"
	"github.com/rialto-im/rialto/internal/service/operation"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

var jobVerbs = []string{"list", "show", "retry", "discard"}

// jobsCommand is a command line of rialto admin jobs.
type jobsCommand struct {
	verb, state, queue, kind string
	id                       int64
	limit                    int
	all                      bool
}

// adminJobsMain is rialto admin jobs. A running server sees what it changed within a second.
func adminJobsMain(ctx context.Context, verb string, args []string, out, errOut io.Writer) int {
	c := jobsCommand{verb: verb}
	fs := flag.NewFlagSet("rialto admin jobs "+verb, flag.ContinueOnError)
	if verb == "list" {
		fs.StringVar(&c.state, "state", string(job.Discarded), "`state` of the jobs: available, running, completed, cancelled, or discarded (dead letters)")
		fs.StringVar(&c.queue, "queue", job.DefaultQueue, "`queue` of the jobs that are available")
		commandline.Int(fs, &c.limit, "limit", 100, 1, 1000, "maximum `number` of jobs, 1 to 1,000")
	} else {
		fs.Int64Var(&c.id, "id", 0, "`id` of the job")
	}
	if verb == "retry" {
		fs.BoolVar(&c.all, "all", false, "retry all dead letters")
		fs.StringVar(&c.kind, "kind", "", "with --all, only those of a `kind`")
	}
	changes := verb == "retry" || verb == "discard"
	return withJobs(ctx, fs, args, out, errOut, adminCommand{changes, func() string { return c.check() }, func(_ *sqldb.DB, jobs *job.Service, by changer) error { return c.run(ctx, jobs, by, out) }})
}

// check returns what is wrong with the flags.
func (c jobsCommand) check() string {
	switch {
	case c.verb == "retry" && (c.id == 0) != c.all:
		return "give either --id or --all"
	case c.kind != "" && !c.all:
		return "--kind needs --all"
	case (c.verb == "show" || c.verb == "discard") && c.id == 0:
		return "--id is required"
	}
	return ""
}

func (c jobsCommand) run(ctx context.Context, jobs *job.Service, by changer, out io.Writer) error {
	switch c.verb {
	case "list":
		list, err := jobs.List(ctx, job.State(c.state), c.queue, c.limit)
		if err != nil {
			return err
		}
		for _, i := range list {
			fmt.Fprintf(out, "%d\t%s\t%s\t%s\tfailures %d of %d\t%s\n", i.ID, printable.Line(i.Kind), i.State, moment(cmp.Or(i.Finished, i.Due)), i.Failures, i.Max, firstLine(i.Error))
		}
		return nil
	case "show":
		i, err := jobs.Get(ctx, c.id)
		if err != nil {
			return err
		}
		show(out, i)
		return nil
	}
	if c.all {
		return c.retryAll(ctx, jobs, by, out)
	}
	return c.change(ctx, operation.New(operation.Deps{Jobs: jobs, Audit: by.audit, Clock: clock.System{}}), by, out)
}

// retryAll makes all dead letters available again. Each batch has an entry in the audit log, with the ids.
func (c jobsCommand) retryAll(ctx context.Context, jobs *job.Service, by changer, out io.Writer) error {
	record := by.record()
	n, err := jobs.RetryDiscarded(ctx, c.kind, func(ctx context.Context, tx *sql.Tx, ids []int64) error {
		of := func(state job.State) string {
			return fmt.Sprintf(`{"state":%q,"jobs":%s}`, state, strings.Join(strings.Fields(fmt.Sprint(ids)), ","))
		}
		return record.Record(ctx, tx, auditlog.Entry{Action: "job.retry", Subject: strings.TrimSpace(fmt.Sprintf("%d dead letters %s", len(ids), c.kind)), Before: of(job.Discarded), After: of(job.Available)})
	})
	fmt.Fprintf(out, "made available again: %d\n", n)
	return err
}

// change retries or stops a job as the console does, with the same entry in the audit log.
func (c jobsCommand) change(ctx context.Context, operations *operation.Service, by changer, out io.Writer) error {
	if c.verb == "retry" {
		if _, err := operations.RetryJob(ctx, by.caller(), &operationv1.RetryJobRequest{Id: uint64(c.id), Reason: by.flags.reason}); err != nil {
			return plain(err)
		}
		fmt.Fprintf(out, "job %d is available again\n", c.id)
		return nil
	}
	j, err := operations.DiscardJob(ctx, by.caller(), &operationv1.DiscardJobRequest{Id: uint64(c.id), Reason: by.flags.reason})
	switch {
	case err != nil:
		return plain(err)
	case j.Cancelling:
		fmt.Fprintf(out, "job %d is running; its node was told to stop it\n", c.id)
	default:
		fmt.Fprintf(out, "job %d is discarded\n", c.id)
	}
	return nil
}

// show prints all of a job. Errors have several lines, which are indented so that they do not look like other fields.
func show(out io.Writer, i job.Info) {
	fmt.Fprintf(out, "id         %d\nkind       %s\nqueue      %s\npriority   %d\nstate      %s\n", i.ID, printable.Line(i.Kind), printable.Line(i.Queue), i.Priority, i.State)
	fmt.Fprintf(out, "created    %s\ndue        %s\nattempted  %s\nfinished   %s\n", moment(i.Created), moment(i.Due), moment(i.Attempted), moment(i.Finished))
	fmt.Fprintf(out, "attempts   %d, the last by %s\nfailures   %d of %d\ntimeout    %s\n", i.Attempt, cmp.Or(printable.Line(i.AttemptedBy), "no node"), i.Failures, i.Max, i.Timeout)
	fmt.Fprintf(out, "unique     %s\narguments  %s\nerror      %s\n", printable.Line(i.Unique), printable.Text(string(i.Args)), strings.ReplaceAll(printable.Text(i.Error), "\n", "\n           "))
}

// firstLine returns the first line of an error that may have several, as it is printed in one.
func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return printable.Line(first)
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
