#!/usr/bin/env bash
# Makes a release twice, of the same commit, and compares all bytes: here, and from a copy of the sources in another folder, without .git, with another umask, time zone and
# language. Then it checks what is in it: the program says its version and commit, the sums match, and the SBOM names the engines. Only for linux and this machine's processor.
set -euo pipefail
cd "$(dirname "$0")/.."
arch=$(go env GOARCH)
export TARGETS=linux/$arch
version=v0.1.0-test
dir=$(mktemp -d "${TMPDIR:-/tmp}/rialto-release-test-XXXXXX")
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
commit=$(git rev-parse HEAD)
mkdir -p "$dir/a" "$dir/b/deeper"
for copy in a b/deeper; do
	git archive "$commit" | tar -x -C "$dir/$copy"
	for modules in web sdk/ts; do ln -s "$PWD/$modules/node_modules" "$dir/$copy/$modules/node_modules"; done
	sed -i 's/^## 0\.1\.0, not released yet/## 0.1.0-test/' "$dir/$copy/CHANGELOG.md"
done
BUILD_COMMIT=$(TZ=UTC git log -1 "$commit" --date='format-local:%Y-%m-%dT%H:%M:%SZ' --format='%H %cd')
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export BUILD_COMMIT SOURCE_DATE_EPOCH
(umask 022 && "$dir/a/scripts/release.sh" "$version" "$dir/first")
(umask 077 && TZ=Asia/Tokyo LANG=zh_CN.UTF-8 HOME=$HOME "$dir/b/deeper/scripts/release.sh" "$version" "$dir/second")
diff -r "$dir/first" "$dir/second"
echo "the two releases are equal, byte for byte"

name=rialto-$version-linux-$arch
(cd "$dir/first" && sha256sum --quiet --check SHA256SUMS && [ "$(wc -l <SHA256SUMS)" -eq $(($(find . -type f | wc -l) - 1)) ])
tar -xzf "$dir/first/$name.tar.gz" -C "$dir"
said=$("$dir/$name/rialto" version)
for want in "rialto $version" "$commit"; do
	grep -qF "$want" <<<"$said" || { echo "rialto version does not say $want: $said"; exit 1; }
done
for want in pkg:golang/github.com/cockroachdb/pebble pkg:golang/modernc.org/sqlite pkg:npm/react; do
	grep -qF "\"purl\": \"$want" "$dir/first/$name.cdx.json" || { echo "the SBOM does not name $want"; exit 1; }
done
grep -q "^version: ${version#v}$" < <(tar -xzOf "$dir/first/rialto-chart-${version#v}.tgz" rialto/Chart.yaml)
grep -q '^## 0.1.0-test' "$dir/first/CHANGELOG-$version.md"
for bad in 1.0 v9.9.9; do
	if "$dir/a/scripts/release.sh" "$bad" "$dir/bad" 2>/dev/null; then echo "a release $bad is made"; exit 1; fi
done
echo "the release has what it should have"
