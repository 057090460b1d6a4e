package verify

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog"
)

// cassandraFlags locate timelines in Cassandra.
type cassandraFlags struct {
	hosts, keyspace, user string
	port, store           int
}

// passwordVariable is the environment variable of the password, the same as for the setting: others on the machine can see arguments.
const passwordVariable = "RIALTO_CASSANDRA_PASSWORD"

func (f *cassandraFlags) add(fs *flag.FlagSet) {
	fs.StringVar(&f.hosts, "cassandra", "", "`HOSTS` of Cassandra, separated by commas, if it stores the timelines, with --postgres for the SQL data; stop the servers first")
	fs.IntVar(&f.port, "cassandra-port", 0, "`port` of all its nodes (default 9042)")
	fs.StringVar(&f.keyspace, "cassandra-keyspace", "", "`keyspace` (default rialto)")
	fs.IntVar(&f.store, "cassandra-store", 0, "`number` of the store in the keyspace")
	fs.StringVar(&f.user, "cassandra-user", "", "`name` of a user, whose password is in "+passwordVariable)
}

func (f *cassandraFlags) options() cassandralog.Options {
	return cassandralog.Options{Hosts: strings.Split(f.hosts, ","), Port: f.port, Keyspace: f.keyspace, Store: int32(f.store), User: f.user, Password: os.Getenv(passwordVariable),
		AllowPeriodicSync: true} // read only
}

// RunCassandra checks timelines in Cassandra and the SQL data in PostgreSQL. The SQL data is a snapshot from before the timelines are
// read; concurrent changes by servers may be seen in part, and then look like violations.
func RunCassandra(ctx context.Context, url string, options cassandralog.Options, progress func(format string, args ...any)) (*Report, error) {
	return runCassandra(ctx, url, options, nil, progress)
}

// runCassandra is RunCassandra; bucket has the files, or nil.
func runCassandra(ctx context.Context, url string, options cassandralog.Options, bucket blob.Store, progress func(format string, args ...any)) (_ *Report, err error) {
	tx, end, err := records(ctx, url, `SELECT count(*) FROM conversations`) // the first statement fixes the snapshot
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	log, err := cassandralog.OpenView(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	c := &check{ctx: ctx, log: log, db: tx, blobs: bucket}
	return c.run(progress, step{"records below the checkpoint", func() error { return c.skippedRecords(log) }})
}

// skippedRecords reports entries that no dispatcher will read.
func (c *check) skippedRecords(log *cassandralog.View) error {
	left, err := log.SkippedRecords(c.ctx)
	for _, r := range left {
		for _, ref := range r.Refs {
			c.report.violate("delivery", fmt.Sprintf("conversation %d", ref.Key.ID), "entries %d to %d were never fanned out: their record, %d of partition %d, is below the checkpoint, %d",
				ref.From, ref.To, r.Seq, r.Partition, r.Checkpoint)
		}
	}
	return err
}
