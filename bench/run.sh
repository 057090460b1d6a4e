#!/usr/bin/env bash
# Measures one node on this machine. The server and the load generator run on separate CPUs: two each on a machine with four or more,
# one each on a machine with two or three. The script takes about ten minutes, and needs bin/rialto (make build). Each measurement alternates
# with its reference on the same CPUs and disk. The table at the end shows medians.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-3}
data=$(mktemp -d "${TMPDIR:-/tmp}/rialto-bench-XXXXXX")
port=${PORT:-7170}
peer=$((port + 10))
url=http://127.0.0.1:$port
server="" nats=""
trap '[ -z "$server$nats" ] || kill -9 $server $nats 2>/dev/null; rm -rf "$data"' EXIT
ulimit -n "$(ulimit -Hn)"

# The CPUs that this process may use, one on each line: a container may have fewer than the machine.
cpus() {
	taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done
}
mapfile -t cpu < <(cpus)
each=$((${#cpu[@]} >= 4 ? 2 : 1))
if ((${#cpu[@]} < 2)); then
	echo "this machine has one CPU: the server and the load generator need one each" >&2
	exit 1
fi
server_cpus=$(IFS=,; echo "${cpu[*]:0:each}") load_cpus=$(IFS=,; echo "${cpu[*]:each:each}")
echo "${#cpu[@]} CPUs: the server and its references run on CPU $server_cpus, the load generator on CPU $load_cpus (GOMAXPROCS=$each each)"
on_server() { exec env GOMAXPROCS="$each" taskset -c "$server_cpus" "$@"; }
on_load() { GOMAXPROCS=$each taskset -c "$load_cpus" "$@"; }

start() {
	on_server bin/rialto serve --data "$data/$1" --listen "127.0.0.1:$port" --set log.level=warn --set limits.call_user=none >"$data/out" 2>&1 &
	server=$!
	until grep -q ready "$data/out"; do kill -0 $server || { cat "$data/out"; exit 1; }; done
}
stop() { kill $server; wait $server || true; server=""; }
load() { on_load bin/rialto bench "$@" 2>/dev/null; }
number() { sed "s/.*\"$1\":\(-\{0,1\}[0-9.]*\).*/\1/"; }
calc() { awk "BEGIN{printf \"$1\", $2}"; }
# row NAME VALUE: prints a value, and stores it for the medians.
row() {
	printf '%-46s %s\n' "$1" "$2"
	printf '%s\t%s\n' "$1" "$2" >>"$data/rows"
}

# chat NAME FLAG...: measures one-to-one messages, and compares them with the $base records/s of the reference.
chat() {
	local name=$1 j; shift
	j=$(load chat --url "$url" --pairs 100 --duration 10s --json "$@")
	rate=$(number acked_per_s <<<"$j")
	row "$name: acked/s" "$rate"
	row "$name: ratio to Pebble Sync" "$(calc %.2f "$rate/$base")"
	row "$name: ack p50, ms" "$(number ack_p50_ms <<<"$j")"
	row "$name: ack p99, ms" "$(number ack_p99_ms <<<"$j")"
	row "$name: server CPU s per million" "$(number server_cpu_s_per_million <<<"$j")"
	row "$name: lost, duplicated, reordered" "$(calc %d "$(number lost <<<"$j")+$(number duplicated <<<"$j")+$(number repeated <<<"$j")+$(number reordered <<<"$j")")"
}

(cd bench/peers && go build -o ../../bin/peers .)
for round in $(seq "$rounds"); do
	echo "== round $round of $rounds"
	r=$(on_server bin/rialto bench reference --data "$data/reference" --duration 5s --json)
	base=$(number pebble_records_per_s <<<"$r") sync=$(number fdatasync_p50_ms <<<"$r")
	row "reference: Pebble Sync, 64 writers, records/s" "$base"
	row "reference: fdatasync p50, ms" "$sync"
	start "round$round"
	chat "1:1, W=1" --window 1 # before W=16, which leaves compactions behind
	j=$(load chat --url "$url" --pairs 100 --rate "$(calc %d "$rate/2")" --duration 10s --json)
	row "1:1, open loop at half: delivery p50, ms" "$(number delivery_p50_ms <<<"$j")"
	row "1:1, open loop at half: delivery p99, ms" "$(number delivery_p99_ms <<<"$j")"
	row "1:1, open loop at half: delivery p99.9, ms" "$(number delivery_p999_ms <<<"$j")"
	row "1:1, open loop at half: p50 in syncs" "$(calc %.1f "$(number delivery_p50_ms <<<"$j")/$sync")"
	row "1:1, open loop at half: p99 in syncs" "$(calc %.1f "$(number delivery_p99_ms <<<"$j")/$sync")"
	chat "1:1, W=16" --window 16
	on_server bin/peers serve --listen "127.0.0.1:$peer" &
	nats=$!
	until (exec 3<>"/dev/tcp/127.0.0.1/$peer") 2>/dev/null; do :; done
	for w in 8 32; do
		n=$(on_load bin/peers fanout --to "127.0.0.1:$peer" --members 1000 --window $w --duration 6s | number delivered_per_s)
		j=$(load chat --url "$url" --groups 1 --group-size 1001 --window $w --whole --duration 6s --json)
		d=$(number delivered_per_s <<<"$j")
		row "1 to 1,000, $w in flight: NATS, deliveries/s" "$n"
		row "1 to 1,000, $w in flight: deliveries/s" "$d"
		row "1 to 1,000, $w in flight: ratio to NATS" "$(calc %.2f "$d/$n")"
		row "1 to 1,000, $w in flight: CPU s per million" "$(calc %.2f "$(number server_cpu_s_per_million <<<"$j")*$(number acked <<<"$j")/$(number delivered <<<"$j")")"
		if [ "$w" = 8 ]; then fan8=$d; else fan32=$d; fi
	done
	kill $nats; wait $nats || true; nats=""
	key=$(bin/rialto admin key create --data "$data/round$round" --name bench)
	# With 4 in flight there are as many concurrent deliveries as with 32 in the large group, but one write to a connection has 4 at most.
	for w in 4 8; do
		j=$(load chat --url "$url" --api-key "$key" --groups 100 --group-size 100 --window $w --duration 8s --json)
		d=$(number delivered_per_s <<<"$j")
		row "100 groups of 100, $w in flight: deliveries/s" "$d"
		row "100 groups of 100, $w in flight: CPU s per million" "$(calc %.2f "$(number server_cpu_s_per_million <<<"$j")*$(number acked <<<"$j")/$(number delivered <<<"$j")")"
		if [ $w = 4 ]; then
			row "100 groups of 100, 4 in flight: ratio to 1 to 1,000, 32" "$(calc %.2f "$d/$fan32")"
		else
			row "100 groups of 100, 8 in flight: ratio to 1 to 1,000, 8" "$(calc %.2f "$d/$fan8")"
		fi
	done
	j=$(load catchup --url "$url" --data "$data/reference" --json)
	row "50,000 events behind, ms" "$(number catchup_ms <<<"$j")"
	row "50,000 events behind: ratio to Pebble alone" "$(calc %.1f "$(number catchup_ms <<<"$j")/$(number reference_ms <<<"$j")")"
	stop
	bin/rialto verify --data "$data/round$round" 2>/dev/null
	rm -rf "$data/round$round"
done

start idle
key=$(bin/rialto admin key create --data "$data/idle" --name bench)
j=$(load idle --url "$url" --api-key "$key" --connections "${CONNECTIONS:-15000}" --json)
row "$(number connections <<<"$j") idle connections: KB each" "$(number kb_per_connection <<<"$j")"
stop

printf '\n%-46s %s\n' "medians of $rounds rounds" ""
cut -f1 "$data/rows" | awk '!seen[$0]++' | while read -r name; do
	awk -F'\t' -v n="$name" '$1 == n {print $2}' "$data/rows" | sort -g | awk -v n="$name" '{v[NR] = $1} END {printf "%-46s %s\n", n, v[int((NR + 1) / 2)]}'
done
