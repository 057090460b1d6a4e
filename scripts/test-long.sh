#!/usr/bin/env bash
# Tests that take too long for each change: more power cuts and kills, clusters of real engines, chaos, broken servers, fuzzing.
#   scripts/test-long.sh            everything, to be run by hand (over an hour on two cores)
#   scripts/test-long.sh --turn     a part for each commit, for CI: lint, one group of the parts below, and a share of the tests with the race
#                                   detector, of mutants and of fuzz targets. The commit's hash selects them, so that a commit always gets
#                                   the same, and over time all are run.
#   scripts/test-long.sh PART ...   these parts
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stage.sh
export TEST_ALL=1
# The commit whose build a rolling upgrade begins with: the one that last changed a format, which docs/formats/compatibility.md counts. A commit that only rewords the page does not count.
revision=$(git show HEAD:docs/formats/compatibility.md | grep -o '^The formats of protocol 1 are at revision [0-9]*')
earlier=${EARLIER_COMMIT:-$(git log -1 --format=%H -S"$revision" -- docs/formats/compatibility.md)}
fuzz_time=${FUZZ_TIME:-10s}
# make test leaves parts of some stages to the other commits, by `turn 128 6`.
groups=("power_cuts kills small_disk deployed" "ids postgres syncs lists feeds artefacts bridges kotlin" "clusters s3 collector" "chaos roles releases s3")

power_cuts() {
	stage "power failures, long version"
	POWER_CUTS=4000 go test -vet=off -timeout 60m -run '^TestPowerCut' ./internal/engine/timeline/pebblelog
}
kills() {
	stage "kills, long version"
	KILL_CYCLES=600 go test -vet=off -timeout 60m -run '^TestKilled' ./internal/app/faulttest
}
syncs() {
	stage "syncs under load, long version"
	FREE_SYNCS=100000 go test -vet=off -timeout 30m -run '^TestSyncsUnderLoad' ./internal/app/apptest
	PROTOCOL_ROUNDS=200 go test -vet=off -timeout 30m -run '^TestAllProtocolsConverge' ./internal/app/apptest
	EVENT_STREAM_SCHEDULES=20000 go test -vet=off -timeout 30m -run '^TestEventStreamsHaveEachEventOnce' ./internal/transport/gateway
}
feeds() {
	stage "home timelines, comments, notifications and ranked posts of thousands of random schedules"
	FEED_SCHEDULES=3000 COMMENT_SCHEDULES=3000 NOTIFICATION_SCHEDULES=300 RANKING_SCHEDULES=200 go test -vet=off -timeout 60m -run '^TestRandomSchedules' ./internal/service/{feed,comment,notification,ranking}
}
lists() {
	stage "streams and lists on the embedded engines, as often as on PostgreSQL"
	go test -vet=off -timeout 30m -run 'DevicesConverge|EqualsARecount|WhileTheListChanges' ./internal/service/inbox
	REACTIONS=1000000 go test -vet=off -timeout 30m -run '^TestVeryManyReactions$' ./internal/service/chat
}
# Not for CI, which does one part for each commit.
parts() {
	local part
	for part in 0 1 2 3 4 5; do env -u TESTS_DIR TEST_PART="$part" scripts/test.sh; done
}
# Not for CI: it needs a writable control group, and an otherwise idle machine.
hostile() {
	stage "5,000 hostile connections for a minute, to a server with 1 GiB and one core"
	scripts/hostile.sh
}
s3() {
	stage "files in S3, with the race detector: the server for tests is built first, unless it exists (two minutes)"
	local files tests
	files=$(git grep -l 's3test\.Start(' -- '*_test.go')
	mapfile -t files <<<"$files"
	mapfile -t tests < <(grep -hoE '^func Test[A-Za-z0-9_]+' "${files[@]}" | sed 's/^func //')
	mapfile -t files < <(dirname "${files[@]}" | sort -u | sed 's|^|./|')
	TEST_S3=1 with_postgres -records sqlite env CGO_ENABLED=1 go test "${race_flags[@]}" -timeout 30m -run "$(names "${tests[@]}")" "${files[@]}"
}
collector() {
	stage "traces through an OpenTelemetry Collector: it is built first, unless Go has cached it (minutes)"
	TEST_COLLECTOR=1 go test -vet=off -timeout 30m -run '^TestACollector' ./internal/platform/otlp
	TEST_COLLECTOR=1 TEST_NODES=3 with_postgres go test -vet=off -timeout 30m -run '^TestACollector' ./internal/app/apptest
}
small_disk() {
	stage "a disk that fills up"
	if ! unshare --mount --map-root-user true; then
		echo "cannot mount a small disk: run this part where unshare --mount --map-root-user works"
		return 1
	fi
	local disk=$TMPDIR/small-disk
	mkdir "$disk"
	unshare --mount --map-root-user sh -c "mount -t tmpfs -o size=512m tmpfs '$disk' && SMALL_DISK='$disk' go test -vet=off -count 1 -timeout 20m -tags smalldisk -run '^TestTheDiskIsFull' ./internal/app/faulttest"
}
ids() {
	stage "ids: a thousand kills, and a thousand million concurrent ids"
	ID_KILL_CYCLES=1000 go test -vet=off -timeout 20m -run '^TestKilledWhileItIssuesIDs' ./cmd/rialto
	ID_COUNT=1000000000 go test -vet=off -timeout 30m -run '^TestConcurrent' ./internal/platform/{idgen,idservice}
	stage "ids: clocks and leases, long version"
	ID_SCHEDULES=150000 go test -vet=off -timeout 15m -run '^TestIDsInAnySchedule' ./internal/platform/idgen
	stage "ids: counters through crashes, takeovers and outages"
	COUNTER_SCHEDULES=2000 go test -vet=off -timeout 15m -run 'Model$' ./internal/platform/idservice
}
postgres() {
	stage "timelines in PostgreSQL, through ended connections and crashes"
	PGLOG_LONGER=4 go test -vet=off -timeout 30m -run 'Log|EndAtRandom|EndsInTheMiddle|Failover' ./internal/engine/timeline/pglog
}
clusters() {
	stage "clusters of real engines"
	scripts/test-cluster.sh
}
chaos() {
	stage "chaos: nodes, PostgreSQL and the network between them fail"
	CHAOS_DIR=$TMPDIR/chaos scripts/chaos.sh 1 5 --for 45s --every 5s --longest 10s --calm 4s --noise 30s
}
# --noise: latencies are checked by hand, on an idle machine.
roles() {
	local layout
	scripts/build.sh "$TMPDIR/rialto-for-roles" -tags faults ./cmd/rialto
	for layout in gateway,gateway,api,api,chat,chat,feed,feed,worker,worker,edge,edge mixed; do
		stage "rolling restarts of nodes with the roles $layout"
		go run ./internal/tool/chaos/runchaos --binary "$TMPDIR/rialto-for-roles" --dir "$TMPDIR/roles-$layout" --engines s3 --roles "$layout" --seed "$((1 + $(turn 1 1000)))" --for 10s --every 2s --longest 4s --calm 3s \
			--rate 0.3 --only rolling --noise 30s
	done
}
releases() {
	stage "two releases: rolling upgrades from this build to one that stands for the next, and back while that is possible"
	local dir=$TMPDIR/releases
	mkdir "$dir"
	scripts/build.sh "$dir/older" -tags faults ./cmd/rialto
	scripts/build.sh "$dir/newer" -tags faults,nextprotocol ./cmd/rialto
	go run ./internal/tool/chaos/runchaos --older "$dir/older" --binary "$dir/newer" --dir "$dir/mixed" --seed 3 --for 25s --every 4s --longest 6s --calm 3s --only rolling --noise 30s | tee "$dir/mixed.txt"
	grep -q 'the older build was refused .*Upgrade this node' "$dir/mixed.txt"
	stage "a rolling upgrade from a build that was made from commit ${earlier:0:12}, to this one and back"
	earlier_source "$dir/source"
	(cd "$dir/source" && go build -buildvcs=false -tags faults -o "$dir/earlier" ./cmd/rialto)
	go run ./internal/tool/chaos/runchaos --older "$dir/earlier" --binary "$dir/older" --dir "$dir/upgrade" --network proxies --seed 4 --for 50s --every 4s --longest 6s --calm 3s --only rolling --noise 30s | tee "$dir/upgrade.txt"
	# By proxies, as the earlier build does not know the setting that lets it use PostgreSQL without TLS at addresses off loopback.
	# docs/formats/compatibility.md: while no form has changed, the way back is open to the end.
	if grep -q 'the older build was refused' "$dir/upgrade.txt"; then
		echo "the build of $earlier cannot replace this one, although docs/formats/compatibility.md says that it can"
		return 1
	fi
}
# earlier_source DIR: the source of the earlier build.
earlier_source() {
	if ! git cat-file -e "$earlier^{commit}" 2>/dev/null && ! git fetch --quiet origin "$earlier" 2>/dev/null; then
		echo "commit $earlier is not in this clone, and could not be fetched; a shallow clone gets it by: git fetch --unshallow"
		return 1
	fi
	mkdir "$1"
	git archive "$earlier" | tar -x -C "$1"
}
lint() {
	stage "lint"
	scripts/lint.sh
}
deployed() {
	stage "deployment files, with the parsers of their tools"
	scripts/deploy-test.sh
}
bridges() {
	stage "bridges, with servers of the other systems, killed at each step"
	scripts/setup.sh bridges
	scripts/build.sh "$TMPDIR/rialto-for-bridges" ./cmd/rialto
	(cd bridges && go vet ./... && TEST_BINARY=$TMPDIR/rialto-for-bridges go test -vet=off -timeout 10m ./...)
	scripts/lint.sh bridges ./...
}
kotlin() {
	stage "the SDK for Kotlin, with a server that is killed, and a network that loses"
	scripts/setup.sh kotlin
	scripts/build.sh "$TMPDIR/rialto-for-kotlin" ./cmd/rialto
	TEST_BINARY=$TMPDIR/rialto-for-kotlin mvn -B -ntp -f sdk/kotlin verify -DexcludedGroups=
}
# Not for CI: where Swift is missing, scripts/setup.sh installs it, which takes many minutes, and elsewhere than on Debian 13 needs root and 3.2 GB. It is the last part, because it ends the run where it cannot.
swift() {
	stage "the SDK for Swift, with a server that is killed"
	scripts/setup.sh swift
	scripts/build.sh bin/rialto-for-swift ./cmd/rialto # inside this folder, which is all that a Swift in bin/debian-13 sees
	TEST_BINARY=$PWD/bin/rialto-for-swift scripts/swift.sh test
}
artefacts() {
	stage "the signature of a release"
	scripts/sign-test.sh
	stage "the artefacts of a release, made twice and compared"
	scripts/release-test.sh
}
# race_detector [SHARE], mutants [SHARE], fuzz [SHARE]: a share is K/N, the K-th (from 0) of N alike.
race_detector() {
	local share=${1:-0/1} packages scenarios
	packages=$(tested_packages) scenarios=$(scenarios) # a failure in <() would go unnoticed
	mapfile -t packages < <(deal "${share%/*}" "${share#*/}" <<<"$packages")
	mapfile -t scenarios < <(deal "${share%/*}" "${share#*/}" <<<"$scenarios")
	local go_test=(with_postgres -records sqlite env CGO_ENABLED=1 go test "${race_flags[@]}" -timeout 60m -skip "^TestPowerCut")
	stage "tests with the race detector${1:+ (share $1)}"
	"${go_test[@]}" -p "$((2 * $(nproc)))" "${packages[@]}"
	stage "scenarios with whole servers and the race detector${1:+ (share $1)}"
	"${go_test[@]}" -run "$(names "${scenarios[@]}")" ./internal/app/apptest
}
mutants() {
	stage "mutants: each mutation must fail a test${1:+ (share $1)}"
	SHARE=${1:-0/1} scripts/mutants.sh
}
fuzz() {
	local share=${1:-0/1} n=0 file target
	while read -r file target; do
		if [ $((n++ % ${share#*/})) -eq "${share%/*}" ]; then
			stage "fuzzing $target in $(dirname "$file") for $fuzz_time"
			fuzz_one "$target" "$(dirname "$file")"
		fi
	done < <(git grep -oE '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' | sed 's/:func / /' | sort)
}
# fuzz_one TARGET FOLDER: a failure without an input is a timeout of Go's fuzzing itself, and is retried once. The SDK and the bridges are modules of their own.
fuzz_one() {
	local run=(go -C "$2" test -vet=off -run '^$' -fuzz "^$1\$" -fuzztime "$fuzz_time" -fuzzminimizetime 10x .)
	"${run[@]}" && return
	[ -z "$(git status --porcelain "$2")" ] || return 1
	echo "it failed without an input; retrying"
	"${run[@]}"
}

scripts/setup.sh test
case ${1:-} in
"")
	for part in parts lint race_detector ${groups[*]} hostile mutants fuzz swift; do "$part"; done
	;;
--turn)
	group=${groups[$(turn 1 4)]}
	# The parsers of Helm, Compose and Prometheus take minutes to build.
	recent=$(git log -100 --format= --name-only | grep -E '^(deploy|internal/base/telemetry)/' || true)
	[[ -z $recent || $group = *deployed* ]] || group+=" deployed"
	race=$(turn 128 4)/4 mutants=$(turn 4 16)/16 fuzz=$(turn 64 8)/8
	echo "== this commit's turn: $group, race detector $race, mutants $mutants, fuzz $fuzz"
	for part in lint "race_detector $race" $group "mutants $mutants" "fuzz $fuzz"; do $part; done
	;;
*)
	for part in "$@"; do
		[[ " parts lint race_detector ${groups[*]} swift hostile mutants fuzz " == *" $part "* ]] || { echo "unknown part: $part. The parts are: parts lint race_detector ${groups[*]} swift hostile mutants fuzz"; exit 2; }
		"$part"
	done
	;;
esac
echo; echo "make test-long: passed in ${SECONDS}s"
