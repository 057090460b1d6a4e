package app

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/activity"
)

// adminActivityMain is rialto admin activity.
func adminActivityMain(ctx context.Context, verb string, args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("rialto admin activity "+verb, flag.ContinueOnError)
	var where adminDatabase
	where.add(fs)
	var days int
	commandline.Int(fs, &days, "days", 30, 1, activity.MaxDays, fmt.Sprintf("`number` of days, 1 to %d", activity.MaxDays))
	if code, ok := parse(fs, "It also works while a server uses the directory.\n", args, out, errOut); !ok {
		return code
	}
	err := where.use(ctx, fs, func(db *sqldb.DB) error {
		s, err := activity.New(ctx, activity.Deps{DB: db, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return err
		}
		r, err := s.Report(ctx, days)
		if err != nil {
			return err
		}
		return showActivity(out, r)
	})
	if err != nil {
		fmt.Fprintln(errOut, "rialto admin:", plain(err))
		return 1
	}
	return 0
}

// showActivity prints a line for each day, today first.
func showActivity(out io.Writer, r *activity.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "day\tactive\t1 day later\t7 days later\t30 days later\t\n")
	for _, d := range r.Days {
		fmt.Fprintf(w, "%s\t%d\t", d.Begin.Format(time.DateOnly), d.Active)
		for _, n := range d.Returned {
			fmt.Fprintf(w, "%s\t", percent(n, d.Active))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
