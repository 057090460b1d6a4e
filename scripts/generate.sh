#!/usr/bin/env bash
# Generates gen/, sdk/go/gen, sdk/ts/src/gen, the contract of sdk/swift and docs/api.md from api/, the settings' reference from the
# comments of Config, and the terminal client's refusals in Chinese from the web app's texts. Needs Go, Node and npm.
set -euo pipefail
cd "$(dirname "$0")/.."
(cd tools && GOBIN="$PWD/../bin" go install connectrpc.com/connect/cmd/protoc-gen-connect-go google.golang.org/protobuf/cmd/protoc-gen-go && go build -o ../bin/protoc-gen-apidoc ./apidoc && go build -o ../bin/protoc-gen-swiftcontract ./swiftcontract)
scripts/setup.sh generate
buf=bin/buf/node_modules/.bin/buf
cd api
"../$buf" lint
PATH="$PWD/../bin:$PWD/../sdk/ts/node_modules/.bin:$PATH" "../$buf" generate
cd ..
# The clients call by sdk/go/internal/unary, which does not repeat Connect's code for each call.
grep -rl --include='*.connect.go' 'connect\.NewClient\[' sdk/go/gen | while read -r file; do
	sed -i -E 's/connect\.NewClient\[/unary.NewClient[/; s/\*connect\.Client\[/*unary.Client[/; s/^\t(context "context")$/\tunary "github.com\/rialto-im\/rialto\/sdk\/go\/internal\/unary"\n\t\1/' "$file"
	gofmt -w "$file"
done
go test -vet=off -count 1 ./gen/openapi ./internal/app/config ./internal/tool/terminal -run "^Test(Compressed$|Reference|RefusalsAreThoseOfTheWebApp$)" -update >/dev/null
