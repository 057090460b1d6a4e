#!/usr/bin/env bash
# Measures one node on this machine: the server on cores 0 and 1, the load on 2 and 3. Takes about five minutes, and needs bin/rialto
# (make build). Each row alternates with the reference of the same disk; three rounds.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-3}
data=$(mktemp -d "${TMPDIR:-/tmp}/rialto-bench-XXXXXX")
port=${PORT:-7170}
url=http://127.0.0.1:$port
server=""
trap '[ -z "$server" ] || kill -9 $server 2>/dev/null; rm -rf "$data"' EXIT

start() {
	GOMAXPROCS=2 taskset -c 0,1 bin/rialto serve --data "$data/$1" --listen "127.0.0.1:$port" --set log.level=warn >"$data/out" 2>&1 &
	server=$!
	until grep -q ready "$data/out"; do kill -0 $server || { cat "$data/out"; exit 1; }; done
}
stop() { kill $server; wait $server || true; server=""; }
load() { GOMAXPROCS=2 taskset -c 2,3 bin/rialto bench "$@" 2>/dev/null; }
number() { sed "s/.*\"$1\":\([0-9.]*\).*/\1/"; }
show() { printf '%-44s %s\n' "$1" "$2"; }

for round in $(seq "$rounds"); do
	echo "== round $round"
	r=$(GOMAXPROCS=2 taskset -c 0,1 bin/rialto bench reference --data "$data/reference" --duration 5s --json)
	base=$(number pebble_records_per_s <<<"$r")
	show "reference: Pebble Sync, 64 writers, batch 1" "$base/s, fdatasync p50 $(number fdatasync_p50_ms <<<"$r") ms"
	start "round$round"
	for w in 16 1; do
		j=$(load chat --url "$url" --pairs 100 --window $w --duration 10s --json)
		show "1:1, 100 pairs, W=$w" "$(number acked_per_s <<<"$j")/s (ratio $(awk "BEGIN{printf \"%.2f\", $(number acked_per_s <<<"$j")/$base}")), ack p50 $(number ack_p50_ms <<<"$j") p99 $(number ack_p99_ms <<<"$j") ms, CPU $(number server_cpu_s_per_million <<<"$j") s/M, lost $(number lost <<<"$j")"
		rate=$(number acked_per_s <<<"$j")
	done
	j=$(load chat --url "$url" --pairs 100 --rate "$(awk "BEGIN{printf \"%d\", $rate/2}")" --duration 10s --json)
	show "1:1 at half of that rate, open loop" "delivery p50 $(number delivery_p50_ms <<<"$j") p99 $(number delivery_p99_ms <<<"$j") ms"
	for w in 8 32; do
		j=$(load chat --url "$url" --groups 1 --group-size 1000 --window $w --duration 8s --json)
		show "1 to 1,000 online, $w in flight" "$(number delivered_per_s <<<"$j") deliveries/s"
	done
	j=$(load chat --url "$url" --groups 20 --group-size 100 --window 4 --duration 8s --json)
	show "20 groups of 100, inbox fan-out" "$(number delivered_per_s <<<"$j") deliveries/s"
	stop
	bin/rialto verify --data "$data/round$round" 2>/dev/null
	rm -rf "$data/round$round"
done

start idle
key=$(bin/rialto admin key create --data "$data/idle" --name bench)
load idle --url "$url" --api-key "$key" --connections "${CONNECTIONS:-15000}"
stop
