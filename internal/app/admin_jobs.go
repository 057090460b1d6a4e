package app

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/printable"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/job"
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
		fs.IntVar(&c.limit, "limit", 100, "maximum `number` of jobs, 1 to 1,000")
	} else {
		fs.Int64Var(&c.id, "id", 0, "`id` of the job")
	}
	if verb == "retry" {
		fs.BoolVar(&c.all, "all", false, "retry all dead letters")
		fs.StringVar(&c.kind, "kind", "", "with --all, only those of a `kind`")
	}
	return withJobs(ctx, fs, args, out, errOut, func() string { return c.check() }, func(_ *sqldb.DB, jobs *job.Service) error { return c.run(ctx, jobs, out) })
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

func (c jobsCommand) run(ctx context.Context, jobs *job.Service, out io.Writer) error {
	switch c.verb {
	case "list":
		list, err := jobs.List(ctx, job.State(c.state), c.queue, c.limit)
		if err != nil {
			return err
		}
		for _, i := range list {
			fmt.Fprintf(out, "%d\t%s\t%s\t%s\tfailures %d of %d\t%s\n", i.ID, printable.Line(i.Kind), i.State, moment(cmp.Or(i.Finished, i.Due)), i.Failures, i.Max, firstLine(i.Error))
		}
	case "show":
		i, err := jobs.Get(ctx, c.id)
		if err != nil {
			return err
		}
		show(out, i)
	case "retry":
		if c.all {
			n, err := jobs.RetryDiscarded(ctx, c.kind)
			fmt.Fprintf(out, "made available again: %d\n", n)
			return err
		}
		if err := jobs.Retry(ctx, c.id, nil); err != nil {
			return err
		}
		fmt.Fprintf(out, "job %d is available again\n", c.id)
	case "discard":
		state, err := jobs.Discard(ctx, c.id, nil)
		if err != nil {
			return err
		}
		if state == job.Running {
			fmt.Fprintf(out, "job %d is running; its node was told to stop it\n", c.id)
			return nil
		}
		fmt.Fprintf(out, "job %d is %s\n", c.id, state)
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
