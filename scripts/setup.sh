#!/usr/bin/env bash
# Installs what the project needs and is missing: setup.sh run (for make run), setup.sh generate (for make generate), setup.sh test (for
# make test), setup.sh cluster (for make test-cluster), setup.sh bridges (for the tests of bridges), setup.sh kotlin (for the SDK for Kotlin),
# setup.sh swift (for the SDK for Swift) or setup.sh deployed (for all tests of deploy/).
# It prints what it does, and what is missing if it cannot install it.
set -euo pipefail
cd "$(dirname "$0")/.."
for=${1:-run}

missing() { echo "missing: $1" >&2; exit 1; }

lacks_swift() { [ "$for" = swift ] && ! command -v swift >/dev/null && [ ! -e bin/debian-13/complete ]; }

newer() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -1)" = "$1" ]; }

command -v go >/dev/null || missing "Go 1.26 or newer (https://go.dev/dl)"
have=$(go env GOVERSION); newer 1.26 "${have#go}" || missing "Go 1.26 or newer; this is $have"

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	if [ "$for" = run ]; then
		echo "== no Node: the server is built without the web app (install Node 20 and run make again)"
		exit 0
	fi
	missing "Node 20 or newer, with npm"
fi
have=$(node --version); newer 20 "${have#v}" || missing "Node 20 or newer; this is $have"

# Downloads run concurrently: fetch NAME COMMAND... starts one, fetched waits for all.
logs=$(mktemp -d "${TMPDIR:-/tmp}/rialto-setup-XXXXXX")
trap 'rm -rf "$logs"' EXIT
names=() pids=()
fetch() {
	echo "== $1"
	"${@:2}" >"$logs/${#pids[@]}" 2>&1 &
	names+=("$1") pids+=($!)
}
fetched() {
	local n failed=0
	for n in "${!pids[@]}"; do
		if ! wait "${pids[$n]}"; then
			echo "failed: ${names[$n]}" >&2
			cat "$logs/$n" >&2
			failed=1
		fi
	done
	names=() pids=()
	return $failed
}

# npm ci, if the lock file has changed since the last time.
install_modules() { cd "$1" && npm ci --no-fund --no-audit --loglevel=error && touch node_modules/.stamp; }
modules() {
	local stamp=$1/node_modules/.stamp
	if [ ! -f "$stamp" ] || [ "$1/package-lock.json" -nt "$stamp" ]; then fetch "installing $1's modules" install_modules "$1"; fi
}
modules sdk/ts
# buf has a package for each platform; a lock file would require all of them.
if [ "$for" != run ] && [ ! -x bin/buf/node_modules/.bin/buf ]; then
	fetch "installing buf" npm install --prefix bin/buf --no-save --no-fund --no-audit --loglevel=error @bufbuild/buf@1.75.0
fi
if [ "$for" = generate ]; then
	fetched
	exit
fi
modules web

if [ "$for" != run ]; then
	for module in . sdk/go deploy tools; do fetch "downloading the Go modules of $module" env -C "$module" go list -deps -test ./...; done
	for module in tools internal/engine/blob/s3blob/s3test/server; do fetch "downloading the Go modules of $module" env -C "$module" go list -deps tool; done
	fetch "downloading the Go modules of a collector" env -C internal/platform/otlp/otlptest/collector go list -deps ./...
	packages=()
	command -v "${CHROMIUM:-chromium-headless-shell}" chromium >/dev/null || packages+=(chromium-headless-shell)
	command -v "${WHOLE_CHROMIUM:-chromium}" >/dev/null || packages+=(chromium) # the headless shell shows no notifications
	command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || packages+=(postgresql)
	for tool in curl jq openssl haproxy; do # for the documents' samples; haproxy is for the tests of deploy/
		command -v "$tool" >/dev/null || packages+=("$tool")
	done
	for tool in ffmpeg:ffmpeg bwrap:bubblewrap; do command -v "${tool%:*}" >/dev/null || packages+=("${tool#*:}"); done # for videos
	command -v systemd-analyze >/dev/null || packages+=(systemd)
	command -v runc >/dev/null || [ -x /usr/sbin/runc ] || packages+=(runc) # the image runs in a container
	# Screenshots show Chinese and emoji as users see them.
	command -v fc-list >/dev/null || packages+=(fontconfig)
	fc-list :lang=zh 2>/dev/null | grep -q . || packages+=(fonts-wqy-zenhei)
	fc-list 2>/dev/null | grep -qi emoji || packages+=(fonts-noto-color-emoji)
	if [ "$for" = cluster ]; then # Cassandra and OpenSearch run on Java, and come by Maven
		command -v redis-server >/dev/null || packages+=(redis-server)
		command -v java >/dev/null || packages+=(default-jre-headless)
		command -v mvn >/dev/null || packages+=(maven)
	fi
	if [ "$for" = kotlin ]; then # Maven downloads the compiler and the libraries with the first build
		command -v javac >/dev/null || packages+=(default-jdk-headless)
		command -v mvn >/dev/null || packages+=(maven)
	fi
	if lacks_swift; then # Debian has it from 13 on
		if apt-cache show swiftlang >/dev/null 2>&1; then
			packages+=(swiftlang libsqlite3-dev)
		else
			packages+=(debootstrap)
		fi
	fi
	if [ "$for" = deployed ]; then # the image runs by rootless Podman
		for tool in podman:podman crun:crun newuidmap:uidmap; do command -v "${tool%:*}" >/dev/null || packages+=("${tool#*:}"); done
	fi
	if [ "$for" = bridges ]; then # servers of the other systems
		fetch "downloading the Go modules of bridges" env -C bridges go list -deps -test ./...
		command -v ngircd >/dev/null || [ -x /usr/sbin/ngircd ] || packages+=(ngircd)
		command -v prosody >/dev/null || packages+=(prosody)
	fi
	if [ ${#packages[@]} -gt 0 ]; then
		root=""
		[ "$(id -u)" = 0 ] || root=sudo
		command -v apt-get >/dev/null || missing "the packages ${packages[*]}, which only apt-get can install here"
		[ -z "$root" ] || command -v sudo >/dev/null || missing "the packages ${packages[*]}; run as root: apt-get install ${packages[*]}"
		echo "== installing ${packages[*]}"
		$root apt-get update -qq
		DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
	fi
fi
fetched

if lacks_swift; then
	[ "$(id -u)" = 0 ] || missing "Swift 5.9 or newer, which only root can install here"
	echo "== installing Swift, with Debian 13 in bin/debian-13 (3.2 GB)"
	rm -rf bin/debian-13
	debootstrap --variant=minbase --include=ca-certificates trixie bin/debian-13 >/dev/null
	chroot bin/debian-13 apt-get update -qq
	DEBIAN_FRONTEND=noninteractive chroot bin/debian-13 apt-get install -y -qq --no-install-recommends swiftlang libsqlite3-dev >/dev/null
	touch bin/debian-13/complete # last: what an interrupted installation has left is replaced
fi

scripts/web.sh

if [ "$for" = run ]; then
	for tool in ffmpeg bwrap; do
		command -v "$tool" >/dev/null || { echo "== videos are not processed: they need ffmpeg and bubblewrap (apt-get install ffmpeg bubblewrap)"; break; }
	done
fi
