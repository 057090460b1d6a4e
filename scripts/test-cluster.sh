#!/usr/bin/env bash
# Tests on clusters of real engines: three Cassandra nodes on 127.0.0.1 to 127.0.0.3 for all its tests, and an OpenSearch on loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stage.sh
scripts/setup.sh cluster
stage "timelines in Cassandra, three nodes, one of which is killed"
race -count 1 -timeout 10m -tags cluster ./internal/engine/timeline/cassandralog -rapid.checks=10
stage "increments of Redis, while its server is killed"
race -count 1 -timeout 5m -tags cluster -run RedisServer ./internal/platform/idservice
stage "caches of three nodes with a Redis server, which is paused and killed"
race -count 1 -timeout 5m -tags cluster ./internal/platform/cache
stage "search in OpenSearch: the suite of indexes, and a server that is paused"
race -count 1 -timeout 10m -tags cluster ./internal/engine/searchindex/opensearch
stage "search in OpenSearch, with a whole server"
race -count 1 -timeout 10m -tags cluster -run 'OpenSearch$' ./internal/app
stage "moving a data directory, and timelines from PostgreSQL, into Cassandra"
race -count 1 -timeout 10m -tags cluster -run 'Cassandra$' ./internal/tool/move ./internal/tool/verify
stage "moving timelines into Cassandra, with a whole server"
race -count 1 -timeout 10m -tags cluster -run 'IntoCassandra$' ./internal/app/apptest
stage "chaos: nodes of Cassandra, NATS and S3 fail"
# Latencies are checked only on an idle machine.
go run ./internal/tool/chaos/runchaos --engines cassandra,nats,s3 --seed 24 --for 20s --every 3s --longest 5s --calm 3s --rate 0.2 --noise 1m \
	--only cassandra-kill,cassandra-pause,nats-kill,nats-kill-all,s3-kill --dir "$TMPDIR/chaos-cluster"
echo; echo "make test-cluster: passed in ${SECONDS}s"
