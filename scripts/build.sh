#!/usr/bin/env bash
# go build, with the commit, its time and whether there were uncommitted changes (rialto version shows them):
#   scripts/build.sh OUTPUT [FLAGS OF go build ...] PACKAGE
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=${CGO_ENABLED:-0} # one static program, for each machine and for the image
output=$1
shift
stamp=${BUILD_COMMIT:-} # "COMMIT TIME", for a build without .git, as in a container
if [ -z "$stamp" ] && stamp=$(TZ=UTC git log -1 --date='format-local:%Y-%m-%dT%H:%M:%SZ' --format='%H %cd' 2>/dev/null); then
	if [ -n "$(git status --porcelain)" ]; then stamp+=" modified"; fi
fi
release=() # scripts/release.sh names the version; then nothing depends on the checkout
if [ -n "${BUILD_VERSION:-}" ]; then
	release=(-buildvcs=false)
	stamp+="' -X 'github.com/rialto-im/rialto/internal/base/telemetry.linkedVersion=$BUILD_VERSION"
fi
# Without symbol table and debug information, 28 of 97 MB. Stack traces and profiles do not need them.
exec go build -trimpath "${release[@]}" -ldflags "-s -w -X 'github.com/rialto-im/rialto/internal/base/telemetry.linkedCommit=$stamp'" -o "$output" "$@"
