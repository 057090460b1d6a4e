#!/usr/bin/env bash
# Runs the image by rootless Podman: deploy/image/podman-test.sh IMAGE.tar, as scripts/image.sh makes it. The container has a read-only root, no capabilities, no new privileges, and Podman's filter of
# system calls, and its user is an unprivileged one of the machine. It must become ready, make a key, and stop cleanly. The script needs root, to make that user for itself only: in a mount namespace
# with copies of the machine's lists of users. Control groups in hybrid mode, which crun refuses, are of version 1 there.
set -euo pipefail
[ $# -eq 1 ] && [ -f "$1" ] || { echo "usage: deploy/image/podman-test.sh IMAGE.tar" >&2; exit 2; }
missing() { echo "podman-test: $1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || missing "a user for the test can be made by root only"
for tool in podman crun newuidmap; do command -v "$tool" >/dev/null || missing "$tool is missing: apt-get install podman crun uidmap"; done
dir=$(mktemp -d "${TMPDIR:-/tmp}/rialto-podman-XXXXXX")
user=61183
trap 'rm -rf "$dir"' EXIT
cp "$1" "$dir/image.tar"
mkdir -p "$dir/home/run"
for file in passwd group subuid subgid; do cat "/etc/$file" >"$dir/$file" 2>/dev/null || : >"$dir/$file"; done
echo "rialto-test:x:$user:$user::$dir/home:/bin/bash" >>"$dir/passwd"
echo "rialto-test:x:$user:" >>"$dir/group"
echo "rialto-test:700000:65536" | tee -a "$dir/subuid" >>"$dir/subgid"
cat >"$dir/probe" <<'PROBE'
set -euo pipefail
cd "$HOME"
podman load --quiet --input ../image.tar
# Limits that any machine allows: without them Podman asks for those of root.
podman run --detach --name rialto --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --read-only --cap-drop all --security-opt no-new-privileges --network none localhost/rialto:latest
trap 'podman rm --force --time 0 rialto >/dev/null; kill "$(cat "$XDG_RUNTIME_DIR/libpod/tmp/pause.pid")"' EXIT # Podman leaves a process that has the namespaces
for _ in $(seq 240); do
	if podman logs rialto 2>&1 | grep 'Rialto is ready' >/dev/null; then echo "PODMAN-TEST ready"; break; fi
	sleep 0.5
done
pid=$(podman inspect rialto --format '{{.State.Pid}}')
awk '/^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):/ { print "PODMAN-TEST", $1, ($1 == "Uid:" ? ($2 >= 700000 ? "of the container" : $2) : $2) }' "/proc/$pid/status"
grep -q '^[0-9]* [0-9]* [0-9:]* [^ ]* / ro[, ]' "/proc/$pid/mountinfo" && echo "PODMAN-TEST read-only root"
podman exec rialto rialto admin key create --data /var/lib/rialto --name podman | grep '^[a-z]*_' >/dev/null && echo "PODMAN-TEST made a key"
podman stop --time 60 rialto >/dev/null
echo "PODMAN-TEST exit $(podman inspect rialto --format '{{.State.ExitCode}}')"
PROBE
chmod 755 "$dir"
chmod 644 "$dir"/*
chown -R "$user:$user" "$dir/home"
chmod -R 700 "$dir/home"
export dir user
unshare --mount bash -euc '
	for file in passwd group subuid subgid; do
		[ -e "/etc/$file" ] || : >"/etc/$file"
		mount --bind "$dir/$file" "/etc/$file"
	done
	if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi
	exec setpriv --reuid "$user" --regid "$user" --clear-groups env -i PATH="$PATH" HOME="$dir/home" XDG_RUNTIME_DIR="$dir/home/run" timeout 300 bash "$dir/probe"' >"$dir/said" 2>&1 || true
for want in ready "Uid: of the container" "CapEff: 0000000000000000" "CapBnd: 0000000000000000" "NoNewPrivs: 1" "Seccomp: 2" "read-only root" "made a key" "exit 0"; do
	grep -qxF "PODMAN-TEST $want" "$dir/said" || { cat "$dir/said"; echo "podman-test: \"$want\" is missing"; exit 1; }
done
echo "the image runs by rootless $(podman --version), read-only and without privileges"
