#!/usr/bin/env bash
# All tests for each change, in stages; stops at the first failure. Longer tests are divided among commits:
# scripts/test-long.sh --turn. What takes minutes here is divided as well: of the packages, browser scenarios and kill tests, half are
# this commit's turn. TEST_HALF=0 or 1 chooses the half, and scripts/test-long.sh halves runs both.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stage.sh
export TEST_ALL=1 # tests fail, rather than being skipped, if a program that they need is missing
with_postgres() { go run ./internal/engine/sqldb/sqltest/withpostgres "$@"; }
# Tests mostly wait, so more packages run concurrently than there are cores.
packages_at_once=$((2 * $(nproc)))
half=${TEST_HALF:-$(turn 128 2)}
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
# Half of the packages run with the race detector. The others run without it, and with their SQL data in PostgreSQL as well.
with_race=() without_race=()
for n in "${!packages[@]}"; do
	case ${packages[n]} in
	*/internal/app/apptest) of=0 ;; # the longest, where it balances the halves
	*) of=$((n % 2)) ;;
	esac
	if [ "$of" = "$half" ]; then with_race+=("${packages[n]}"); else without_race+=("${packages[n]}"); fi
done
go_test=(go test -vet=off -p "$packages_at_once" -timeout 40m -skip '^TestPowerCut')
stage "Go tests, with the race detector (half $half of the packages)"
with_postgres -records sqlite env CGO_ENABLED=1 "${go_test[@]}" "${race_flags[@]}" "${with_race[@]}"
stage "scenarios on three nodes, with their SQL data in PostgreSQL, begin: they mostly wait, so the stages that follow run beside them"
# The skipped ones start their own nodes; they ran above. A process group of their own, so that all of it ends if another stage fails.
TEST_NODES=3 setsid go run ./internal/engine/sqldb/sqltest/withpostgres go test -vet=off -timeout 30m -skip 'TwoReleases|OverTwoNodes|Move' ./internal/app/apptest >"$TMPDIR/three-nodes.txt" 2>&1 &
three_nodes=$!
trap '{ kill -- "-$three_nodes" 2>/dev/null && wait "$three_nodes"; } || true; rm -rf "$TESTS_DIR"' EXIT
stage "Go tests, without the race detector (the other packages)"
with_postgres -records sqlite "${go_test[@]}" "${without_race[@]}"
stage "tests that start programs"
kills_of_other_turn=('^Test(Likes|Notifications)Killed' '^Test(Comments|Feed)Killed')
with_postgres -records sqlite go test -vet=off -p "$packages_at_once" -timeout 30m -skip "${kills_of_other_turn[half]}" "${programs[@]}"
stage "packages with their SQL data in PostgreSQL"
# Those with a fixture that opens either database.
mapfile -t sql_packages < <(git grep -l 'sqltest\.Place(' -- internal ':!internal/app' ':!internal/engine/sqldb' | xargs -n1 dirname | sort -u | sed 's|^|github.com/rialto-im/rialto/|' | grep -xFf <(printf '%s\n' "${without_race[@]}"))
with_postgres go test -vet=off -p "$packages_at_once" -timeout 30m "${sql_packages[@]}"
with_postgres go test -vet=off -timeout 30m -run 'TwoReleases|OverTwoNodes|Move' ./internal/app/apptest
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
stage "the end of the scenarios on three nodes"
status=0
wait "$three_nodes" || status=$?
cat "$TMPDIR/three-nodes.txt"
[ "$status" -eq 0 ]
stage "two browsers (half $half of the scenarios)"
SHARE=$half/2 TEST_BINARY="$PWD/bin/rialto" node web/e2e/run.mjs
echo; echo "make test: all stages passed in ${SECONDS}s"
