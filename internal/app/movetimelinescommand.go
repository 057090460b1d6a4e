package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/tool/move"
)

const moveTimelinesHelp = `move timelines moves the timelines (conversations, streams of devices, feeds) of any number of nodes from PostgreSQL to Cassandra. The
nodes may run: from the beginning on they answer reads, and refuse all writes, as while their database is away. At the end both
sides are compared, and no process can use the timelines in PostgreSQL any more. Then start the nodes with the settings of Cassandra.

move timelines --to-postgres moves them back, likewise. From the beginning on, no node starts. At the end, start the nodes without the settings of
Cassandra.

A move that was interrupted continues when it is run again. Before its end, --abort restores the state from before.

The configuration is that of the nodes with Cassandra: pass their file with --config, or use --set and the flags below.
Exit codes: 0 if the timelines were moved, 1 if the sides differ or the move failed, 2 for an invalid command line or configuration.
`

// moveTimelinesMain is rialto move timelines.
func moveTimelinesMain(ctx context.Context, args []string, out, errOut io.Writer) int {
	var f flags
	var cassandra string
	var toPostgres, abort bool
	var batch int
	var by auditFlags
	fs := flag.NewFlagSet("rialto move timelines", flag.ContinueOnError)
	fs.StringVar(&f.file, "config", "", "configuration `file` (YAML) of the nodes with Cassandra")
	fs.StringVar(&cassandra, "to-cassandra", "", "`HOSTS` of Cassandra, separated by commas: the same as --set cassandra.hosts=HOSTS")
	fs.BoolVar(&toPostgres, "to-postgres", false, "move from Cassandra to PostgreSQL, the nodes' database")
	fs.Var(&f.set, "set", "any setting of the nodes with Cassandra as `NAME=VALUE`; may be repeated")
	fs.BoolVar(&abort, "abort", false, "end a move that is not complete: the nodes store where they did before; with --to-postgres, a move back")
	commandline.Int(fs, &batch, "batch", 0, 1, 1_000_000, "`rows` after which the position is stored (default 20000)")
	by.add(fs)
	if code, ok := parse(fs, moveTimelinesHelp, args, out, errOut); !ok {
		return code
	}
	if wrong := by.check(); wrong != "" {
		fmt.Fprintf(errOut, "rialto move timelines: %s\n", wrong)
		return 2
	}
	if cassandra != "" {
		f.set = append(f.set, "cassandra.hosts="+cassandra)
	}
	c, err := f.load(os.Environ())
	switch {
	case err != nil:
	case c.Postgres == "":
		err = errors.New("postgres: give the address of the nodes' database; rialto move --data DIR moves the data of a single node")
	case toPostgres && cassandra != "":
		err = errors.New("--to-postgres and --to-cassandra are opposite directions: name the hosts of Cassandra with --set cassandra.hosts=HOSTS")
	case toPostgres && len(c.Cassandra.Hosts) == 0:
		err = errors.New("no source: use --set cassandra.hosts=HOSTS, or --config FILE with the settings that the nodes have")
	case len(c.Cassandra.Hosts) == 0:
		err = errors.New("no target: use --to-cassandra HOSTS, or --config FILE with cassandra.hosts")
	}
	if err != nil {
		fmt.Fprintf(errOut, "rialto move timelines: the configuration is invalid:\n%v\n", err)
		return 2
	}
	if err := moveTimelines(ctx, c, timelinesOrder{toPostgres, abort, batch}, by, out, errOut); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted; run it again to continue, or with --abort")
		}
		fmt.Fprintln(errOut, "rialto move timelines:", err)
		return 1
	}
	return 0
}

// timelinesOrder is what rialto move timelines is to do.
type timelinesOrder struct {
	toPostgres, abort bool
	batch             int
}

// moveTimelines moves the timelines, or ends a move that is not complete.
func moveTimelines(ctx context.Context, c *config.Config, order timelinesOrder, by auditFlags, out, errOut io.Writer) error {
	engines, err := moveOptions(c, errOut)
	if err != nil {
		return err
	}
	printer := progress.New(errOut)
	o := move.TimelinesOptions{Postgres: c.Postgres, Cassandra: *engines.Cassandra, Back: order.toPostgres, Setting: timelinesPlace(c), Say: printer.Say, Batch: order.batch, Logger: engines.Logger}
	from, to, next := move.InPostgreSQL, o.Setting, "with its settings"
	if o.Back {
		from, to, next = o.Setting, move.InPostgreSQL, "without the settings of Cassandra"
	}
	done := "moved"
	if order.abort {
		if err := move.AbortTimelines(ctx, o); err != nil {
			return err
		}
		done = "aborted"
		if o.Back {
			fmt.Fprintln(out, "the timelines are in", from, "as before")
		} else {
			fmt.Fprintln(out, "the nodes store timelines in PostgreSQL again; before another move, empty", to, "or use another cassandra.store")
		}
	} else {
		r, err := move.RunTimelines(progress.With(ctx, printer), o)
		if r != nil {
			r.Print(out)
		}
		if err != nil {
			return err
		}
		if len(r.Differences) > 0 {
			if o.Back {
				return errors.New("the sides differ, so nothing was switched: end the move with --abort, and move again")
			}
			return errors.New("the sides differ, so nothing was switched: end the move with --abort, empty the target, and move again")
		}
		fmt.Fprintln(out, "the timelines are in", to, "now: start the nodes", next)
	}
	if err := recordTimelineMove(ctx, c, by, to, done); err != nil {
		return fmt.Errorf("that is done, and only its entry in the audit log is missing: %w", err)
	}
	return nil
}

// recordTimelineMove records what was done in the audit log.
func recordTimelineMove(ctx context.Context, c *config.Config, by auditFlags, target, done string) error {
	db, err := sqldb.Open(ctx, c.Postgres)
	if err != nil {
		return err
	}
	return errors.Join(by.record(ctx, db, auditlog.Entry{Action: "data.move_timelines", Subject: target, After: done}), db.Close())
}
