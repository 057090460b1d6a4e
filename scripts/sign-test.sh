#!/usr/bin/env bash
# Signs the sums of a small release with a new key, and checks the signature as docs/releases.md says: it holds for these sums, this maintainer and this purpose only.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d "${TMPDIR:-/tmp}/rialto-sign-test-XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/release"
echo "a program" >"$dir/release/rialto.tar.gz"
(cd "$dir/release" && sha256sum -- * >../sums && mv ../sums SHA256SUMS)
for key in maintainer another; do ssh-keygen -q -t ed25519 -N "" -C "$key" -f "$dir/$key"; done
echo "maintainer@example.com namespaces=\"rialto-release\" $(cut -d' ' -f1,2 "$dir/maintainer.pub")" >"$dir/allowed_signers"
verify() { ssh-keygen -q -Y verify -f "$dir/allowed_signers" -I "${1:-maintainer@example.com}" -n "${2:-rialto-release}" -s "$dir/release/SHA256SUMS.sig" <"$dir/release/SHA256SUMS"; }
refused() {
	if "${@:2}" >/dev/null 2>&1; then echo "$1"; exit 1; fi
}

scripts/sign-release.sh "$dir/release" "$dir/maintainer"
verify || { echo "the signature of the maintainer is not accepted"; exit 1; }
refused "a signature is accepted as that of somebody else" verify another@example.com
refused "a signature is accepted for another purpose" verify maintainer@example.com git
cp "$dir/release/SHA256SUMS" "$dir/sums"
sed -i 's/rialto/Rialto/' "$dir/release/SHA256SUMS"
refused "changed sums are accepted" verify
cp "$dir/sums" "$dir/release/SHA256SUMS"
scripts/sign-release.sh "$dir/release" "$dir/another"
refused "the signature of somebody else is accepted" verify
echo "another program" >"$dir/release/rialto.tar.gz"
refused "files are signed that do not have the sums" scripts/sign-release.sh "$dir/release" "$dir/maintainer"
refused "a release is signed with a key that is missing" scripts/sign-release.sh "$dir/release" "$dir/none"
echo "signatures of releases are as they should be"
