#!/usr/bin/env bash
# Hostile clients against a server with 1 GiB and one core, and normal users at the same time: scripts/hostile.sh [SECONDS [CONNECTIONS]].
# The server runs in its own control group, which needs root or a delegated group; without one the script says so and exits with 3.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60} connections=${2:-5000}
limit=$((1 << 30))

# group_in FOLDER FILE: creates a group with the limit in a hierarchy, and prints its folder.
group_in() {
	local group="$1/rialto-hostile-$$"
	mkdir "$group" 2>/dev/null || return 1
	# Outside a cgroup hierarchy, the kernel does not create these files.
	if ! [ -e "$group/cgroup.procs" ] || ! [ -e "$group/$2" ] || ! echo "$limit" 2>/dev/null >"$group/$2"; then
		rmdir "$group"
		return 1
	fi
	echo "$group"
}
# Version 2 if it has the memory controller, otherwise version 1.
own=$(sed -n 's/^0:://p' /proc/self/cgroup)
old=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
group=$(group_in "/sys/fs/cgroup$own" memory.max) || group=$(group_in /sys/fs/cgroup memory.max) ||
	group=$(group_in "/sys/fs/cgroup/memory$old" memory.limit_in_bytes) || group=$(group_in /sys/fs/cgroup/memory memory.limit_in_bytes) || {
	echo "cannot create a control group with a memory limit: neither /sys/fs/cgroup (version 2, with the memory controller) nor /sys/fs/cgroup/memory (version 1) is writable; run this as root, or in a delegated group (systemd-run --user --scope -p Delegate=yes)"
	exit 3
}
trap 'rmdir "$group" 2>/dev/null || true' EXIT
echo 0 2>/dev/null >"$group/memory.swap.max" || true # without this file there is no swap
files=$(ulimit -n)
if [ "$files" != unlimited ] && [ "$files" -lt $((connections * 2 + 1000)) ]; then
	echo "a process may have $files files open here, and $connections connections need $((connections * 2 + 1000)): raise ulimit -n"
	exit 3
fi
# A directory of data in memory would count as memory of the server.
TMPDIR=/var/tmp HOSTILE_CGROUP=$group HOSTILE_SECONDS=$seconds HOSTILE_CLIENTS=$connections HOSTILE_MIB=1000 \
	go test -vet=off -count 1 -v -timeout "$((seconds + 600))s" -run '^TestHostileClients$' ./internal/app/faulttest
if [ -f "$group/memory.max_usage_in_bytes" ]; then
	echo "the group used at most $(($(cat "$group/memory.max_usage_in_bytes") >> 20)) MiB, including the kernel's part, and was refused memory $(cat "$group/memory.failcnt") times"
elif [ -f "$group/memory.peak" ]; then
	echo "the group used at most $(($(cat "$group/memory.peak") >> 20)) MiB, including the kernel's part; $(grep -w max "$group/memory.events") times it reached its limit"
fi
