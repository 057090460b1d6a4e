#!/usr/bin/env bash
# Boots a real systemd in a container of systemd-nspawn, over a copy-on-write view of this machine's files, and runs the unit there: deploy/systemd/boot-test.sh BINARY. The server must answer
# without privileges, come back after it was killed, and stop cleanly. It needs root, overlayfs, and Debian's systemd; systemd-nspawn is downloaded if it is not installed.
set -euo pipefail
[ $# -eq 1 ] && [ -x "$1" ] || { echo "usage: deploy/systemd/boot-test.sh BINARY" >&2; exit 2; }
binary=$(realpath "$1") units=$(realpath "$(dirname "$0")")
missing() { echo "boot-test: $1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || missing "systemd-nspawn needs root"
[ -x /lib/systemd/systemd ] || missing "systemd is missing: apt-get install systemd"
dir=$(mktemp -d "${TMPDIR:-/tmp}/rialto-boot-XXXXXX")
trap 'rm -rf "$dir"' EXIT
nspawn=$(command -v systemd-nspawn || true)
libraries=
if [ -z "$nspawn" ]; then
	(cd "$dir" && apt-get download -qq systemd-container && dpkg -x systemd-container_*.deb nspawn) 2>/dev/null || missing "systemd-nspawn is missing, and could not be downloaded: apt-get install systemd-container"
	nspawn=$dir/nspawn/usr/bin/systemd-nspawn libraries=$(echo "$dir"/nspawn/usr/lib/*/systemd)
fi
mkdir "$dir/upper" "$dir/root"

cat >"$dir/probe" <<'PROBE'
healthy() {
	for _ in $(seq 120); do
		if curl -sf http://127.0.0.1:7070/healthz >/dev/null; then echo "BOOT-TEST $1"; return; fi
		sleep 0.5
	done
}
pid() { systemctl show --property MainPID --value rialto.service; }
healthy answers
awk '/^(Uid|CapEff|NoNewPrivs|Seccomp):/ { print "BOOT-TEST", $1, ($1 == "Uid:" ? ($2 > 0 ? "unprivileged" : "root") : $2) }' "/proc/$(pid)/status"
[ -d /var/lib/private/rialto ] && echo "BOOT-TEST has a state directory"
first=$(pid)
kill -KILL "$first"
while [ "$(pid)" = "$first" ] || [ "$(pid)" = 0 ]; do sleep 0.2; done
healthy "came back"
systemctl stop rialto.service
systemctl show --property Result --property ExecMainStatus rialto.service | sed 's/^/BOOT-TEST /'
poweroff --force
PROBE
cat >"$dir/probe.service" <<'UNIT'
[Unit]
After=rialto.service
Wants=rialto.service
[Service]
Type=oneshot
StandardOutput=tty
TTYPath=/dev/console
ExecStart=/bin/bash /etc/rialto/probe
UNIT
cat >"$dir/test.target" <<'UNIT'
[Unit]
Wants=rialto.service probe.service
AllowIsolate=yes
UNIT
export dir binary units nspawn libraries
unshare --mount bash -euc '
	mount -t tmpfs -o size=1g tmpfs "$dir/upper"
	mkdir "$dir/upper/files" "$dir/upper/work"
	mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/upper/files,workdir=$dir/upper/work" "$dir/root"
	cd "$dir/root"
	rm -rf etc/systemd/system/*.wants etc/machine-id
	: >etc/machine-id
	cp "$binary" usr/local/bin/rialto
	mkdir -p etc/rialto
	install -m 600 /dev/stdin etc/rialto/rialto.yaml <<<"listen: 127.0.0.1:7070"
	cp "$dir/probe" etc/rialto/
	cp "$units/rialto.service" "$dir/probe.service" "$dir/test.target" etc/systemd/system/
	LD_LIBRARY_PATH=$libraries timeout 300 "$nspawn" --quiet --directory="$dir/root" --private-network --register=no --keep-unit --boot systemd.unit=test.target 2>&1' | tee "$dir/console" | tr -d '\r' | grep -ao 'BOOT-TEST .*' | sed 's/\x1b.*//' >"$dir/said" || true
for want in answers "Uid: unprivileged" "CapEff: 0000000000000000" "NoNewPrivs: 1" "Seccomp: 2" "has a state directory" "came back" "Result=success" "ExecMainStatus=0"; do
	grep -qxF "BOOT-TEST $want" "$dir/said" || { tail -40 "$dir/console"; echo "boot-test: \"$want\" is missing among:"; cat "$dir/said"; exit 1; }
done
echo "the unit runs under $(/lib/systemd/systemd --version | head -1), without privileges, and comes back after a kill"
