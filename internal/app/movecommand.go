package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/rialto-im/rialto/internal/config"
	"github.com/rialto-im/rialto/internal/move"
	"github.com/rialto-im/rialto/internal/telemetry"
)

const moveHelp = `move brings the contents of a data directory into the engines that nodes share: records into PostgreSQL, timelines there too or
into Cassandra, files into S3 where that is configured. The server must be stopped. The directory is read only; at the end it
gets a mark that keeps a server from going on with it, and both sides are compared. A move that was killed goes on when it is run again.

The target is what the configuration of the new nodes says: give their file with --config, or the flags below.
Exit codes: 0 when all was moved and both sides are equal, 1 when they differ or it failed, 2 for a command line or a configuration
that cannot be used.
`

// moveFlags of rialto move.
type moveFlags struct {
	flags
	postgres, cassandra, s3 string
	verifyOnly, undo        bool
	batch                   int
}

func (f *moveFlags) parse(args []string, out, errOut io.Writer) (int, bool) {
	fs := flag.NewFlagSet("rialto move", flag.ContinueOnError)
	fs.StringVar(&f.file, "config", "", "configuration `file` (YAML) of the new nodes")
	fs.StringVar(&f.data, "data", "", "data `directory` to move (default ./data)")
	fs.StringVar(&f.postgres, "to-postgres", "", "`address` of the database, as postgres://user@host/name")
	fs.StringVar(&f.cassandra, "to-cassandra", "", "`HOSTS` of Cassandra for the timelines, with commas between; default: they go to PostgreSQL")
	fs.StringVar(&f.s3, "to-s3", "", "`URL` of a bucket for the files, as https://HOST/BUCKET or https://HOST/BUCKET/PREFIX; default: they stay on the disk")
	fs.Var(&f.set, "set", "any setting of the new nodes as `NAME=VALUE`; may be repeated")
	fs.BoolVar(&f.verifyOnly, "verify-only", false, "compare a completed move with its directory again, and move nothing")
	fs.IntVar(&f.batch, "batch", 0, "`rows` of one transaction (default 20000)")
	fs.BoolVar(&f.undo, "undo", false, "take the mark off the directory, so that a server may run on it again, without what came after the move")
	return parse(fs, moveHelp, args, out, errOut)
}

// MoveMain is rialto move.
func MoveMain(ctx context.Context, args []string, out, errOut io.Writer) int {
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
		err = errors.New("say where to: --to-postgres ADDRESS, or --config FILE of the new nodes")
	}
	if err != nil {
		fmt.Fprintf(errOut, "rialto move: the configuration cannot be used:\n%v\n", err)
		return 2
	}
	if f.undo {
		if err := move.Undo(c.Data); err != nil {
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
	r, err := move.Run(ctx, o)
	if r != nil {
		r.Print(out)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("it was stopped; run it again, and it goes on from here")
		}
		fmt.Fprintln(errOut, "rialto move:", err)
		return 1
	}
	if len(r.Differences) > 0 {
		fmt.Fprintln(errOut, "rialto move: the target is not what the directory is; empty it, and move again. The directory can be served as before.")
		return 1
	}
	return 0
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
		return errors.New("flag --to-s3: give https://HOST/BUCKET, or https://HOST/BUCKET/PREFIX")
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
	o := move.Options{Data: c.Data, Postgres: c.Postgres, Logger: logger, Say: func(format string, args ...any) { fmt.Fprintf(errOut, format+"\n", args...) }}
	if len(c.Cassandra.Hosts) > 0 {
		cassandra := cassandraOf(c)
		o.Cassandra = &cassandra
	}
	if c.S3.Endpoint != "" {
		s3 := s3Of(c)
		o.S3 = &s3
	}
	return o, nil
}
