# Headway. `make help` lists the targets; `make check` is exactly what CI runs.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X headway/internal/cli/command.version=$(VERSION)
TOOL    := go tool -modfile=tools/go.mod

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# How long each fuzz target runs, on one core: seconds in CI, where it gets what the tests
# leave, ten minutes in `make full`, there on all cores.
FUZZTIME ?= 12s

# The longest packages start first, and six run at once: they mostly wait for the pace of
# a crawl, for a lease or for the disk.
LONGEST := ./internal/fleettest ./internal/e2e ./store/postgres . ./internal/cli ./service ./store/sqlite ./fetch

# The race detector. SQLite is C translated to Go: it shares no data with our code, and
# under the detector it costs five times the rest of its tests. Only this package may be
# left out: others share generic code with ours, which would give false reports.
RACE := -race -gcflags=modernc.org/sqlite/lib=-race=false

# The stages of `make check`, the cheapest first. Every test runs under the race
# detector; those that do less there run again without it. Many wait, so fuzzing uses
# the CPU time that they leave.
STAGES := lint cross verify vectors beside:fuzz race plain

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/headway for this machine
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/headway ./cmd/headway

.PHONY: cross
cross: ## Build for every platform we ship, without cgo
	@for p in $(PLATFORMS); do \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build -trimpath -o /dev/null ./cmd/headway; \
		echo "built $$p"; \
	done

.PHONY: quick
quick: ## What to run before each commit: format, vet, build and the short form of the tests
	@scripts/quick

.PHONY: test
test: ## Run all tests in random order
	go test -shuffle=on -timeout 30m -p 6 $(LONGEST) ./...

.PHONY: race
race: ## Run all tests under the race detector, in random order
	go test $(RACE) -shuffle=on -timeout 30m -p 6 $(LONGEST) $$(go list ./...)

.PHONY: plain
plain: ## Run, without the race detector, the tests that do less under it
	scripts/plain

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME (default 12s)
	scripts/fuzz $(FUZZTIME)

.PHONY: sim
sim: ## Measure the politeness rule against simulated servers, in virtual time
	@go test -count=1 -run '^(TestBars|TestNoiseBars|TestRealLimiters|TestRandomServers)$$' -v ./politeness | sed -n 's/^        |/|/p; /random servers/p; /FAIL/p; /^ok/p'

.PHONY: vectors
vectors: ## Run the test vectors and print a count per file
	scripts/vectors

.PHONY: lint
lint: ## Lint, format check, vet, dead code
	$(TOOL) golangci-lint run ./...
	scripts/deadcode

.PHONY: generate
generate: ## Regenerate reference pages and man pages
	go generate ./...

.PHONY: verify
verify: ## Check that generated files, go.mod and checksums are up to date
	scripts/verify

.PHONY: vuln
vuln: ## Look for known vulnerabilities (needs the public database: not part of check)
	$(TOOL) govulncheck ./...

.PHONY: bench
bench: build ## Benchmark crawls of the lab against other programs (wget and python3-scrapy of Debian too): S1 to S4, medians of three; writes docs/benchmarks.md
	go run ./bench/run -peers -write docs/benchmarks.md

.PHONY: bench-wide
bench-wide: build ## Benchmark crawls of 1,000 to 100,000 hosts at a pace, http and https, and of large pages; writes docs/benchmarks.md
	go run ./bench/run -wide -write docs/benchmarks.md

.PHONY: bench-parts
bench-parts: ## Run the package benchmarks whose numbers are in docs/benchmarks.md
	scripts/bench

.PHONY: bench-store
bench-store: ## Measure the cost of a page in each store, compared with pgbench; fails above a bound
	HEADWAY_BENCH_STORE=1 go test -count=1 -timeout 60m -v ./store/storetest/bench

.PHONY: bench-content
bench-content: ## Compare the main text with go-readability on the article extraction benchmark in DIR
	cd tools/contentbench && go run . -dir "$(abspath $(DIR))"

.PHONY: check
check: ## Run everything that CI runs, with the time of each stage
	@scripts/stages $(STAGES)

.PHONY: e2e-content
e2e-content: ## Full size: hidden text; texts, links and fields of pages under kills, their cost, a corpus in DuckDB (npm), fields compared with Parsel
	HEADWAY_FULL=1 go test -count=1 -timeout 60m -parallel 1 -run '^TestContent' -v ./internal/e2e
	HEADWAY_FULL=1 go test -count=1 -timeout 20m -run '^TestLinkSize$$' -v ./store/sqlite

.PHONY: e2e-messy
e2e-messy: ## Full size: dead, slow and refusing hosts, network outages, few file descriptors; one test at a time
	HEADWAY_FULL=1 go test -count=1 -timeout 60m -parallel 1 -run '^TestMessy' -v ./internal/e2e
	HEADWAY_FULL=1 go test -count=1 -timeout 20m -run '^TestDeadSeeds$$' -v ./internal/fleettest

.PHONY: e2e-fleet
e2e-fleet: ## Full size: a fleet under faults, 500 hosts, a worker killed every 20 s; one test at a time
	HEADWAY_FULL=1 go test -count=1 -timeout 120m -parallel 1 -skip '^TestService' -v ./internal/fleettest

.PHONY: e2e-service
e2e-service: ## Full size: the service with tenants, load, usage, restarts and outages; one test at a time
	HEADWAY_FULL=1 go test -count=1 -timeout 60m -parallel 1 -run '^TestService' -v ./internal/fleettest
	HEADWAY_FULL=1 go test -count=1 -timeout 20m -parallel 1 -run '^TestService' -v ./service

.PHONY: e2e-messy-long
e2e-messy-long: ## The longest of these: a stop of ten minutes, and two terminals 50 times under the race detector
	HEADWAY_FULL=1 HEADWAY_LONG=1 go test -count=1 -timeout 60m -run '^TestMessyStop$$' -v ./internal/e2e
	HEADWAY_FULL=1 HEADWAY_LONG=1 go test $(RACE) -count=1 -timeout 60m -run '^TestMessyTerminals$$' -v ./internal/e2e

.PHONY: full
full: ## Run all long forms: fuzzing, memory, kills, a million pages, PostgreSQL, benchmarks; takes hours
	@$(MAKE) --no-print-directory check
	FUZZ_AT_ONCE=1 $(MAKE) --no-print-directory fuzz FUZZTIME=10m
	HEADWAY_FULL=1 go test -count=1 -timeout 60m -run 'TestFlatUnderWorstMix|TestLabFaults' -v ./fetch
	HEADWAY_FULL=1 go test -count=1 -timeout 60m -run TestManyHosts -v ./frontier
	HEADWAY_MODEL_SEEDS=100000 go test -count=1 -timeout 120m -run '^TestModel$$' -v ./frontier
	HEADWAY_SIMWEB_SERVERS=1000 go test $(RACE) -count=1 -timeout 60m -run TestRandomServers ./internal/simweb
	HEADWAY_KILLS=200 go test -count=1 -timeout 60m -run '^TestKill$$' -v ./store/sqlite
	HEADWAY_FULL=1 go test -count=1 -timeout 60m -run '^TestLinkSize$$' -v ./store/sqlite
	@if [ "$$(id -u)" = 0 ]; then \
		HEADWAY_POWER=1 HEADWAY_KILLS=50 go test -count=1 -timeout 60m -run '^TestPower$$' -v ./store/sqlite; \
	else \
		echo "not run: the loss of power (TestPower of ./store/sqlite) needs root"; \
	fi
	HEADWAY_FULL=1 go test -count=1 -timeout 60m -v ./store/postgres
	HEADWAY_FULL=1 go test -count=1 -timeout 60m -v ./service
	HEADWAY_FULL=1 go test -count=1 -timeout 120m -run 'TestSteady|TestScale' -v ./store/storetest/bench
	HEADWAY_FULL=1 go test -count=1 -p 1 -timeout 60m -v ./output/... ./internal/cli
	HEADWAY_FULL=1 go test -count=1 -parallel 1 -timeout 240m -v ./internal/e2e
	@$(MAKE) --no-print-directory e2e-fleet
	@$(MAKE) --no-print-directory e2e-service
	@$(MAKE) --no-print-directory bench-store
	@$(MAKE) --no-print-directory bench-parts
	@$(MAKE) --no-print-directory bench

.PHONY: clean
clean: ## Remove build output
	rm -rf bin dist
