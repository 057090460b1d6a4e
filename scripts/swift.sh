#!/usr/bin/env bash
# Runs swift for sdk/swift, with its arguments: scripts/swift.sh test. It is the one of this machine, or else that of Debian 13 in bin/debian-13, which
# scripts/setup.sh swift makes. That needs root: it runs with bin/debian-13 as its root directory, where this folder has its own path.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/bin/swift
if command -v swift >/dev/null; then exec swift "$1" --package-path sdk/swift --scratch-path "$build" "${@:2}"; fi
[ -e bin/debian-13/complete ] || { echo "missing: Swift 5.9 or newer; scripts/setup.sh swift installs one" >&2; exit 1; }
# The mounts are those of this process, and end with it.
exec unshare --mount --propagation private bash -euc '
	root=$1 here=$2 build=$3 command=$4
	shift 4
	mkdir -p "$root$here"
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	mount --bind "$here" "$root$here"
	exec chroot "$root" env -u TMPDIR HOME=/root swift "$command" --package-path "$here/sdk/swift" --scratch-path "$build" "$@"
' _ "$PWD/bin/debian-13" "$PWD" "$build" "$@"
