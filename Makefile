# Rialto. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := bash
DATA ?= data
LISTEN ?= 127.0.0.1:7070

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

setup:
	@scripts/setup.sh run

build: setup ## build the web app and the binary, to bin/rialto
	@echo "== building bin/rialto"
	@scripts/build.sh bin/rialto ./cmd/rialto

run: build ## build and serve on http://127.0.0.1:7070, data in ./data (others: LISTEN=HOST:PORT DATA=DIR)
	@./bin/rialto serve --data $(DATA) --listen $(LISTEN)

test: ## the tests that CI runs on each commit
	@scripts/test.sh

test-long: ## all tests, with more cycles, clusters, chaos, mutants and fuzzing
	@scripts/test-long.sh

test-turn: ## the part of test-long that CI runs on this commit
	@scripts/test-long.sh --turn

test-cluster: ## the part of test-long on clusters of real engines
	@scripts/test-cluster.sh

bench: build ## measure one node on this machine (five minutes)
	@bench/run.sh

release: ## the artefacts of a release, to dist/release (VERSION=v0.1.0; TARGETS="linux/amd64 linux/arm64"; SIGNING_KEY=FILE)
	@scripts/release.sh $(VERSION)

lint: ## vet, staticcheck, and a check that the mutants still apply and compile
	@scripts/lint.sh

generate: ## generate gen/, sdk/go/gen, sdk/ts/src/gen and docs/api.md from api/, and the reference of settings
	@scripts/generate.sh

.PHONY: help setup build run test test-long test-turn test-cluster bench release lint generate
