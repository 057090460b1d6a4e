package app

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rialto-im/rialto/internal/blob"
	"github.com/rialto-im/rialto/internal/blob/diskblob"
	"github.com/rialto-im/rialto/internal/blob/s3blob"
	"github.com/rialto-im/rialto/internal/cluster"
	"github.com/rialto-im/rialto/internal/config"
	"github.com/rialto-im/rialto/internal/move"
	"github.com/rialto-im/rialto/internal/sqldb"
	"github.com/rialto-im/rialto/internal/timeline"
	"github.com/rialto-im/rialto/internal/timeline/cassandralog"
	"github.com/rialto-im/rialto/internal/timeline/pebblelog"
	"github.com/rialto-im/rialto/internal/timeline/pglog"
)

// engines opens what keeps the data: records, timelines and files.
func (h *House) engines(ctx context.Context) (err error) {
	if h.dir, err = openDataDir(h.config.Data); err != nil {
		return err
	}
	h.closers = append(h.closers, h.dir.Close)
	if h.node = h.config.Node; h.node == "" {
		if h.node, err = h.dir.nodeName(); err != nil {
			return err
		}
	}
	records := h.config.Postgres
	if records == "" {
		records = h.dir.join(recordsFile)
		if err := move.CheckSource(h.dir.path); err != nil {
			return err
		}
	}
	if h.db, err = sqldb.OpenWith(ctx, records, sqldb.Options{Replicas: h.config.PostgresReplicas, Logger: h.logger}); err != nil {
		return err
	}
	h.closers = append(h.closers, h.db.Close)
	if h.config.Postgres != "" {
		if err := move.CheckTarget(ctx, h.db.Read()); err != nil {
			return err
		}
		if err := h.places(ctx); err != nil {
			return err
		}
	}
	if h.log, err = h.timelines(ctx); err != nil {
		return err
	}
	h.closers = append(h.closers, h.log.Close)
	h.files, err = h.openFiles(ctx)
	return err
}

// places compares where this node keeps what all nodes of the database share with where the others do.
func (h *House) places(ctx context.Context) error {
	mine := "PostgreSQL"
	if c := cassandraOf(h.config); len(c.Hosts) > 0 {
		mine = fmt.Sprintf("Cassandra (keyspace %s, store %d)", cmp.Or(c.Keyspace, "rialto"), c.Store)
	}
	all, err := cluster.Place(ctx, h.db, "timelines", mine)
	if err == nil && all != mine {
		err = fmt.Errorf("the messages of this database are in %s, and this node is configured for %s: give it the settings that the other nodes have, or another database", all, mine)
	}
	if err != nil {
		return err
	}
	mine = "a server in each node"
	if h.config.Bus.URL != "" {
		mine = fmt.Sprintf("an external one (prefix %s)", cmp.Or(h.config.Bus.Prefix, "rialto"))
	}
	if all, err = cluster.Place(ctx, h.db, "bus", mine); err == nil && all != mine {
		h.logger.Warn("this node's bus is not that of other nodes, which do not hear it: give all nodes the same bus.url and bus.prefix; where all have changed: DELETE FROM cluster_places WHERE kind = 'bus'",
			"theirs", all, "this_nodes", mine)
	}
	if err != nil || !h.config.Has(config.RoleAPI) && !h.config.Has(config.RoleWorker) { // who has no use for files
		return err
	}
	mine = "the data directory of node " + h.node
	if c := s3Of(h.config); c.Endpoint != "" {
		mine = fmt.Sprintf("S3 (bucket %s, prefix %q)", c.Bucket, c.Prefix)
	}
	if all, err = cluster.Place(ctx, h.db, "files", mine); err == nil && all != mine {
		h.logger.Warn("files are not where other nodes have theirs, so each finds its own alone: give all nodes the same S3; where they were moved: DELETE FROM cluster_places WHERE kind = 'files'",
			"theirs", all, "this_nodes", mine)
	}
	return err
}

func (h *House) timelines(ctx context.Context) (timeline.Log, error) {
	switch {
	case len(h.config.Cassandra.Hosts) > 0:
		o := cassandraOf(h.config)
		o.Logger, o.Listener = h.logger, h.committed
		log, err := cassandralog.Open(ctx, o)
		if err != nil {
			return nil, err
		}
		return log, nil
	case h.config.Postgres != "":
		log, err := pglog.Open(ctx, h.config.Postgres, pglog.Options{Logger: h.logger, Listener: h.committed})
		if err != nil {
			return nil, err // an interface that is nil, not one of a nil *Log
		}
		return log, nil
	}
	log, err := pebblelog.Open(h.dir.join(timelinesDir), pebblelog.Options{Logger: h.logger, Listener: h.committed})
	if err != nil {
		return nil, err
	}
	return log, nil
}

// cassandraOf is what a configuration says of Cassandra.
func cassandraOf(config *config.Config) cassandralog.Options {
	c := config.Cassandra
	return cassandralog.Options{Hosts: c.Hosts, Port: c.Port, User: c.User, Password: c.Password, Keyspace: c.Keyspace, Replicas: c.Replicas,
		Store: int32(c.Store), AllowPeriodicSync: c.PeriodicSync}
}

// s3Of is what a configuration says of S3.
func s3Of(config *config.Config) s3blob.Config {
	c := config.S3
	return s3blob.Config{Endpoint: c.Endpoint, Region: c.Region, Bucket: c.Bucket, Prefix: c.Prefix, AccessKey: c.AccessKey, SecretKey: c.SecretKey, CA: c.CA}
}

func (h *House) openFiles(ctx context.Context) (blob.Store, error) {
	if h.config.S3.Endpoint != "" {
		store, err := s3blob.Open(ctx, s3Of(h.config))
		if err != nil {
			return nil, err
		}
		return store, nil
	}
	store, err := diskblob.Open(h.dir.join(filesDir))
	if err != nil {
		return nil, err
	}
	return store, nil
}
