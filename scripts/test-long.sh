#!/usr/bin/env bash
# The long forms: each fuzz target for a bounded time.
set -euo pipefail
cd "$(dirname "$0")/.."
each=${FUZZ_TIME:-20s}
grep -rl --include='*_test.go' '^func Fuzz' . | grep -v node_modules | sort | while read -r file; do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		printf '\n== fuzzing %s in %s for %s\n' "$target" "$(dirname "$file")" "$each"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$each" "$(dirname "$file")"
	done
done
echo; echo "make test-long: passed in ${SECONDS}s"
