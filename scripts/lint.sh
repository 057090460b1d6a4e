#!/usr/bin/env bash
# Lint: staticcheck, at the version that tools/go.mod names.
set -euo pipefail
cd "$(dirname "$0")/.."
(cd tools && GOBIN="$PWD/../bin" go install honnef.co/go/tools/cmd/staticcheck)
packages=$(go list ./... | grep -v '/gen/')
# shellcheck disable=SC2086 # one argument for each package
bin/staticcheck $packages
