#!/usr/bin/env bash
# The long forms: more power cuts and kills, broken servers, and each fuzz target for a bounded time.
set -euo pipefail
cd "$(dirname "$0")/.."
each=${FUZZ_TIME:-10s}
scripts/setup.sh test
printf '\n== power cuts, the long form\n'
POWER_CUTS=4000 go test -timeout 20m -run '^TestPowerCut' ./internal/timeline/pebblelog
printf '\n== kills, the long form\n'
KILL_CYCLES=600 go test -timeout 20m -run '^TestKilled' ./internal/faulttest
printf '\n== ids: a thousand kills, and a thousand million side by side\n'
ID_KILL_CYCLES=1000 go test -timeout 5m -run '^TestKilledWhileItGivesIDs' ./cmd/rialto
ID_COUNT=1000000000 go test -timeout 10m -run '^TestVeryManyIDs' ./internal/idgen
printf '\n== ids: clocks and leases, the long form\n'
ID_SCHEDULES=150000 go test -timeout 15m -run '^TestIDsInAnySchedule' ./internal/idgen
printf '\n== ids: counters through crashes, takeovers and outages\n'
COUNTER_SCHEDULES=2000 go test -timeout 15m -run 'Model$' ./internal/idgen
printf '\n== a disk that fills up\n'
if unshare --mount --map-root-user true; then
	disk=$(mktemp -d)
	unshare --mount --map-root-user sh -c "mount -t tmpfs -o size=512m tmpfs '$disk' && SMALL_DISK='$disk' go test -count 1 -timeout 5m -tags smalldisk -run '^TestTheDiskIsFull' ./internal/faulttest"
	rmdir "$disk"
else
	echo "not run: this machine lets nobody mount a small disk"
fi
printf '\n== timelines in PostgreSQL, through ended connections and crashes\n'
PGLOG_LONGER=4 go test -timeout 10m -run 'Log|EndAtRandom|EndsInTheMiddle|Failover' ./internal/timeline/pglog
printf '\n== clusters of real engines\n'
scripts/test-cluster.sh
printf '\n== chaos: nodes, PostgreSQL and the ways between them are broken\n'
CHAOS_DIR=$(mktemp -d)
export CHAOS_DIR
scripts/chaos.sh 1 5 --for 45s --every 5s --longest 10s --calm 4s --noise 30s
printf '\n== two releases side by side: nodes go from this build to one that stands for the next, and back as long as they may\n'
go build -tags faults -o "$CHAOS_DIR/older" ./cmd/rialto
go build -tags faults,nextprotocol -o "$CHAOS_DIR/newer" ./cmd/rialto
go run ./internal/chaos/runchaos --older "$CHAOS_DIR/older" --binary "$CHAOS_DIR/newer" --dir "$CHAOS_DIR/mixed" --seed 3 --for 25s --every 4s --longest 6s --calm 3s --only rolling --noise 30s | tee "$CHAOS_DIR/mixed.txt"
grep -q 'the older build was refused .*Upgrade this node' "$CHAOS_DIR/mixed.txt"
rm -rf "$CHAOS_DIR"
printf '\n== mutants: does each broken server fail its tests\n'
scripts/mutants.sh
# fuzz TARGET FOLDER: what fails without an input to show for it is Go's own fuzzing running late, and is run once more.
fuzz() {
	local run=(go test -run '^$' -fuzz "^$1\$" -fuzztime "$each" "$2")
	"${run[@]}" && return
	[ -z "$(git status --porcelain "$2")" ] || return 1
	echo "it failed without an input; again"
	"${run[@]}"
}
grep -rl --include='*_test.go' '^func Fuzz' . | grep -v node_modules | sort | while read -r file; do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		printf '\n== fuzzing %s in %s for %s\n' "$target" "$(dirname "$file")" "$each"
		fuzz "$target" "$(dirname "$file")"
	done
done
echo; echo "make test-long: passed in ${SECONDS}s"
