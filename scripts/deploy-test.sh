#!/usr/bin/env bash
# Tests deploy/: the image's content is started, also by rootless Podman, a load balancer runs in front of nodes, a standby is set up, the unit runs under a real systemd, and all files are linted with the
# parsers of their tools. With arguments, only these packages of deploy/ are tested, without staticcheck (./lint takes minutes to build).
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
scripts/build.sh bin/rialto ./cmd/rialto
export STATIC_BINARY=$PWD/bin/rialto
if [ $# = 0 ]; then
	set -- ./...
	scripts/setup.sh deployed
	scripts/lint.sh deploy "$@"
fi
cd deploy
go vet "$@"
go test -vet=off -count 1 -timeout 20m "$@"
if [ "$*" = ./... ]; then
	systemd/boot-test.sh "$STATIC_BINARY"
	archive=$(mktemp -d)
	trap 'rm -rf "$archive"' EXIT
	go run ./image -binary "$STATIC_BINARY" -arch "$(go env GOARCH)" -name rialto:latest -out "$archive/rialto.tar" >/dev/null
	image/podman-test.sh "$archive/rialto.tar"
fi
