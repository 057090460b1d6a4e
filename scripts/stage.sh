# Sourced by the scripts that run stages: `stage NAME` prints the stage that begins, and the time and CPU time since the script began.
stage() {
	local file=$TMPDIR/times.$BASHPID
	times >"$file" # not in a pipeline or $(): there it would be another shell's
	printf '\n== %s (%ss, CPU %ss)\n' "$1" "$SECONDS" \
		"$(awk '{ for (i = 1; i <= NF; i++) { split($i, t, /[ms]/); sum += t[1] * 60 + t[2] } } END { printf "%d", sum }' "$file")"
}

# beside FUNCTION: runs a function's stages beside what follows, in a process group of their own, so that all of it ends with the script.
# join FUNCTION waits for it, prints what it wrote, and fails if it did.
declare -A process_groups=()
beside() {
	set -m
	"$1" </dev/null >"$TMPDIR/$1.txt" 2>&1 &
	set +m
	process_groups[$1]=$!
}
join() {
	local status=0
	wait "${process_groups[$1]}" || status=$?
	unset "process_groups[$1]"
	cat "$TMPDIR/$1.txt"
	return "$status"
}
end_beside() {
	local group
	for group in "${process_groups[@]}"; do
		kill -- "-$group" 2>/dev/null || true
		wait "$group" || true
	done
}

# turn DIVISOR N: which of N parts is this commit's turn, counted from 0. Its hash decides, so that a commit always gets the same parts.
turn() { echo $((16#$(git rev-parse HEAD | cut -c1-7) / $1 % $2)); }

# tested_packages: those that go test runs without a server of their own. Those that wait for ffmpeg come first, and then the ones with most tests, so that
# dealing them makes even parts, and none is waited for at the end.
tested_packages() {
	local package folder
	go list -f '{{.ImportPath}} {{.Dir}}' ./... github.com/rialto-im/rialto/sdk/go/... | # the SDK is a module of its own
		grep -vE '/(internal/tool/archtest|internal/app/(app|fault)test|cmd/rialto) ' |
		while read -r package folder; do echo "$([[ $package = */transcode || $package = */video ]] && echo 9)$(find "$folder" -maxdepth 1 -name '*_test.go' -exec cat {} + | wc -c) $package"; done |
		sort -k1,1nr -k2 | cut -d' ' -f2
}
# scenarios: the tests with whole servers, except those that start several nodes themselves.
own_nodes='TwoReleases|OverTwoNodes|Move'
scenarios() { git grep -hoE '^func Test[A-Za-z0-9_]+' -- internal/app/apptest | sed 's/^func //' | grep -vE "$own_nodes" | sort; }
# deal K N: the K-th line of each N, counted from 0.
deal() { awk -v k="$1" -v n="$2" 'NR % n == (k + 1) % n'; }
# names NAME...: a pattern for tests with these names only.
names() { local IFS='|'; echo "^($*)\$"; }
with_postgres() { go run ./internal/engine/sqldb/sqltest/withpostgres "$@"; }

# The race detector leaves out what it could not judge: SQLite is translated from C, and all its data is in memory of its own, which the
# detector ignores. Without that package a test of a whole server takes half the CPU time. No package with generic functions, or functions
# of sync, may be left out: the linker could use its copies everywhere, which causes false reports. The detector brings checks of unsafe
# pointers with it, which translated code uses everywhere: none of it has them.
race_flags=(-race -vet=off -gcflags=modernc.org/...=-d=checkptr=0 '-gcflags=modernc.org/sqlite/lib=-d=checkptr=0 -race=false')
# race FLAGS...: go test with the race detector.
race() { CGO_ENABLED=1 go test "${race_flags[@]}" "$@"; }

# Tests keep their files in memory if there is room, so they do not depend on the speed of the disk. Power failures are
# tested on a special file system that forgets unsynced data.
memory() {
	[ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -1)" -gt 6000000 ] 2>/dev/null &&
		[ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt 10000000 ]
}
# The same build flags for all stages except those with the race detector, so that each package is compiled once. Without debug
# information and symbols, each test program is linked in less than half the time. Where there is memory, compilers take more of it.
flags="-trimpath -ldflags=-s"
if memory && [[ $PWD != *[[:space:]]* ]]; then flags+=" -toolexec=$PWD/scripts/tool.sh"; fi
export GOFLAGS="$flags${GOFLAGS:+ $GOFLAGS}" CGO_ENABLED=0

if [ -z "${TESTS_DIR:-}" ]; then
	if [ -z "${TMPDIR:-}" ] && memory; then TMPDIR=/dev/shm; fi
	TESTS_DIR=$(mktemp -d "${TMPDIR:-/tmp}/rialto-tests-XXXXXX")
	chmod 1777 "$TESTS_DIR" # PostgreSQL's servers run as a user of their own
	trap 'end_beside; rm -rf "$TESTS_DIR"' EXIT
fi
export TESTS_DIR TMPDIR=$TESTS_DIR
