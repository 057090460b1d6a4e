#!/usr/bin/env bash
# Packs the server into a container image, dist/rialto-ARCH.tar, without a container engine: scripts/image.sh [amd64|arm64 [NAME:TAG]]
set -euo pipefail
cd "$(dirname "$0")/.."
arch=${1:-amd64}
scripts/setup.sh run
mkdir -p dist
GOOS=linux GOARCH=$arch scripts/build.sh "dist/rialto-linux-$arch" ./cmd/rialto
cd deploy
digest=$(go run ./image -binary "../dist/rialto-linux-$arch" -arch "$arch" -name "${2:-rialto:latest}" -out "../dist/rialto-$arch.tar")
echo "dist/rialto-$arch.tar  $digest"
