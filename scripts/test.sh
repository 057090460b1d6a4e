#!/usr/bin/env bash
# Everything that must hold, in stages; stops at the first that does not.
set -euo pipefail
cd "$(dirname "$0")/.."
export TEST_ALL=1 # a test that something is missing for fails, instead of being skipped
stage() { printf '\n== %s (%ss)\n' "$1" "$SECONDS"; }

stage "what is needed"
scripts/setup.sh test
stage "formatting"
bad=$(git ls-files '*.go' | grep -v '^gen/' | xargs gofmt -l)
if [ -n "$bad" ]; then echo "run gofmt -w on: $bad"; exit 1; fi
stage "generated code is what api/ makes"
scripts/generate.sh
if [ -n "$(git status --porcelain gen sdk/ts/src/gen docs/api.md)" ]; then
	git --no-pager diff --stat gen sdk/ts/src/gen docs/api.md
	echo "run make generate, and commit what it made"; exit 1
fi
stage "vet"
go vet ./...
go vet -tags faults ./...
go vet -tags cluster ./...
stage "lint"
scripts/lint.sh
stage "Go tests, with the race detector"
go test -race -timeout 15m -skip '^TestPowerCut' ./...
stage "rooms with their records in PostgreSQL, and houses with all they have"
go run ./internal/sqldb/sqltest/withpostgres go test -timeout 10m ./internal/{account,chat,fanout,idgen,inbox,job,media,presence,rpc,app/apptest}
stage "houses of three nodes"
# Those that are left out start nodes of their own.
TEST_NODES=3 go run ./internal/sqldb/sqltest/withpostgres go test -timeout 10m -skip 'TwoReleases|OverTwoNodes|Move' ./internal/app/apptest
stage "a thousand power cuts"
go test -timeout 10m -run '^TestPowerCut' ./internal/timeline/pebblelog
stage "the binary"
make --no-print-directory build
stage "what is deployed: the image, Compose, systemd, Helm, HAProxy"
scripts/deploy-test.sh
stage "TypeScript SDK"
(cd sdk/ts && npm run --silent check && npm run --silent test && npm run --silent build)
stage "TypeScript SDK against the real server"
(cd sdk/ts && TEST_BINARY="$PWD/../../bin/rialto" npm run --silent test:integration)
stage "the documents' samples"
scripts/samples.sh
stage "web app"
(cd web && npm run --silent check && npm run --silent test)
stage "two browsers"
TEST_BINARY="$PWD/bin/rialto" node web/e2e/run.mjs
echo; echo "make test: all stages passed in ${SECONDS}s"
