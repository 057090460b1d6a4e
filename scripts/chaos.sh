#!/usr/bin/env bash
# Chaos: runs, one after the other, each with the next seed, for a given time. The first that does not hold is kept, and ends it.
#   scripts/chaos.sh [MINUTES] [FIRST SEED] [FURTHER FLAGS OF runchaos ...]
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:-10} seed=${2:-1}
shift $(($# < 2 ? $# : 2))
dir=${CHAOS_DIR:-chaos-report}
mkdir -p "$dir"
go build -tags faults -o "$dir/rialto" ./cmd/rialto
go build -o "$dir/runchaos" ./internal/chaos/runchaos
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
