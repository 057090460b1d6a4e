#!/usr/bin/env bash
# Tests deploy/: the image's content is started, a load balancer runs in front of nodes, a standby is set up, the unit runs under a real systemd, and all files are linted with the
# parsers of their tools. With arguments, only these packages of deploy/ are tested, without staticcheck (./lint takes minutes to build).
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
scripts/build.sh bin/rialto ./cmd/rialto
export STATIC_BINARY=$PWD/bin/rialto
if [ $# = 0 ]; then
	set -- ./...
	scripts/lint.sh deploy "$@"
fi
cd deploy
go vet "$@"
go test -vet=off -count 1 -timeout 20m "$@"
if [ "$*" = ./... ]; then systemd/boot-test.sh "$STATIC_BINARY"; fi
