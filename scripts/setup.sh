#!/usr/bin/env bash
# Brings what the project needs and is not here: setup.sh run (for make run), setup.sh test (for make test) or setup.sh cluster (for
# make test-cluster). It says what it does, and what is missing where it cannot help.
set -euo pipefail
cd "$(dirname "$0")/.."

missing() { echo "missing: $1" >&2; exit 1; }

newer() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -1)" = "$1" ]; }

command -v go >/dev/null || missing "Go 1.26 or newer (https://go.dev/dl)"
have=$(go env GOVERSION); newer 1.26 "${have#go}" || missing "Go 1.26 or newer; this is $have"

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	if [ "${1:-run}" = run ]; then
		echo "== no Node: the server is built without the web app (install Node 20 and run make again)"
		exit 0
	fi
	missing "Node 20 or newer, with npm"
fi
have=$(node --version); newer 20 "${have#v}" || missing "Node 20 or newer; this is $have"

# npm ci where the lock file changed since the last time.
modules() {
	local stamp=$1/node_modules/.stamp
	if [ ! -f "$stamp" ] || [ "$1/package-lock.json" -nt "$stamp" ]; then
		echo "== installing $1's modules"
		(cd "$1" && npm ci --no-fund --no-audit --loglevel=error)
		touch "$stamp"
	fi
}
modules sdk/ts
modules web

if [ ! -f web/dist/index.html ] || [ -n "$(find web/src web/public web/index.html web/vite.config.ts sdk/ts/src -newer web/dist/index.html -print -quit)" ]; then
	echo "== building the web app"
	rm -rf web/dist/assets
	(cd web && npx --no-install vite build --logLevel warn)
	touch web/dist/index.html
fi

[ "${1:-run}" != run ] || exit 0

echo "== the S3 server for tests is built, if it is not yet (two minutes)"
(cd internal/blob/s3blob/s3test/server && go tool -n versitygw >/dev/null)

packages=()
command -v "${CHROMIUM:-chromium}" >/dev/null || [ -x "${CHROMIUM:-/usr/bin/chromium}" ] || packages+=(chromium)
command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || packages+=(postgresql)
for tool in curl jq openssl haproxy; do # the documents' samples use them, and the tests of deploy/ the last
	command -v "$tool" >/dev/null || packages+=("$tool")
done
command -v systemd-analyze >/dev/null || packages+=(systemd)
if [ "$1" = cluster ]; then # Cassandra runs on Java, and comes by Maven
	command -v java >/dev/null || packages+=(default-jre-headless)
	command -v mvn >/dev/null || packages+=(maven)
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
