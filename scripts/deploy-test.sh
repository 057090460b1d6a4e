#!/usr/bin/env bash
# What is in deploy/: linted with the parsers of those who will read it, the image's content started, a load balancer in front of nodes.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
CGO_ENABLED=0 go build -trimpath -o bin/rialto-static ./cmd/rialto
export STATIC_BINARY=$PWD/bin/rialto-static
(cd tools && GOBIN="$PWD/../bin" go install honnef.co/go/tools/cmd/staticcheck)
cd deploy
go vet ./...
../bin/staticcheck ./...
go test -count 1 -timeout 5m ./...
