#!/usr/bin/env bash
# Makes the artefacts of a release: scripts/release.sh v0.1.0 [FOLDER], by default dist/release/v0.1.0. For each of TARGETS (linux/amd64 linux/arm64) an archive with the program, the
# units of systemd, the alerts and the documents, and a container image; the Helm chart; an SBOM of each target; the section of the changelog; and SHA256SUMS of all.
#
# The same commit gives the same bytes, wherever and whenever it is built with the same Go and Node: anyone can build it again and compare the sums. scripts/release-test.sh does.
# With SIGNING_KEY, an SSH key, the sums are signed (scripts/sign-release.sh).
# The sources may have no .git if BUILD_COMMIT has "COMMIT TIME" and SOURCE_DATE_EPOCH the seconds of that time.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "release: $1" >&2; exit 1; }
version=${1:-}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || fail "give the version, as v0.1.0"
out=${2:-dist/release/$version}
export BUILD_VERSION=$version LC_ALL=C TZ=UTC
if [ -z "${BUILD_COMMIT:-}" ]; then
	[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed"
	BUILD_COMMIT=$(git log -1 --date='format-local:%Y-%m-%dT%H:%M:%SZ' --format='%H %cd')
	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
fi
export BUILD_COMMIT SOURCE_DATE_EPOCH
notes=$(awk -v version="${version#v}" '/^## / { found = ($2 == version || $2 == version ",") } found' CHANGELOG.md)
[ -n "$notes" ] || fail "CHANGELOG.md has no section ${version#v}"
[[ $version == *-* || $notes != *"not released yet"* ]] || fail "the section ${version#v} of CHANGELOG.md says that it is not released yet"

scripts/web.sh
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
case ${SIGNING_KEY:-} in "" | /*) ;; *) SIGNING_KEY=$PWD/$SIGNING_KEY ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/rialto-release-XXXXXX")
trap 'rm -rf "$work"' EXIT

# pack FOLDER FILE: an archive without the times, owners, permissions and order of this machine.
pack() {
	find "$work/$1" -type d -exec chmod 755 {} + -o -type f -perm -u+x -exec chmod 755 {} + -o -type f -exec chmod 644 {} +
	tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$1" | gzip -9n >"$out/$2"
}

for target in ${TARGETS:-linux/amd64 linux/arm64}; do
	os=${target%/*} arch=${target#*/} name=rialto-$version-${target/\//-}
	echo "== $name"
	mkdir -p "$work/$name/deploy"
	GOOS=$os GOARCH=$arch scripts/build.sh "$work/$name/rialto" ./cmd/rialto
	cp LICENSE README.md README.zh.md CHANGELOG.md SECURITY.md "$work/$name/"
	cp -r docs "$work/$name/docs"
	cp -r deploy/systemd deploy/monitoring deploy/haproxy "$work/$name/deploy/"
	(cd tools && go run ./sbom -version "$version" -time "${BUILD_COMMIT#* }" -lock ../web/package-lock.json "$work/$name/rialto") >"$out/$name.cdx.json"
	cp "$out/$name.cdx.json" "$work/$name/sbom.cdx.json"
	pack "$name" "$name.tar.gz"
	(cd deploy && go run ./image -binary "$work/$name/rialto" -arch "$arch" -name "rialto:$version" -out "$out/$name-image.tar") >"$out/$name-image.digest"
done
mkdir "$work/rialto"
cp -r deploy/helm/rialto/. "$work/rialto/"
sed -i -E "s/^(version: ).*/\1${version#v}/; s/^(appVersion: ).*/\1\"${version#v}\"/" "$work/rialto/Chart.yaml"
pack rialto "rialto-chart-${version#v}.tgz"
printf '%s\n' "$notes" >"$out/CHANGELOG-$version.md"
(cd "$out" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" SHA256SUMS)
[ -z "${SIGNING_KEY:-}" ] || scripts/sign-release.sh "$out" "$SIGNING_KEY"
echo "== $out"
cat "$out/SHA256SUMS"
