#!/usr/bin/env bash
# Everything that must hold, in stages; stops at the first that does not.
set -euo pipefail
cd "$(dirname "$0")/.."
stage() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

stage "formatting"
bad=$(git ls-files '*.go' | grep -v '^gen/' | xargs gofmt -l)
if [ -n "$bad" ]; then echo "run gofmt -w on: $bad"; exit 1; fi
stage "vet"
go vet ./...
stage "tests, with the race detector"
go test -race -timeout 15m ./...
echo; echo "make test: all stages passed in ${SECONDS}s"
