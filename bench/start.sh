#!/usr/bin/env bash
# Measures the time from the start of a server until it accepts connections, its size, its memory at rest, and the disk space of a message:
#   bench/start.sh [MESSAGES]
# The default is 10 million messages, which takes some minutes. Needs bin/rialto (make build).
set -euo pipefail
cd "$(dirname "$0")/.."
messages=${1:-10000000}
data=$(mktemp -d "${TMPDIR:-/tmp}/rialto-start-XXXXXX")
port=${PORT:-7170}
url=http://127.0.0.1:$port
server=""
trap '[ -z "$server" ] || kill -9 $server 2>/dev/null; rm -rf "$data"' EXIT

# start: starts the server, and prints the milliseconds until its port accepts connections.
start() {
	local begin; begin=$(date +%s%N)
	bin/rialto serve --data "$data/d" --listen "127.0.0.1:$port" --set log.level=warn >"$data/out" 2>&1 &
	server=$!
	until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
	echo $((($(date +%s%N) - begin) / 1000000))
}
stop() { kill "${1:--TERM}" $server; wait $server 2>/dev/null || true; server=""; }
started() { start >"$data/ms"; printf '%-44s %s ms\n' "$1" "$(cat "$data/ms")"; }

printf '%-44s %s MB\n' "binary" "$(($(stat -c %s bin/rialto) / 1000000))"
started "start, empty"
sleep 2
printf '%-44s %s KB\n' "memory at rest" "$(awk '/VmRSS/{print $2}' /proc/$server/status)"
seconds=$((messages / 120000 + 1))
bin/rialto bench chat --url "$url" --pairs 100 --window 16 --duration ${seconds}s --json 2>/dev/null >"$data/json"
acked=$(sed 's/.*"acked":\([0-9]*\).*/\1/' "$data/json")
stop
started "start, with $acked messages, after a stop"
stop -KILL
started "start, with $acked messages, after kill -9"
bin/rialto bench chat --url "$url" --pairs 100 --window 16 --duration 8s --json >/dev/null 2>&1 &
load=$!
sleep 6
stop -KILL
kill $load 2>/dev/null; wait $load 2>/dev/null || true
started "start, after kill -9 under load"
sleep 20 # until compactions have finished
stop
bin/rialto verify --data "$data/d" 2>/dev/null >"$data/report"
acked=$(sed -n 's/.*with \([0-9]*\) entries, .*expired.*/\1/p' "$data/report")
bytes=$(du -sb "$data/d/timeline" | cut -f1)
printf '%-44s %s bytes\n' "on disk for each message of 200 bytes" $((bytes / acked))
cat "$data/report"
