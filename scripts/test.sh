#!/usr/bin/env bash
# All tests for each change, in stages. What takes longer is divided among commits by scripts/test-long.sh --turn: so are lint,
# the race detector, and files in S3. What takes minutes here is divided as well. Each commit tests all packages, those with SQL data with it in
# PostgreSQL or in SQLite by turns. A sixth of the scenarios with whole servers runs on three nodes, the others on one. A sixth of the
# browser scenarios, a third of the documents' programs, and a third of the tests of killed services run. The commit's hash decides;
# TEST_PART=0 to 5 does so by hand, and scripts/test-long.sh parts runs all. Stages that mostly wait, and those that use one core, run
# beside the others.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stage.sh
export TEST_ALL=1 # tests fail, rather than being skipped, if a program that they need is missing
# Tests mostly wait, so more packages run concurrently than there are cores.
packages_at_once=$((2 * $(nproc)))
part=${TEST_PART:-$(turn 128 6)}
third=$((part % 3))

stage "prerequisites"
scripts/setup.sh test
stage "formatting"
bad=$(git ls-files '*.go' | grep -vE '^(sdk/go/)?gen/' | GOGC=400 xargs gofmt -l)
if [ -n "$bad" ]; then echo "run gofmt -w on: $bad"; exit 1; fi
stage "generated code is up to date"
scripts/generate.sh
if [ -n "$(git status --porcelain gen sdk/go/gen sdk/ts/src/gen sdk/swift/Sources/RialtoContract/Generated docs/api.md internal/app/config/reference.txt internal/tool/terminal/refusals_zh.txt)" ]; then
	git --no-pager diff --stat gen sdk/go/gen sdk/ts/src/gen sdk/swift/Sources/RialtoContract/Generated docs/api.md internal/app/config/reference.txt internal/tool/terminal/refusals_zh.txt
	echo "run make generate, and commit the result"; exit 1
fi
stage "the generators, and the list of what is in a binary"
(cd tools && go vet ./... && go test -vet=off -timeout 10m ./...)
stage "the binary"
scripts/build.sh bin/rialto ./cmd/rialto
if [ "$(stat -c %s bin/rialto)" -gt 75000000 ]; then
	echo "bin/rialto has $(stat -c %s bin/rialto) bytes, more than 75 MB: see what is new in go list -deps ./cmd/rialto, and that nothing uses text/template, which keeps all methods of all types"
	exit 1
fi

go_test=(go test -vet=off -p "$packages_at_once" -timeout 40m)
# They start the server as a program, in which the race detector sees nothing of it.
programs=(./cmd/rialto ./internal/app/faulttest)
# The power cuts have a stage of their own. TestShortRun is of chaos, which runs by turns as well.
others=('^Test(Feed|Likes|Notifications)Killed|^TestShortRun' '^Test(Comments|Likes|Notifications)Killed' '^Test(Comments|Feed)Killed|^TestShortRun')
go_test+=(-skip "^TestPowerCut|${others[third]}")
whole_servers() {
	local scenarios on_three_nodes tests=./internal/app/apptest
	scenarios=$(scenarios) # a failure in <() would go unnoticed
	mapfile -t on_three_nodes < <(deal "$part" 6 <<<"$scenarios")
	stage "scenarios on three nodes, with their SQL data in PostgreSQL"
	TEST_NODES=3 with_postgres "${go_test[@]}" -run "$(names "${on_three_nodes[@]}")" "$tests"
	stage "scenarios with nodes of their own"
	with_postgres "${go_test[@]}" -run "$own_nodes" "$tests"
	stage "all other scenarios"
	with_postgres -records sqlite "${go_test[@]}" -skip "$own_nodes|$(names "${on_three_nodes[@]}")" "$tests"
	stage "a thousand power failures"
	go test -vet=off -timeout 30m -run '^TestPowerCut' ./internal/engine/timeline/pebblelog
	stage "ten thousand syncs under load"
	FREE_SYNCS=10000 go test -vet=off -timeout 20m -run '^TestSyncsUnderLoad' ./internal/app/apptest
	stage "deployment: image, load balancer, standby, a client of STOMP"
	scripts/deploy-test.sh ./image ./balance ./standby ./nodetest ./stomp
}
whole_programs() {
	stage "programs that are killed"
	KILL_CYCLES=78 KILL_SEED=$((part + 1)) with_postgres -records sqlite "${go_test[@]}" "${programs[@]}"
}
clients() {
	stage "TypeScript SDK"
	(cd sdk/ts && npm run --silent check && npm run --silent test && npm run --silent build)
	stage "TypeScript SDK against the real server"
	(cd sdk/ts && TEST_BINARY="$PWD/../../bin/rialto" npm run --silent test:integration)
	stage "the documents' samples (share $third of 3 of the programs)"
	SHARE=$third/3 scripts/samples.sh
	stage "web app"
	(cd web && npm run --silent check && npm run --silent test)
	stage "two browsers (part $part of 6 of the scenarios)"
	SHARE=$part/6 TEST_BINARY="$PWD/bin/rialto" node web/e2e/run.mjs
}
beside whole_programs
beside whole_servers
beside clients

# Those with a fixture that opens either database. sqldb's own tests use both.
mapfile -t either_database < <(git grep -l 'sqltest\.Place(' -- internal ':!internal/engine/sqldb' | xargs -n1 dirname | sort -u)
packages=$(tested_packages)
on_postgres=() on_sqlite=(./internal/tool/archtest) n=0
while read -r package; do
	if [[ " ${either_database[*]} " = *" ${package#github.com/rialto-im/rialto/} "* ]] && [ $(((n++ + part) % 2)) = 0 ]; then
		on_postgres+=("$package")
	else
		on_sqlite+=("$package")
	fi
done <<<"$packages"
stage "Go tests, with their SQL data in SQLite"
with_postgres -records sqlite "${go_test[@]}" "${on_sqlite[@]}"
stage "Go tests, with their SQL data in PostgreSQL"
with_postgres "${go_test[@]}" "${on_postgres[@]}"
join whole_servers
join whole_programs
join clients
echo; echo "make test: all stages passed in ${SECONDS}s"
