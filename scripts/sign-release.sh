#!/usr/bin/env bash
# Signs the sums of a release: scripts/sign-release.sh FOLDER KEY writes SHA256SUMS.sig beside SHA256SUMS. KEY is the private SSH key of a maintainer, or the public one of a key that ssh-agent has.
# docs/releases.md says how to check the signature.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: scripts/sign-release.sh FOLDER KEY" >&2; exit 2; }
sums=$1/SHA256SUMS key=$2
[ -f "$sums" ] || { echo "sign-release: $sums is missing; make the release first" >&2; exit 1; }
[ -f "$key" ] || { echo "sign-release: $key is no file; give an SSH key, as ssh-keygen -t ed25519 makes it" >&2; exit 1; }
(cd "$1" && sha256sum --quiet --strict --check SHA256SUMS) || { echo "sign-release: the files in $1 do not have the sums of SHA256SUMS, and are not signed" >&2; exit 1; }
rm -f "$sums.sig"
ssh-keygen -q -Y sign -f "$key" -n rialto-release "$sums"
