package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/tool/move"
)

const repairHelp = `repair reports why a data directory is refused. With --accept-loss it makes the stores consistent again without the lost data:
acknowledged messages, or changes of accounts and members, at the end of one store. Try a backup first, and keep a copy of the
directory. Run rialto verify afterwards: it lists the remaining inconsistencies. The server must be stopped. The audit log of the directory
gets an entry with what was accepted and done.
Exit codes: 0 if the directory can be served, 1 if not, 2 for an invalid command line.
`

// RepairMain is rialto repair.
func RepairMain(ctx context.Context, args []string, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("rialto repair", flag.ContinueOnError)
	data := flags.String("data", commandline.DefaultData(), "data `directory` of a server that is stopped")
	accept := flags.Bool("accept-loss", false, "make the directory usable without the lost data")
	by := auditFlags{}
	by.add(flags)
	if code, ok := parse(flags, repairHelp, args, out, errOut); !ok {
		return code
	}
	if wrong := by.check(); wrong != "" {
		fmt.Fprintf(errOut, "rialto repair: %s\n", wrong)
		return 2
	}
	if err := repair(ctx, *data, *accept, by, out); err != nil {
		fmt.Fprintln(errOut, "rialto repair:", err)
		return 1
	}
	return 0
}

func repair(ctx context.Context, data string, accept bool, by auditFlags, out io.Writer) (err error) {
	if _, err := os.Stat(data); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist", data)
	}
	if err := move.CheckSource(data); err != nil {
		return err
	}
	dir, err := lockDataDir(data)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := dir.Close(); err == nil {
			err = cerr
		}
	}()
	o := datadir.Options{Logger: slog.New(slog.DiscardHandler)}
	problem := datadir.Diagnose(ctx, data, o)
	if problem == nil {
		if err := datadir.CheckFilesDir(data); err != nil {
			fmt.Fprintf(out, "note, if the users' files are not in S3: %v\n", err)
		}
		fmt.Fprintf(out, "%s can be served; nothing needs repair\n", data)
		return nil
	}
	if !accept {
		return problem
	}
	done, err := datadir.Repair(ctx, data, o)
	if err == nil || len(done) > 0 { // else nothing was changed, and the error names the problems
		fmt.Fprintf(out, "accepted:\n%s\n", datadir.Describe(problem))
	}
	for _, line := range done {
		fmt.Fprintln(out, line)
	}
	if err != nil {
		return err
	}
	if err := by.recordIn(ctx, data, auditlog.Entry{Action: "data.repair", Subject: "data directory " + data, Before: datadir.Describe(problem), After: strings.Join(done, "\n")}); err != nil {
		return fmt.Errorf("the directory can be served, and only the entry of this repair is missing: %w", err)
	}
	return nil
}
