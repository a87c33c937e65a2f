# `make demo` shows golnx at work, `make test` checks everything. Both first install
# what is missing (scripts/setup.sh). Each check is also a target of its own.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:

.PHONY: demo
demo: setup
	go run ./cmd/lnx demo

# The checks in order, the quick ones first; a new one joins this list. The last
# one's output is go test's own.
.PHONY: test
test: setup-test tidy gofmt vet staticcheck imports pure shim plain race

.PHONY: setup setup-test
setup:
	@scripts/setup.sh
setup-test:
	@scripts/setup.sh --test

.PHONY: tidy
tidy:
	@echo '== go mod tidy'
	@go mod tidy -diff

.PHONY: gofmt
gofmt:
	@echo '== gofmt'
	@files=$$(gofmt -l .); test -z "$$files" || { echo "not formatted: $$files" >&2; exit 1; }

.PHONY: vet
vet:
	@echo '== go vet'
	@go vet ./...

.PHONY: staticcheck
staticcheck:
	@echo '== staticcheck'
	@go tool staticcheck ./...

# Who may import what stands in .depguard.json. What it cannot see is searched for:
# import "C" (under every build tag; gofmt leaves no other spelling), and a clock or an
# environment of their own where packages may import "time" and "os" for their types.
forbid = @! grep -rnE --include='*.go' $(1) || { echo $(2) >&2; exit 1; }
clock_or_environment = \b(time\.(Now|Since|Until|Sleep|After|AfterFunc|Tick|NewTimer|NewTicker)|os\.(Getenv|LookupEnv|Environ))\b

.PHONY: imports
imports:
	@echo '== import rules'
	@go tool depguard ./...
	$(call forbid,'^(import)?[[:space:]]*"C"([[:space:]]|$$)' $(filter-out providers,$(wildcard *)),'import "C" belongs under providers/')
	$(call forbid,--exclude='*_test.go' '$(clock_or_environment)' $(wildcard rail peer mr providers/sim),'let the caller pass times and what it read')

# Whatever decides, as against what touches libfabric, needs no C. (internal/readme
# tries the README's program, so it is no leaf.)
pure_packages := go list ./... | grep -E '^golnx/(linkspec|srq|suq|rail|peer|mr|internal|providers)(/|$$)' | \
	grep -vE '^golnx/(providers/ofi|internal/readme)(/|$$)'

.PHONY: pure
pure:
	@echo '== pure packages without cgo'
	@CGO_ENABLED=0 go test -timeout 5m $$($(pure_packages))

# The C of the peer CQ and peer SRX under AddressSanitizer, leaks included, with the
# tests of the receive side, and those of operations on memory.
receive_side = Smoke|Multi|Probe|Truncat|Peek|Cancel|Claim|Source|Matching|SameProcess|Sizes|Max|OpenCloseLeak|Gone|Killed
on_memory = RMA(Calls|Outside|Hooks|Parallel|WhileClosing)|InjectWrite|CompletionLevels|KeyOfAnother|FreedKey|ClosedInFlight|LocalRegistration|Atomic(Values|BadInput|Inject|Delivered|CloseInFlight|Strangers|Context)|Counter
.PHONY: shim
shim:
	@echo '== C shim with AddressSanitizer'
	@go test -asan -count=1 -timeout 5m ./providers/ofi/...
	@go test -asan -count=1 -timeout 8m -run '$(receive_side)|$(on_memory)' ./lnx

# -count=1: Go's test cache does not know which libfabric a result was had with. ./lnx
# comes first because it takes longest.
.PHONY: race
race:
	@echo '== go test -race'
	@go test -race -count=1 -timeout 8m ./lnx ./...

# What the race detector would take too long for, or hides: allocations, order over
# many messages, thousands of peers, a thousand lives of an endpoint.
.PHONY: plain
plain:
	@echo '== go test without -race'
	@go test -count=1 -timeout 6m -run 'NoAllocation|TestOrder|OpenCloseLeak|Million|AtScale' ./lnx
	@go test -count=1 -timeout 10m -run 'TestTraceOfMillions' ./cmd/lnx

# golnx beside plain libfabric and C LNX, in the same minutes: docs/perf.md. ROUNDS,
# ROWS (a regular expression for their names), GOALS=1 (only the rows that have one) and
# CPUS (as 0,1) change what is run. It is built with the profile that `make pgo` records,
# which takes a minute.
.PHONY: bench
bench: setup
	@mkdir -p bin
	@echo '== building bin/lnx and bin/cbench'
	@go build -pgo=cmd/lnx/hot.pgo -o bin/lnx ./cmd/lnx
	@$$(go env CC) -O2 -Wall -Wextra -o bin/cbench testdata/cbench/*.c $$(pkg-config --cflags --libs libfabric)
	@bin/lnx bench --cbench bin/cbench --out bench-out $(if $(ROUNDS),--rounds=$(ROUNDS)) $(if $(ROWS),--rows='$(ROWS)') $(if $(GOALS),--goals) $(if $(CPUS),--cpus=$(CPUS))

# Where the data path spends its time, for builds with -pgo. -trimpath leaves out where
# the sources are.
.PHONY: pgo
pgo: setup
	@dir=$$(mktemp -d /tmp/golnx.XXXXXX) && trap 'rm -r "$$dir"' EXIT && \
		go test -c -trimpath -o "$$dir/lnx.test" ./lnx && \
		"$$dir/lnx.test" -test.run '^$$' -test.bench 'RoundTrip|Rate' -test.benchtime 5s -test.cpuprofile cmd/lnx/hot.pgo

# The Go benchmarks of the work tree beside those of revision BASE. BENCH (a regular
# expression), BENCHTIME and RUNS change what is run.
.PHONY: bench-compare
bench-compare: setup
	@BENCH='$(BENCH)' BENCHTIME='$(BENCHTIME)' RUNS='$(RUNS)' scripts/bench-compare.sh '$(BASE)'
