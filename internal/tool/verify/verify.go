// Package verify checks stored data: a data directory that no server uses, a snapshot of a PostgreSQL that servers may use, or a
// PostgreSQL and a Cassandra. It checks Rialto's guarantees: each conversation is a gap-free sequence with correct counts, nothing is
// stored twice, members' streams contain what was sent to them, the rows match the logs, and no cursor is beyond its conversation's end.
//
// It changes nothing. It does not rely on the services' code or caches: it replays memberships from the control entries.
package verify

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rialto-im/rialto/internal/base/commandline"
	"github.com/rialto-im/rialto/internal/base/printable"
	"github.com/rialto-im/rialto/internal/base/progress"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/platform/datadir"
)

// Violation of a guarantee.
type Violation struct {
	// Rule that is violated: directory, sequence, counts, duplicate, access, author, inbox, delivery, members, cursors, records, cold, feed, comments, notifications, videos, transactions, counters, damaged.
	Rule string `json:"rule"`
	// Where: a conversation or a user.
	Where string `json:"where"`
	What  string `json:"what"`
}

// Report of a check.
type Report struct {
	Conversations int    `json:"conversations"`
	Entries       uint64 `json:"entries"`
	Expired       uint64 `json:"expired"`
	// Cold is the number of entries that were read from segments.
	Cold         uint64 `json:"cold"`
	Inboxes      int    `json:"inboxes"`
	InboxEntries uint64 `json:"inbox_entries"`
	Undelivered  uint64 `json:"undelivered"`
	// Windows of home timelines.
	Windows    int         `json:"windows"`
	Violations []Violation `json:"violations"`
	// More is the number of violations that are not listed.
	More int `json:"more"`
	// Notes list what could not be checked.
	Notes []string `json:"notes,omitempty"`
}

const maxListed = 100

func (r *Report) violate(rule, where, format string, args ...any) {
	if len(r.Violations) >= maxListed {
		r.More++
		return
	}
	r.Violations = append(r.Violations, Violation{rule, where, fmt.Sprintf(format, args...)})
}

const usage = `Usage: rialto verify [--data DIR | --postgres ADDRESS [--cassandra HOSTS]] [--s3 URL] [flags]

verify reads all stored data and checks its consistency. It changes nothing, and a directory may be read-only. The server of a data
directory must be stopped; a database is read as a snapshot, even while servers run.
Exit codes: 0 if all guarantees hold, 1 if one is violated, 2 if the data could not be checked.

Flags:
`

// Main is rialto verify. It exits 0 if all guarantees hold, 1 if one is violated, 2 if the data cannot be read.
func Main(args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("rialto verify", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.Usage = func() {
		fmt.Fprint(errOut, usage)
		fs.PrintDefaults()
	}
	data := fs.String("data", commandline.DefaultData(), "data `directory` of a server that is stopped")
	postgres := fs.String("postgres", "", "check a database instead: its `address`, such as postgres://user@host/name; servers may run")
	var cassandra cassandraFlags
	cassandra.add(fs)
	s3 := fs.String("s3", "", "`URL` of the bucket that has the files: https://HOST/BUCKET or https://HOST/BUCKET/PREFIX, with its keys in "+accessKeyVariable+" and "+secretKeyVariable)
	asJSON := fs.Bool("json", false, "print the report as JSON")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(errOut, "rialto verify: unexpected argument %q; use --data DIR\n", fs.Arg(0))
		return 2
	}
	run, place := runDir, *data
	if *postgres != "" {
		run, place = runPostgres, *postgres
	}
	if cassandra.hosts != "" {
		if *postgres == "" {
			fmt.Fprintln(errOut, "rialto verify: --cassandra has only the timelines; add --postgres ADDRESS for the SQL data")
			return 2
		}
		run = func(ctx context.Context, url string, bucket blob.Store, progress func(string, ...any)) (*Report, error) {
			return runCassandra(ctx, url, cassandra.options(), bucket, progress)
		}
	}
	var bucket blob.Store
	if *s3 != "" {
		var err error
		if bucket, err = openBucket(context.Background(), *s3); err != nil {
			fmt.Fprintln(errOut, "rialto verify:", err)
			return 2
		}
	}
	printer := progress.New(errOut)
	r, err := run(progress.With(context.Background(), printer), place, bucket, printer.Say)
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
	count := printable.Count[uint64]
	fmt.Fprintf(out, "%s with %s (%d of them cold), %d expired, %s with %s, %s not fanned out yet, %s\n", printable.Count(r.Conversations, "conversation"), count(r.Entries, "entry"), r.Cold, r.Expired,
		printable.Count(r.Inboxes, "stream"), count(r.InboxEntries, "entry"), count(r.Undelivered, "entry"), printable.Count(r.Windows, "home timeline"))
	for _, v := range r.Violations {
		fmt.Fprintf(out, "VIOLATED %s, %s: %s\n", v.Rule, v.Where, v.What)
	}
	if r.More > 0 {
		fmt.Fprintf(out, "and %d more\n", r.More)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(out, "note:", n)
	}
	if len(r.Violations) == 0 {
		fmt.Fprintln(out, "all guarantees hold")
	}
}

// store is the part of a log that is read.
type store interface {
	Keys(ctx context.Context, kind timeline.Kind, above uint64, limit int) ([]timeline.Key, error)
	Tail(ctx context.Context, key timeline.Key) (timeline.Tail, error)
	Read(ctx context.Context, key timeline.Key, after uint64, limit int) ([]timeline.Entry, error)
	Get(ctx context.Context, refs []timeline.Ref) ([]timeline.Entry, error)
	TokenSeqs(ctx context.Context, tokens []timeline.TokenKey) ([]uint64, error)
	LatestByAuthors(ctx context.Context, authors []timeline.AuthorKey) ([]timeline.Position, error)
	HighestCounters(ctx context.Context, devices []timeline.Device) ([]uint64, error)
	FanoutRecords(ctx context.Context, partition uint16, after uint64, limit int) ([]timeline.FanoutRecord, error)
	Checkpoint(ctx context.Context, partition uint16) (uint64, error)
}

// check is the state of one check.
type check struct {
	ctx    context.Context
	log    store
	db     sqldb.Querier
	blobs  blob.Store // has the segments of the cold tier; nil: they are not checked
	files  *sql.DB    // the SQL database file of a data directory
	report *Report
	local  bool // a data directory: unreadable data is reported, and the rest is checked

	conversations   map[uint64]*conversation
	keysUnreadable  map[timeline.Kind]bool // kinds whose keys could not be listed completely by entries
	tailsUnreadable bool                   // conversations could not be listed by tails either
	// undelivered has the entries of fan-out records above the checkpoints.
	undelivered map[uint64][]timeline.Ref
	pending     pendingLookups
	// unreadable counts the items that eachHalf reported.
	unreadable int
}

// Run checks a directory, which may be read-only. It calls progress with the current step.
func Run(ctx context.Context, dir string, progress func(format string, args ...any)) (*Report, error) {
	return runDir(ctx, dir, nil, progress)
}

// runDir is Run; bucket has the files if they are not in the directory.
func runDir(ctx context.Context, dir string, bucket blob.Store, progress func(format string, args ...any)) (_ *Report, err error) {
	if !isDataDir(dir) {
		return nil, fmt.Errorf("%s is not a data directory: it has neither %s nor %s; for nodes with a shared database, use --postgres ADDRESS", dir, datadir.DatabaseFile, datadir.TimelinesDir)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	c := &check{ctx: ctx, local: true, report: &Report{}}
	if readable, err := c.directory(dir); err != nil || !readable {
		return c.report, err
	}
	log, err := pebblelog.Open(filepath.Join(dir, datadir.TimelinesDir), pebblelog.Options{ReadOnly: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return c.report, c.damaged(filepath.Join(dir, datadir.TimelinesDir), err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	db, closeDB, err := sqldb.OpenSnapshot(filepath.Join(dir, datadir.DatabaseFile))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeDB()) }()
	c.log, c.db, c.files, c.blobs = log, db, db, coldFiles(dir, bucket)
	if err := c.identity(log, dir); err != nil {
		return c.report, err
	}
	tables := func() error { return c.tables(log, filepath.Join(dir, datadir.TimelinesDir)) }
	return c.run(progress, step{"the SQL database", c.file}, step{"the tables of the timelines", tables})
}

func isDataDir(dir string) bool {
	for _, name := range []string{datadir.DatabaseFile, datadir.TimelinesDir, datadir.MarkerFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// directory reports what is missing in the directory, and whether the rest can be read.
func (c *check) directory(dir string) (readable bool, err error) {
	err = datadir.Check(c.ctx, dir)
	lost := (*datadir.DamagedError)(nil)
	if !errors.As(err, &lost) {
		return err == nil, err
	}
	for _, p := range lost.Problems {
		c.report.violate("directory", dir, "%s", p)
	}
	return lost.Repairable, nil
}

// identity compares what the stores have recorded about each other.
func (c *check) identity(log *pebblelog.Log, dir string) error {
	if len(c.report.Violations) > 0 {
		return nil // missing files were reported
	}
	meta, err := log.Meta()
	if err != nil {
		return c.damaged(filepath.Join(dir, datadir.TimelinesDir), err)
	}
	records, err := sqldb.ReadMeta(c.ctx, c.files)
	if err != nil {
		return c.damaged(filepath.Join(dir, datadir.DatabaseFile), err)
	}
	for _, p := range datadir.Compare(dir, records, meta) {
		c.report.violate("directory", dir, "%s", p)
	}
	return nil
}

// tables reports the damaged tables of the timelines, also where no row shows the damage.
func (c *check) tables(log *pebblelog.Log, dir string) error {
	step, damaged := progress.Of(c.ctx).Step("reading tables"), 0
	defer step.End()
	at := func(done float64) { step.At(done, fmt.Sprintf("%d damaged", damaged)) }
	return log.CheckTables(c.ctx, dir, at, func(path string, err error) {
		damaged++
		c.report.violate("damaged", path, "restore a backup: it does not match its checksums: %s", errorText(err))
	})
}

// errorText is the text of an error of Pebble in one line.
func errorText(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "<corruption detail carrier>", "")), " ")
}

// step of a check.
type step struct {
	name string
	run  func() error
}

func (c *check) run(progress func(format string, args ...any), first ...step) (*Report, error) {
	if c.report == nil {
		c.report = &Report{}
	}
	c.conversations, c.undelivered, c.keysUnreadable = map[uint64]*conversation{}, map[uint64][]timeline.Ref{}, map[timeline.Kind]bool{}
	for _, s := range append(first, step{"fan-out records", c.records}, step{"the manifest of old messages", c.openCold}, step{"conversations", c.readConversations}, step{"members", c.members}, step{"streams", c.inboxes}, step{"cursors", c.cursors}, step{"posts and home timelines", c.feeds}, step{"comments", c.comments}, step{"notifications", c.notifications}, step{"videos", c.videos}, step{"message transactions", c.transactions}, step{"counters", c.counters}, step{"likes, reposts and popular comments", c.engagement}, step{"quarantine", c.quarantine}) {
		progress("reading %s …", s.name)
		if c.tailsUnreadable && s.name != "quarantine" {
			c.report.violate("damaged", s.name, "not checked: not all conversations can be listed")
			continue
		}
		if err := c.damaged(s.name, s.run()); err != nil {
			return nil, fmt.Errorf("reading %s: %w", s.name, err)
		}
	}
	return c.report, nil
}

// damaged reports unreadable data of a data directory as a violation, so that the rest is checked too, and returns nil. For a database,
// which may be unavailable, the error ends the check.
func (c *check) damaged(where string, err error) error {
	if err == nil || !c.local || c.ctx.Err() != nil {
		return err
	}
	what := errorText(err)
	if file := pebblelog.CorruptFile(err); file != "" && !strings.Contains(what, file) {
		what = file + ": " + what
	}
	c.report.violate("damaged", where, "cannot be read: %s", what)
	return nil
}

// maxUnreadable bounds the search for unreadable items: a failed read of a damaged block takes a tenth of a second, because Pebble searches for
// the flipped bit, and a block has hundreds of rows.
const maxUnreadable = 20

// eachHalf calls ask for a list and, if that fails, for its halves, so that only the unreadable items are reported. After maxUnreadable items,
// it leaves out lists that fail, and notes it.
func eachHalf[T any](c *check, list []T, where func(T) string, ask func([]T) error) error {
	err := ask(list)
	if err == nil || !c.local || len(list) == 0 || c.ctx.Err() != nil {
		return err
	}
	if len(list) == 1 {
		c.unreadable++
		return c.damaged(where(list[0]), err)
	}
	if c.unreadable >= maxUnreadable {
		c.note("there are many unreadable items, so some lookups with unreadable items were skipped")
		return nil
	}
	half := len(list) / 2
	if err := eachHalf(c, list[:half], where, ask); err != nil {
		return err
	}
	return eachHalf(c, list[half:], where, ask)
}

// note adds a note about what could not be checked, once.
func (c *check) note(what string) {
	if !slices.Contains(c.report.Notes, what) {
		c.report.Notes = append(c.report.Notes, what)
	}
}

// lockDir prevents a server from starting during the check.
func lockDir(dir string) (*os.File, error) {
	lock, err := os.Open(filepath.Join(dir, "LOCK"))
	if errors.Is(err, fs.ErrNotExist) {
		return os.Open(dir) // a copy without a lock file: a server would create one
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use; stop the server first", dir), lock.Close())
	}
	return lock, nil
}

// records collects the entries that were not fanned out yet.
func (c *check) records() error {
	step := progress.Of(c.ctx).Step("reading fan-out records")
	defer step.End()
	for p := range uint16(timeline.Partitions) {
		step.At(float64(p)/timeline.Partitions, fmt.Sprintf("%d entries not fanned out yet", c.report.Undelivered))
		if err := c.damaged(fmt.Sprintf("fan-out records of partition %d", p), c.recordsOf(p)); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) recordsOf(p uint16) error {
	at, err := c.log.Checkpoint(c.ctx, p)
	if err != nil {
		return err
	}
	for {
		list, err := timeline.AwaitFanoutRecords(c.ctx, c.log, p, at, 1000)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return nil
		}
		for _, r := range list {
			if r.Seq <= at {
				c.report.violate("records", fmt.Sprintf("partition %d", p), "record %d after %d", r.Seq, at)
			}
			at = r.Seq
			for _, ref := range r.Refs {
				c.undelivered[ref.Key.ID] = append(c.undelivered[ref.Key.ID], ref)
				c.report.Undelivered += ref.To - ref.From + 1
			}
		}
	}
}

func (c *check) isUndelivered(conversation, seq uint64) bool {
	for _, r := range c.undelivered[conversation] {
		if seq >= r.From && seq <= r.To {
			return true
		}
	}
	return false
}
