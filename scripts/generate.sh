#!/usr/bin/env bash
# Generates gen/, sdk/go/gen, sdk/ts/src/gen and docs/api.md from api/, and the settings' reference from the comments of Config. Needs Go,
# Node and npm.
set -euo pipefail
cd "$(dirname "$0")/.."
(cd tools && GOBIN="$PWD/../bin" go install connectrpc.com/connect/cmd/protoc-gen-connect-go google.golang.org/protobuf/cmd/protoc-gen-go && go build -o ../bin/protoc-gen-apidoc ./apidoc)
scripts/setup.sh generate
buf=bin/buf/node_modules/.bin/buf
cd api
"../$buf" lint
PATH="$PWD/../bin:$PWD/../sdk/ts/node_modules/.bin:$PATH" "../$buf" generate
cd ..
go test -vet=off -count 1 ./internal/app/config -run "^TestReference" -update >/dev/null
