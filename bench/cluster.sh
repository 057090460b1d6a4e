#!/usr/bin/env bash
# Measures the cost of a message on one node and on three nodes with the same PostgreSQL, in CPU seconds of all Rialto processes:
#   bench/cluster.sh [BINARY ...]
# The binaries (default bin/rialto) alternate, so that a change can be compared with the previous build. Each run has its own database on a
# private server. Environment: ROUNDS (3), DURATION (10s), PAIRS (100), WINDOW (16), NODES ("1 3"), PORT (7270), and PROFILE, a directory for
# the CPU profiles of the processes.
set -euo pipefail
if [ -z "${TEST_POSTGRES:-}" ]; then
	cd "$(dirname "$0")/.."
	exec go run ./internal/engine/sqldb/sqltest/withpostgres "bench/$(basename "$0")" "$@"
fi
(($# > 0)) || set -- bin/rialto
rounds=${ROUNDS:-3} duration=${DURATION:-10s} port=${PORT:-7270} profile=${PROFILE:-}
data=$(mktemp -d "${TMPDIR:-/tmp}/rialto-cluster-XXXXXX")
servers=()
trap '[ ${#servers[@]} = 0 ] || kill -9 "${servers[@]}" 2>/dev/null; rm -rf "$data"' EXIT
ulimit -n "$(ulimit -Hn)"
number() { sed "s/.*\"$1\":\(-\{0,1\}[0-9.]*\).*/\1/"; }

# sending returns one second after the load generator has started to send.
sending() {
	until grep -q "sending for" "$data/err" 2>/dev/null; do sleep 0.2; done
	sleep 1
}

# run NAME BINARY NODES: performs a run, and prints one line with its figures.
run() {
	local name=$1 binary=$2 nodes=$3 db="c$RANDOM$RANDOM" urls="" n address key j
	psql -q "$TEST_POSTGRES" -c "CREATE DATABASE $db"
	address=${TEST_POSTGRES/\/postgres\?//$db?}
	servers=()
	rm -f "$data/err"
	for n in $(seq "$nodes"); do
		GOMAXPROCS=2 "$binary" serve --data "$data/$db-$n" --listen "127.0.0.1:$((port + 2 * n))" --set log.level=warn --set limits.call_user=none \
			--set postgres="$address" --set node="n$n" >"$data/out$n" 2>&1 &
		servers+=($!)
		urls+="${urls:+,}http://127.0.0.1:$((port + 2 * n))"
	done
	for n in $(seq "$nodes"); do
		until grep -qs ready "$data/out$n"; do kill -0 "${servers[n - 1]}" || { cat "$data/out$n"; exit 1; }; sleep 0.1; done
	done
	sleep 3 # until the partitions are distributed
	key=$("$binary" admin key create --postgres "$address" --name bench)
	if [ -n "$profile" ]; then
		mkdir -p "$profile"
		for n in $(seq "$nodes"); do
			(sending; curl -s "http://127.0.0.1:$((port + 2 * n + 1))/debug/pprof/profile?seconds=${SECONDS_OF_PROFILE:-5}" >"$profile/$name-$nodes-$n.pprof") &
			[ -z "${PERF:-}" ] || [ $n -gt 1 ] || (sending; perf record -q -e cpu-clock -p "$(IFS=,; echo "${servers[*]}")" -o "$profile/$name-$nodes.perf" -g -- sleep ${SECONDS_OF_PROFILE:-5} >/dev/null 2>&1) &
		done
	fi
	GOMAXPROCS=2 "${BENCH:-$binary}" bench chat --url "$urls" --api-key "$key" --pairs "${PAIRS:-100}" --window "${WINDOW:-16}" --duration "$duration" --json >"$data/result" 2>"$data/err" || cat "$data/err" "$data/result" >&2
	j=$(<"$data/result")
	echo "$name $nodes cpu/M $(number server_cpu_s_per_million <<<"$j") acked/s $(number acked_per_s <<<"$j") delivered p50 $(number delivery_p50_ms <<<"$j") p99 $(number delivery_p99_ms <<<"$j") lost $(number lost <<<"$j") duplicated $(number duplicated <<<"$j") reordered $(number reordered <<<"$j") warnings $(cat "$data"/out* | wc -l) load $(cut -d' ' -f1 /proc/loadavg)"
	if [ -n "$profile" ]; then
		for n in $(seq "$nodes"); do
			curl -s "http://127.0.0.1:$((port + 2 * n + 1))/metrics" >"$profile/$name-$nodes-$n.metrics"
		done
	fi
	kill "${servers[@]}"
	wait "${servers[@]}" || true
	servers=()
	psql -q "$TEST_POSTGRES" -c "DROP DATABASE $db WITH (FORCE)"
	rm -rf "${data:?}/$db"-*
}

for _ in $(seq "$rounds"); do
	for nodes in ${NODES:-1 3}; do
		for binary in "$@"; do
			run "$(basename "$binary")" "$binary" "$nodes" | tee -a "$data/rows"
		done
	done
done
echo "== medians of CPU seconds per million messages"
for binary in "$@"; do
	for nodes in ${NODES:-1 3}; do
		grep "^$(basename "$binary") $nodes " "$data/rows" | awk '{print $4}' | sort -n | awk -v of="$(basename "$binary"), $nodes nodes" '{v[NR]=$1} END{print of ": " v[int((NR+1)/2)] " (" v[1] " to " v[NR] ")"}'
	done
done
