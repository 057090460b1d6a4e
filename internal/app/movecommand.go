package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/base/telemetry"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/tool/move"
)

const moveHelp = `move copies a data directory into the engines that nodes share: SQL data into PostgreSQL, timelines there too or
into Cassandra, files into S3 if that is configured. The server must be stopped. The directory is only read. At the end both sides
are compared, and the directory gets a mark that prevents a server from using it. A move that was interrupted continues when it is run again.

rialto move timelines moves the timelines of nodes from PostgreSQL to Cassandra, or back: see rialto move timelines --help.

The target is defined by the configuration of the new nodes: pass their file with --config, or use the flags below.
Exit codes: 0 if everything was moved and both sides are equal, 1 if they differ or the move failed, 2 for an invalid command line or
configuration.
`

// moveFlags of rialto move.
type moveFlags struct {
	flags
	postgres, cassandra, s3 string
	verifyOnly, undo        bool
	batch                   int
	by                      auditFlags
}

func (f *moveFlags) parse(args []string, out, errOut io.Writer) (int, bool) {
	fs := flag.NewFlagSet("rialto move", flag.ContinueOnError)
	fs.StringVar(&f.file, "config", "", "configuration `file` (YAML) of the new nodes")
	fs.StringVar(&f.data, "data", "", "data `directory` to move (default ./data)")
	fs.StringVar(&f.postgres, "to-postgres", "", "`address` of the database, such as postgres://user@host/name")
	fs.StringVar(&f.cassandra, "to-cassandra", "", "`HOSTS` of Cassandra for the timelines, separated by commas; by default they go to PostgreSQL")
	fs.StringVar(&f.s3, "to-s3", "", "`URL` of a bucket for the files: https://HOST/BUCKET or https://HOST/BUCKET/PREFIX; by default they stay on the disk")
	fs.Var(&f.set, "set", "any setting of the new nodes as `NAME=VALUE`; may be repeated")
	fs.BoolVar(&f.verifyOnly, "verify-only", false, "compare a completed move with its directory again, and move nothing")
	commandline.Int(fs, &f.batch, "batch", 0, 1, 1_000_000, "`rows` of one transaction (default 20000)")
	fs.BoolVar(&f.undo, "undo", false, "remove the mark from the directory, so that a server can use it again, without data stored after the move")
	f.by.add(fs)
	code, ok := parse(fs, moveHelp, args, out, errOut)
	if wrong := f.by.check(); ok && wrong != "" {
		fmt.Fprintf(errOut, "rialto move: %s\n", wrong)
		return 2, false
	}
	return code, ok
}

// MoveMain is rialto move.
func MoveMain(ctx context.Context, args []string, out, errOut io.Writer) int {
	if len(args) > 0 && args[0] == "timelines" {
		return moveTimelinesMain(ctx, args[1:], out, errOut)
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return noCommand("rialto move", args, []string{"timelines"}, "rialto move --help and rialto move timelines --help show how.\n", errOut)
	}
	var f moveFlags
	if code, ok := f.parse(args, out, errOut); !ok {
		return code
	}
	err := f.targets()
	var c *config.Config
	if err == nil {
		c, err = f.load(os.Environ())
	}
	if err == nil && c.Postgres == "" && !f.undo {
		err = errors.New("no target: use --to-postgres ADDRESS, or --config FILE of the new nodes")
	}
	if err != nil {
		fmt.Fprintf(errOut, "rialto move: the configuration is invalid:\n%v\n", err)
		return 2
	}
	if f.undo {
		if err := f.undoMove(ctx, c.Data); err != nil {
			fmt.Fprintln(errOut, "rialto move:", err)
			return 1
		}
		fmt.Fprintf(out, "%s can be served again, as it was before the move\n", c.Data)
		return 0
	}
	o, err := moveOptions(c, errOut)
	if err != nil {
		fmt.Fprintln(errOut, "rialto move:", err)
		return 2
	}
	o.VerifyOnly, o.Batch = f.verifyOnly, f.batch
	printer := progress.New(errOut)
	o.Say = printer.Say
	r, err := move.Run(progress.With(ctx, printer), o)
	if r != nil {
		r.Print(out)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted; run it again to continue")
		}
		fmt.Fprintln(errOut, "rialto move:", err)
		return 1
	}
	if len(r.Differences) > 0 {
		fmt.Fprintln(errOut, "rialto move: the target differs from the directory; empty the target, and move again. The directory is unchanged.")
		return 1
	}
	if f.verifyOnly {
		return 0
	}
	if err := f.recordMove(ctx, c); err != nil {
		fmt.Fprintln(errOut, "rialto move: the move is complete, and only its entry is missing:", err)
		return 1
	}
	return 0
}

// recordMove records the move in the audit log of the target.
func (f *moveFlags) recordMove(ctx context.Context, c *config.Config) error {
	db, err := sqldb.Open(ctx, c.Postgres)
	if err != nil {
		return fmt.Errorf("the audit log: %w", err)
	}
	return errors.Join(f.by.record(ctx, db, auditlog.Entry{Action: move.AuditAction, Subject: "data directory " + c.Data, After: "moved"}), db.Close())
}

// undoMove makes the directory usable again, and records that in its audit log.
func (f *moveFlags) undoMove(ctx context.Context, data string) error {
	if err := move.Undo(data); err != nil {
		return err
	}
	err := inDatabase(ctx, data, "", func(db *sqldb.DB) error {
		return f.by.record(ctx, db, auditlog.Entry{Action: "data.undo_move", Subject: "data directory " + data, Before: "moved"})
	})
	if err != nil {
		return fmt.Errorf("the directory can be served again, and only the entry of that is missing: %w", err)
	}
	return nil
}

// targets makes settings of the flags that name engines.
func (f *moveFlags) targets() error {
	for name, text := range map[string]string{"postgres": f.postgres, "cassandra.hosts": f.cassandra} {
		if text != "" {
			f.set = append(f.set, name+"="+text)
		}
	}
	if f.s3 == "" {
		return nil
	}
	scheme, rest, _ := strings.Cut(f.s3, "://")
	host, path, _ := strings.Cut(rest, "/")
	bucket, prefix, _ := strings.Cut(strings.Trim(path, "/"), "/")
	if host == "" || bucket == "" {
		return errors.New("flag --to-s3: want https://HOST/BUCKET, or https://HOST/BUCKET/PREFIX")
	}
	f.set = append(f.set, "s3.endpoint="+scheme+"://"+host, "s3.bucket="+bucket, "s3.prefix="+prefix)
	return nil
}

// moveOptions are the engines of a configuration as targets.
func moveOptions(c *config.Config, errOut io.Writer) (move.Options, error) {
	log := c.Log
	log.Level = "warn"
	logger, err := telemetry.NewLogger(log, errOut)
	if err != nil {
		return move.Options{}, err
	}
	o := move.Options{Data: c.Data, Postgres: c.Postgres, Logger: logger}
	if len(c.Cassandra.Hosts) > 0 {
		cassandra := cassandraOptions(c)
		o.Cassandra = &cassandra
	}
	if c.S3.Endpoint != "" {
		s3 := s3Config(c)
		o.S3 = &s3
	}
	return o, nil
}
