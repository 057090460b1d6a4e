#!/usr/bin/env bash
# Chaos: runs with successive seeds for a given time. The first run with a violation is kept, and ends it.
#   scripts/chaos.sh [MINUTES] [FIRST SEED] [FURTHER FLAGS OF runchaos ...]
# Or a single run with a number of minutes of faults, whose report becomes docs/operating/chaos-report.html if all rules hold:
#   scripts/chaos.sh keep [MINUTES, 60] [SEED, 1] [FURTHER FLAGS OF runchaos ...]
set -euo pipefail
cd "$(dirname "$0")/.."
keep=
if [ "${1:-}" = keep ]; then
	keep=docs/operating/chaos-report.html
	shift
fi
minutes=${1:-$([ -n "$keep" ] && echo 60 || echo 10)} seed=${2:-1}
shift $(($# < 2 ? $# : 2))
dir=${CHAOS_DIR:-chaos-report}
mkdir -p "$dir"
scripts/build.sh "$dir/rialto" -tags faults ./cmd/rialto
scripts/build.sh "$dir/runchaos" ./internal/tool/chaos/runchaos
if [ -n "$keep" ]; then
	if [ -n "$(git status --porcelain)" ]; then echo "There are uncommitted changes; the report will say so."; fi
	# A run is checked in memory. An hour at the usual rate would have too many events.
	"$dir/runchaos" --binary "$dir/rialto" --seed "$seed" --dir "$dir/$seed" --for "${minutes}m" --rate 0.4 "$@"
	size=$(wc -c <"$dir/$seed/report.html")
	if [ "$size" -gt 300000 ]; then
		echo "$dir/$seed/report.html has $size bytes, which is too large to commit"
		exit 1
	fi
	cp "$dir/$seed/report.html" "$keep"
	rm -f "$dir/rialto" "$dir/runchaos"
	echo "kept: $keep ($size bytes); commit it"
	exit
fi
until=$((SECONDS + minutes * 60))
while [ "$SECONDS" -lt "$until" ]; do
	printf '\n== chaos, seed %s\n' "$seed"
	code=0
	"$dir/runchaos" --binary "$dir/rialto" --seed "$seed" --dir "$dir/$seed" "$@" || code=$?
	printf '%s seed %s exit %s %s\n' "$(date -u +%FT%TZ)" "$seed" "$code" "$*" >>"$dir/seeds.txt"
	if [ "$code" -ne 0 ] && [ -z "${CHAOS_GO_ON:-}" ]; then
		exit "$code"
	fi
	seed=$((seed + 1))
done
rm -f "$dir/rialto" "$dir/runchaos"
