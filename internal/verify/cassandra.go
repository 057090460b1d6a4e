package verify

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/rialto-im/rialto/internal/timeline/cassandralog"
)

// cassandraFlags say where timelines are that are not beside the records.
type cassandraFlags struct {
	hosts, keyspace, user string
	port, store           int
}

// passwordVariable is where the password is, which others on the machine would see among the arguments: the one of the setting.
const passwordVariable = "RIALTO_CASSANDRA_PASSWORD"

func (f *cassandraFlags) add(fs *flag.FlagSet) {
	fs.StringVar(&f.hosts, "cassandra", "", "`HOSTS` of Cassandra, with commas between, where the timelines are there and --postgres has the records; servers should be stopped")
	fs.IntVar(&f.port, "cassandra-port", 0, "`port` of all its nodes (default 9042)")
	fs.StringVar(&f.keyspace, "cassandra-keyspace", "", "`keyspace` (default rialto)")
	fs.IntVar(&f.store, "cassandra-store", 0, "`number` of the store in the keyspace")
	fs.StringVar(&f.user, "cassandra-user", "", "`name` of a user, whose password is in "+passwordVariable)
}

func (f *cassandraFlags) options() cassandralog.Options {
	return cassandralog.Options{Hosts: strings.Split(f.hosts, ","), Port: f.port, Keyspace: f.keyspace, Store: int32(f.store), User: f.user, Password: os.Getenv(passwordVariable),
		AllowPeriodicSync: true} // nothing is written
}

// RunCassandra checks timelines in Cassandra with their records in a PostgreSQL. The records are those of one moment, before the
// timelines; what servers do meanwhile may be seen in parts, and then looks broken.
func RunCassandra(ctx context.Context, url string, options cassandralog.Options, progress func(format string, args ...any)) (_ *Report, err error) {
	tx, end, err := records(ctx, url, `SELECT count(*) FROM conversations`) // the moment is that of the first look
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	log, err := cassandralog.OpenView(ctx, options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	c := &check{ctx: ctx, log: log, db: tx}
	return c.run(progress, step{"records left behind", func() error { return c.leftBehind(log) }})
}

// leftBehind names entries that no carrier will come to.
func (c *check) leftBehind(log *cassandralog.View) error {
	left, err := log.LeftBehind(c.ctx)
	for _, r := range left {
		for _, ref := range r.Refs {
			c.report.violate("delivery", fmt.Sprintf("conversation %d", ref.Key.ID), "entries %d to %d were never carried: their record, %d of partition %d, was stored below what was carried, %d",
				ref.From, ref.To, r.Seq, r.Partition, r.Checkpoint)
		}
	}
	return err
}
