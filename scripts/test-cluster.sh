#!/usr/bin/env bash
# Tests on clusters of real engines: three nodes of Cassandra, on 127.0.0.1 to 127.0.0.3, for all of its tests.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh cluster
printf '\n== timelines in Cassandra, three nodes, one of which is killed\n'
go test -race -count 1 -timeout 10m -tags cluster ./internal/timeline/cassandralog -rapid.checks=10
printf '\n== a directory moves into Cassandra\n'
go test -race -count 1 -timeout 5m -tags cluster -run 'Cassandra$' ./internal/move ./internal/verify
printf '\n== chaos: nodes of Cassandra, NATS and S3 are broken\n'
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# Times are judged where a machine has nothing else to do.
go run ./internal/chaos/runchaos --engines cassandra,nats,s3 --seed 24 --for 20s --every 3s --longest 5s --calm 3s --rate 0.2 --noise 1m \
	--only cassandra-kill,cassandra-pause,nats-kill,nats-away,s3-away --dir "$dir"
echo; echo "make test-cluster: passed in ${SECONDS}s"
