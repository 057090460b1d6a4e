#!/usr/bin/env bash
# Lint: vet, staticcheck in the version of tools/go.mod, and whether the mutants of scripts/mutants.sh still are some. With arguments, only
# staticcheck, for packages of another module: scripts/lint.sh MODULE PACKAGE...
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
(cd tools && GOBIN="$PWD/../bin" go install honnef.co/go/tools/cmd/staticcheck)
if [ $# -gt 0 ]; then
	staticcheck=$PWD/bin/staticcheck
	cd "$1"
	exec "$staticcheck" "${@:2}"
fi
go vet ./... github.com/rialto-im/rialto/sdk/go/...
for tag in faults cluster smalldisk; do # only where the tag changes what is built
	mapfile -t tagged < <(git grep -lE "^//go:build .*\b$tag\b" -- '*.go' | xargs -n1 dirname | sort -u | sed 's|^|./|')
	go vet -tags "$tag" "${tagged[@]}"
done
scripts/mutants.sh --check
packages=$(go list ./... github.com/rialto-im/rialto/sdk/go/... | grep -v '/gen/')
# With less garbage collection it takes a fifth less time.
# shellcheck disable=SC2086 # one argument for each package
GOGC=200 bin/staticcheck $packages
