// Package verify reads a data directory that no server uses, or a PostgreSQL as it is at one moment, whoever uses it, or a PostgreSQL
// and a Cassandra, and checks there what Rialto promises: that each conversation is one gap-free sequence with right counts, that
// nothing is stored twice, that what members were sent is in their streams, that the rows say what the log says, and that no
// cursor is ahead of what it counts.
//
// It changes nothing. It trusts neither the rooms' code nor their caches: membership is replayed from the control entries.
package verify

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/pebblelog"
	_ "modernc.org/sqlite" // the records' driver
)

// Violation is one broken promise.
type Violation struct {
	// Rule that is broken: sequence, counts, duplicate, access, author, inbox, delivery, members, cursors, records, damaged.
	Rule string `json:"rule"`
	// Where: a conversation or a user.
	Where string `json:"where"`
	What  string `json:"what"`
}

// Report of a directory.
type Report struct {
	Conversations int         `json:"conversations"`
	Entries       uint64      `json:"entries"`
	Expired       uint64      `json:"expired"`
	Inboxes       int         `json:"inboxes"`
	InboxEntries  uint64      `json:"inbox_entries"`
	Uncarried     uint64      `json:"uncarried"`
	Violations    []Violation `json:"violations"`
	// More violations than are listed.
	More int `json:"more"`
}

const mostListed = 100

func (r *Report) violate(rule, where, format string, args ...any) {
	if len(r.Violations) >= mostListed {
		r.More++
		return
	}
	r.Violations = append(r.Violations, Violation{rule, where, fmt.Sprintf(format, args...)})
}

const usage = `Usage: rialto verify [--data DIR | --postgres ADDRESS [--cassandra HOSTS]] [flags]

verify reads all that is stored, and checks every promise on it. It changes nothing. The server of a data directory must be stopped; a
database is read as it is at one moment, whether servers run or not.
Exit codes: 0 when every promise holds, 1 when one is broken, 2 when it could not be checked.

Flags:
`

// Main is rialto verify. It exits 0 when all holds, 1 when a promise is broken, 2 when the directory cannot be read.
func Main(args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("rialto verify", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.Usage = func() {
		fmt.Fprint(errOut, usage)
		fs.PrintDefaults()
	}
	data := fs.String("data", "data", "data `directory` of a server that is stopped")
	postgres := fs.String("postgres", "", "in place of a directory: `address` of the database, as postgres://user@host/name; servers may run")
	var cassandra cassandraFlags
	cassandra.add(fs)
	asJSON := fs.Bool("json", false, "print the report as JSON")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(errOut, "rialto verify takes no argument %q; give --data DIR\n", fs.Arg(0))
		return 2
	}
	run, place := Run, *data
	if *postgres != "" {
		run, place = RunPostgres, *postgres
	}
	if cassandra.hosts != "" {
		if *postgres == "" {
			fmt.Fprintln(errOut, "rialto verify: --cassandra has the timelines alone; give --postgres ADDRESS for the records")
			return 2
		}
		run = func(ctx context.Context, url string, progress func(string, ...any)) (*Report, error) {
			return RunCassandra(ctx, url, cassandra.options(), progress)
		}
	}
	r, err := run(context.Background(), place, func(format string, args ...any) { fmt.Fprintf(errOut, format+"\n", args...) })
	if err != nil {
		fmt.Fprintln(errOut, "rialto verify:", err)
		return 2
	}
	if *asJSON {
		b, err := json.Marshal(r)
		if err != nil {
			fmt.Fprintln(errOut, "rialto verify:", err)
			return 2
		}
		fmt.Fprintln(out, string(b))
	} else {
		r.print(out)
	}
	if len(r.Violations) > 0 {
		return 1
	}
	return 0
}

func (r *Report) print(out io.Writer) {
	fmt.Fprintf(out, "%d conversations with %d entries, %d more have expired, %d streams with %d entries, %d entries not carried yet\n", r.Conversations, r.Entries, r.Expired, r.Inboxes, r.InboxEntries, r.Uncarried)
	for _, v := range r.Violations {
		fmt.Fprintf(out, "VIOLATED %s, %s: %s\n", v.Rule, v.Where, v.What)
	}
	if r.More > 0 {
		fmt.Fprintf(out, "and %d more\n", r.More)
	}
	if len(r.Violations) == 0 {
		fmt.Fprintln(out, "every promise holds")
	}
}

// store is what is read of a log.
type store interface {
	Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error)
	Tail(ctx context.Context, key timeline.Key) (timeline.Tail, error)
	Read(ctx context.Context, key timeline.Key, after uint64, limit int) ([]timeline.Entry, error)
	Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error)
	TokenSeqs(ctx context.Context, tokens []timeline.Stored) ([]uint64, error)
	LastsBy(ctx context.Context, authors []timeline.Writer) ([]timeline.Place, error)
	HighestCounters(ctx context.Context, devices []timeline.Device) ([]uint64, error)
	Records(ctx context.Context, partition uint16, after uint64, limit int) ([]timeline.Record, error)
	Checkpoint(ctx context.Context, partition uint16) (uint64, error)
}

// querier is a database, or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// check is a place being read.
type check struct {
	ctx    context.Context
	log    store
	db     querier
	report *Report

	conversations map[uint64]*conversation
	// uncarried entries: those of fan-out records above the checkpoints.
	uncarried map[uint64][]timeline.Ref
	later     later
}

// Run checks a directory. progress is told what is being read.
func Run(ctx context.Context, dir string, progress func(format string, args ...any)) (_ *Report, err error) {
	if _, err := os.Stat(filepath.Join(dir, "timeline")); err != nil {
		return nil, fmt.Errorf("%s is no data directory with timelines (%w); those of nodes that share a database are there: give --postgres ADDRESS", dir, err)
	}
	lock, err := hold(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	log, err := pebblelog.Open(filepath.Join(dir, "timeline"), pebblelog.Options{ReadOnly: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "records.db")+"?_pragma=query_only(ON)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	c := &check{ctx: ctx, log: log, db: db}
	return c.run(progress, step{"the records' file", c.file})
}

// step of a check.
type step struct {
	name string
	run  func() error
}

func (c *check) run(progress func(format string, args ...any), first ...step) (*Report, error) {
	c.report, c.conversations, c.uncarried = &Report{}, map[uint64]*conversation{}, map[uint64][]timeline.Ref{}
	for _, s := range append(first, step{"fan-out records", c.records}, step{"conversations", c.readConversations}, step{"members", c.members}, step{"streams", c.inboxes}, step{"cursors", c.cursors}, step{"what was set aside", c.aside}) {
		progress("reading %s …", s.name)
		if err := s.run(); err != nil {
			return nil, fmt.Errorf("reading %s: %w", s.name, err)
		}
	}
	return c.report, nil
}

// hold keeps a server from starting meanwhile.
func hold(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use; stop the server first", dir), lock.Close())
	}
	return lock, nil
}

// records notes what was not carried yet.
func (c *check) records() error {
	for p := range uint16(timeline.Partitions) {
		at, err := c.log.Checkpoint(c.ctx, p)
		if err != nil {
			return err
		}
		for {
			list, err := timeline.AwaitRecords(c.ctx, c.log, p, at, 1000)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				break
			}
			for _, r := range list {
				if r.Seq <= at {
					c.report.violate("records", fmt.Sprintf("partition %d", p), "record %d after %d", r.Seq, at)
				}
				at = r.Seq
				for _, ref := range r.Refs {
					c.uncarried[ref.Key.ID] = append(c.uncarried[ref.Key.ID], ref)
					c.report.Uncarried += ref.To - ref.From + 1
				}
			}
		}
	}
	return nil
}

func (c *check) isUncarried(conversation, seq uint64) bool {
	for _, r := range c.uncarried[conversation] {
		if seq >= r.From && seq <= r.To {
			return true
		}
	}
	return false
}
