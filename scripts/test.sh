#!/usr/bin/env bash
# All tests for each change, in stages; stops at the first failure. Longer tests are divided among commits:
# scripts/test-long.sh --turn. What takes minutes here is divided as well. All packages are tested at each commit, but each in one of three
# ways: with the race detector, or with its SQL data in PostgreSQL if it has any, or in SQLite. A third of the browser scenarios and of the tests
# of killed feeds run. The commit's hash decides; TEST_PART=0, 1 or 2 does so by hand, and scripts/test-long.sh parts runs all.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stage.sh
export TEST_ALL=1 # tests fail, rather than being skipped, if a program that they need is missing
with_postgres() { go run ./internal/engine/sqldb/sqltest/withpostgres "$@"; }
# Tests mostly wait, so more packages run concurrently than there are cores.
packages_at_once=$((2 * $(nproc)))
part=${TEST_PART:-$(turn 128 3)}
sdk=github.com/rialto-im/rialto/sdk/go/... # a module of its own, which ./... leaves out

stage "prerequisites"
scripts/setup.sh test
stage "formatting"
bad=$(git ls-files '*.go' | grep -vE '^(sdk/go/)?gen/' | xargs gofmt -l)
if [ -n "$bad" ]; then echo "run gofmt -w on: $bad"; exit 1; fi
stage "generated code is up to date"
scripts/generate.sh
if [ -n "$(git status --porcelain gen sdk/go/gen sdk/ts/src/gen docs/api.md internal/app/config/reference.txt)" ]; then
	git --no-pager diff --stat gen sdk/go/gen sdk/ts/src/gen docs/api.md internal/app/config/reference.txt
	echo "run make generate, and commit the result"; exit 1
fi
stage "the binary"
scripts/build.sh bin/rialto ./cmd/rialto
stage "vet and lint"
go vet ./... "$sdk"
for tag in faults cluster smalldisk; do # only where the tag changes what is built
	mapfile -t tagged < <(git grep -lE "^//go:build .*\b$tag\b" -- '*.go' | xargs -n1 dirname | sort -u | sed 's|^|./|')
	go vet -tags "$tag" "${tagged[@]}"
done
scripts/lint.sh
go test -vet=off ./internal/tool/archtest
# Not archtest, which has one goroutine and reads all the code; nor tests that start the server as a program, in which the detector sees nothing of it.
programs=(./cmd/rialto ./internal/app/faulttest)
mapfile -t packages < <(go list ./... "$sdk" | grep -vE '/(internal/tool/archtest|internal/app/faulttest|cmd/rialto)$')
# Those with a fixture that opens either database. sqldb's own tests use both.
mapfile -t either_database < <(git grep -l 'sqltest\.Place(' -- internal ':!internal/engine/sqldb' | xargs -n1 dirname | sort -u)
with_race=() on_postgres=() on_sqlite=() whole_servers= n=0
for package in "${packages[@]}"; do
	way=$(((n++ + part) % 3))
	if [[ $package = */internal/app/apptest && $way = 1 ]]; then
		whole_servers=$package
	elif [ "$way" = 0 ]; then
		with_race+=("$package")
	elif [[ $way = 1 && " ${either_database[*]} " = *" ${package#github.com/rialto-im/rialto/} "* ]]; then
		on_postgres+=("$package")
	else
		on_sqlite+=("$package")
	fi
done
go_test=(go test -vet=off -p "$packages_at_once" -timeout 40m)
stage "Go tests, with the race detector (part $part of 3)"
with_postgres -records sqlite env CGO_ENABLED=1 "${go_test[@]}" "${race_flags[@]}" -skip '^TestPowerCut' "${with_race[@]}"
if [ -n "$whole_servers" ]; then
	start_nodes='TwoReleases|OverTwoNodes|Move' # their own, that is
	stage "scenarios on three nodes, with their SQL data in PostgreSQL, begin: they mostly wait, so the stages that follow run beside them"
	# A process group of their own, so that all of it ends if another stage fails.
	TEST_NODES=3 setsid go run ./internal/engine/sqldb/sqltest/withpostgres go test -vet=off -timeout 30m -skip "$start_nodes" "$whole_servers" >"$TMPDIR/three-nodes.txt" 2>&1 &
	three_nodes=$!
	trap '{ kill -- "-$three_nodes" 2>/dev/null && wait "$three_nodes"; } || true; rm -rf "$TESTS_DIR"' EXIT
fi
stage "Go tests, and programs that are killed"
other_kills=('^Test(Feed|Likes|Notifications)Killed' '^Test(Comments|Likes|Notifications)Killed' '^Test(Comments|Feed)Killed')
with_postgres -records sqlite "${go_test[@]}" -skip "^TestPowerCut|${other_kills[part]}" "${programs[@]}" "${on_sqlite[@]}"
stage "Go tests, with their SQL data in PostgreSQL"
with_postgres "${go_test[@]}" "${on_postgres[@]}"
[ -z "$whole_servers" ] || with_postgres "${go_test[@]}" -run "$start_nodes" "$whole_servers"
stage "a thousand power failures"
go test -vet=off -timeout 30m -run '^TestPowerCut' ./internal/engine/timeline/pebblelog
stage "ten thousand syncs under load"
FREE_SYNCS=10000 go test -vet=off -timeout 20m -run '^TestSyncsUnderLoad' ./internal/app/apptest
stage "deployment: image, load balancer, standby"
# The parsers of Helm, Compose and Prometheus take minutes to build, so they run only after recent changes. scripts/test-long.sh runs them as well.
deployed=(./image ./balance ./standby ./nodetest)
[ -z "$(git log -20 --format= --name-only -- deploy internal/base/telemetry)" ] || deployed=()
scripts/deploy-test.sh "${deployed[@]}"
stage "TypeScript SDK"
(cd sdk/ts && npm run --silent check && npm run --silent test && npm run --silent build)
stage "TypeScript SDK against the real server"
(cd sdk/ts && TEST_BINARY="$PWD/../../bin/rialto" npm run --silent test:integration)
stage "the documents' samples"
scripts/samples.sh
stage "web app"
(cd web && npm run --silent check && npm run --silent test)
if [ -n "$whole_servers" ]; then
	stage "the end of the scenarios on three nodes"
	status=0
	wait "$three_nodes" || status=$?
	cat "$TMPDIR/three-nodes.txt"
	[ "$status" -eq 0 ]
fi
stage "two browsers (part $part of 3 of the scenarios)"
SHARE=$part/3 TEST_BINARY="$PWD/bin/rialto" node web/e2e/run.mjs
echo; echo "make test: all stages passed in ${SECONDS}s"
