package app

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/app/config"
	"github.com/rialto-im/rialto/internal/base/netpoll"
	"github.com/rialto-im/rialto/internal/base/spool"
	"github.com/rialto-im/rialto/internal/engine/blob"
	"github.com/rialto-im/rialto/internal/engine/blob/diskblob"
	"github.com/rialto-im/rialto/internal/engine/blob/s3blob"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/engine/timeline/cassandralog"
	"github.com/rialto-im/rialto/internal/engine/timeline/pglog"
	"github.com/rialto-im/rialto/internal/platform/cache"
	"github.com/rialto-im/rialto/internal/platform/cluster"
	"github.com/rialto-im/rialto/internal/platform/datadir"
	"github.com/rialto-im/rialto/internal/tool/move"
)

// openEngines opens the stores: database, timelines and files.
func (n *Node) openEngines(ctx context.Context) (err error) {
	n.caches.metrics = cache.NewMetrics()
	if err := n.lockDir(ctx); err != nil {
		return err
	}
	if err := n.openTracer(); err != nil {
		return err
	}
	if n.config.Postgres == "" {
		err = n.openEmbedded(ctx)
	} else {
		err = n.openShared(ctx)
	}
	if err != nil {
		return err
	}
	if n.files, err = n.openFiles(ctx); err != nil {
		return err
	}
	yielder, err := netpoll.New()
	if err != nil {
		return err
	}
	n.closers, n.yield = append(n.closers, yielder.Close), yielder.Yield
	return n.openColdTier(ctx)
}

// lockDir locks the data directory, and finds the node's name.
func (n *Node) lockDir(ctx context.Context) (err error) {
	if n.dir, err = openDataDir(n.config.Data); isInUse(err) {
		// A killed process holds the lock until the kernel has freed its memory.
		n.logger.Info("the data directory is in use; waiting for the other process to end", "data", n.config.Data, "wait", lockWait)
		n.dir, err = waitForDataDir(ctx, n.config.Data)
	}
	if err != nil {
		return err
	}
	n.closers = append(n.closers, n.dir.Close)
	if n.name = n.config.Node; n.name == "" {
		n.name, err = n.dir.nodeName()
	}
	return err
}

// openEmbedded opens the database and the timelines in the data directory.
func (n *Node) openEmbedded(ctx context.Context) (err error) {
	if err := move.CheckSource(n.dir.path); err != nil {
		return err
	}
	if err := datadir.RemoveBackupFiles(n.dir.path); err != nil {
		return err
	}
	if n.stores, err = datadir.Open(ctx, n.dir.path, datadir.Options{Logger: n.logger, Listener: n.committed, MoreThreads: n.threads.more, Spare: n.config.Storage.Spare, Files: n.config.S3.Endpoint == "",
		CacheReads: func(name string) func(hits, misses int) { return n.caches.metrics.Reads(name).Count }}); err != nil {
		return err
	}
	n.closers = append(n.closers, n.stores.Close)
	n.db, n.log = n.stores.DB, n.stores.Log
	return nil
}

// openShared opens the database and the timelines that all nodes share.
func (n *Node) openShared(ctx context.Context) (err error) {
	if n.db, err = sqldb.OpenWith(ctx, n.config.Postgres, sqldb.Options{Replicas: n.config.PostgresReplicas, Logger: n.logger}); err != nil {
		return err
	}
	n.closers = append(n.closers, n.db.Close)
	if err := move.CheckTarget(ctx, n.db.Read()); err != nil {
		return err
	}
	if err := n.agreeSettings(ctx); err != nil {
		return err
	}
	if n.log, err = n.openTimelines(ctx); err != nil {
		return err
	}
	n.closers = append(n.closers, n.log.Close)
	return nil
}

// agreeSettings compares where this node stores timelines, messages of the bus and files with what the other nodes agreed on.
func (n *Node) agreeSettings(ctx context.Context) error {
	mine := timelinesPlace(n.config)
	all, err := cluster.AgreeSetting(ctx, n.db, "timelines", mine)
	if err == nil && all != mine {
		err = fmt.Errorf("the messages of this database are in %s, but this node is configured for %s: use the settings of the other nodes, or another database", all, mine)
	}
	if err != nil {
		return err
	}
	mine = "a server in each node"
	if n.config.Bus.URL != "" {
		mine = fmt.Sprintf("an external one (prefix %s)", cmp.Or(n.config.Bus.Prefix, "rialto"))
	}
	if all, err = cluster.AgreeSetting(ctx, n.db, "bus", mine); err == nil && all != mine {
		n.logger.Warn("this node uses another bus than the other nodes, which do not receive its messages: set the same bus.url and bus.prefix on all nodes; if all have changed: DELETE FROM cluster_settings WHERE name = 'bus'",
			"theirs", all, "this_nodes", mine)
	}
	if err != nil {
		return err
	}
	mine = "an index of each node"
	if c := n.config.OpenSearch; len(c.URLs) > 0 {
		mine = "OpenSearch (index " + cmp.Or(c.Index, "rialto") + ")"
		dictionary, err := n.dictionary()
		if err != nil {
			return err
		}
		if dictionary != nil {
			mine += fmt.Sprintf(" with a dictionary of %d words, %016x", dictionary.Len(), dictionary.Sum())
		}
	}
	if all, err = cluster.AgreeSetting(ctx, n.db, "search", mine); err == nil && all != mine {
		n.logger.Warn("this node has another search index than the other nodes: set the same opensearch settings and the same search.dictionary on all nodes; if all have changed: DELETE FROM cluster_settings WHERE name = 'search'",
			"theirs", all, "this_nodes", mine)
	}
	if err != nil || !n.config.AnswersCalls() && !n.config.Has(config.RoleWorker) { // roles that use no files
		return err
	}
	mine = "the data directory of node " + n.name
	if c := s3Config(n.config); c.Endpoint != "" {
		mine = fmt.Sprintf("S3 (bucket %s, prefix %q)", c.Bucket, c.Prefix)
	}
	if all, err = cluster.AgreeSetting(ctx, n.db, "files", mine); err == nil && all != mine {
		n.logger.Warn("this node stores files elsewhere than the other nodes, so each finds only its own: configure the same S3 on all nodes; if the files were moved: DELETE FROM cluster_settings WHERE name = 'files'",
			"theirs", all, "this_nodes", mine)
	}
	return err
}

// timelinesPlace names where a node of a cluster stores timelines. All nodes agree on it.
func timelinesPlace(config *config.Config) string {
	c := cassandraOptions(config)
	if len(c.Hosts) == 0 {
		return move.InPostgreSQL
	}
	return fmt.Sprintf("Cassandra (keyspace %s, store %d)", cmp.Or(c.Keyspace, "rialto"), c.Store)
}

func (n *Node) openTimelines(ctx context.Context) (timeline.Log, error) {
	if len(n.config.Cassandra.Hosts) > 0 {
		o := cassandraOptions(n.config)
		o.Logger, o.Listener = n.logger, n.committed
		log, err := cassandralog.Open(ctx, o)
		if err != nil {
			return nil, err
		}
		return log, nil
	}
	log, err := pglog.Open(ctx, n.config.Postgres, pglog.Options{Logger: n.logger, Listener: n.committed})
	if err != nil {
		return nil, err // a nil interface, and not one that holds a nil *Log
	}
	return log, nil
}

// cassandraOptions are the options of Cassandra in a configuration.
func cassandraOptions(config *config.Config) cassandralog.Options {
	c := config.Cassandra
	return cassandralog.Options{Hosts: c.Hosts, Port: c.Port, User: c.User, Password: c.Password, Keyspace: c.Keyspace, Replicas: c.Replicas,
		Store: int32(c.Store), AllowPeriodicSync: c.PeriodicSync}
}

// s3Config is the configuration of S3.
func s3Config(config *config.Config) s3blob.Config {
	c := config.S3
	return s3blob.Config{Endpoint: c.Endpoint, Region: c.Region, Bucket: c.Bucket, Prefix: c.Prefix, AccessKey: c.AccessKey, SecretKey: c.SecretKey, CA: c.CA}
}

func (n *Node) openFiles(ctx context.Context) (blob.Store, error) {
	var err error
	if n.spool, err = spool.Open(n.dir.join(spoolDir)); err != nil {
		return nil, err
	}
	if n.config.S3.Endpoint != "" {
		config := s3Config(n.config)
		config.Calls, config.Spool = n.outgoing, n.spool
		store, err := s3blob.Open(ctx, config)
		if err != nil {
			return nil, err
		}
		return n.withFileCache(store)
	}
	store, err := diskblob.Open(n.dir.join(filesDir))
	if err != nil {
		return nil, err
	}
	return store, nil
}
