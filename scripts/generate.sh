#!/usr/bin/env bash
# Makes gen/, sdk/ts/src/gen and docs/api.md from api/. Needs Go, Node and npm.
set -euo pipefail
cd "$(dirname "$0")/.."
(cd tools && GOBIN="$PWD/../bin" go install tool && go build -o ../bin/protoc-gen-apidoc ./apidoc)
[ -x sdk/ts/node_modules/.bin/protoc-gen-es ] || (cd sdk/ts && npm ci --no-fund --no-audit --loglevel=error)
# buf has a package for each platform; a lock file would ask for all of them.
buf=bin/buf/node_modules/.bin/buf
[ -x "$buf" ] || npm install --prefix bin/buf --no-save --no-fund --no-audit --loglevel=error @bufbuild/buf@1.75.0
cd api
"../$buf" lint
PATH="$PWD/../bin:$PWD/../sdk/ts/node_modules/.bin:$PATH" "../$buf" generate
