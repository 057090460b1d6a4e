#!/usr/bin/env bash
# Builds the web app to web/dist, unless that was built from the present sources. Times of files do not tell: git, copies and archives set
# them as they like, and a file that was removed has none.
set -euo pipefail
cd "$(dirname "$0")/.."

sources=$(find web/src web/public web/index.html web/console.html web/vite.config.ts web/console.config.ts web/emoji.ts web/tsconfig.json web/package-lock.json sdk/ts/src sdk/ts/package-lock.json \
	-type f -print0 | LC_ALL=C sort -z | xargs -0 cksum | cksum)
built=web/dist/.sources # the checksum of the sources that web/dist was built from
if [ -f web/dist/index.html ] && [ -f web/dist/console/console.html ] && [ "$(cat "$built" 2>/dev/null)" = "$sources" ]; then exit; fi

echo "== building the web app"
rm -rf web/dist/assets "$built"
(cd web && npx --no-install vite build --logLevel warn && npx --no-install vite build --config console.config.ts --logLevel warn)
echo "$sources" >"$built"
