#!/usr/bin/env bash
# Makes gen/ and sdk/ts/src/gen from api/. Needs Go, Node and npm.
set -euo pipefail
cd "$(dirname "$0")/.."
(cd tools && GOBIN="$PWD/../bin" go install tool)
[ -x sdk/ts/node_modules/.bin/buf ] || (cd sdk/ts && npm ci)
cd api && PATH="$PWD/../bin:$PATH" ../sdk/ts/node_modules/.bin/buf generate
