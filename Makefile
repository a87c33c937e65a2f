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
test: setup-test gofmt vet staticcheck imports pure race

.PHONY: setup setup-test
setup:
	@scripts/setup.sh
setup-test:
	@scripts/setup.sh --test

.PHONY: gofmt
gofmt:
	@echo '== gofmt: these files differ, if any'
	@test -z "$$(gofmt -l . | tee /dev/stderr)"

.PHONY: vet
vet:
	@echo '== go vet'
	@go vet ./...

.PHONY: staticcheck
staticcheck:
	@echo '== staticcheck'
	@go tool staticcheck ./...

# Who may import what stands in .depguard.json. It cannot see import "C", and grep
# sees it under every build tag (gofmt leaves no other spelling).
.PHONY: imports
imports:
	@echo '== import rules'
	@go tool depguard ./...
	@! grep -rnE --include='*.go' '^(import)?[[:space:]]*"C"([[:space:]]|$$)' . | \
		grep -v '^\./providers/' || { echo 'import "C" belongs under providers/' >&2; exit 1; }

# Whatever decides, as against what touches libfabric, needs no C.
pure_packages := go list ./... | grep -E '^golnx/(linkspec|srq|suq|rail|peer|mr|internal|providers)(/|$$)' | \
	grep -vE '^golnx/providers/ofi(/|$$)'

.PHONY: pure
pure:
	@echo '== pure packages without cgo'
	@CGO_ENABLED=0 go test -timeout 5m $$($(pure_packages))

# -count=1: Go's test cache does not know which libfabric a result was had with.
.PHONY: race
race:
	@echo '== go test -race'
	@go test -race -count=1 -timeout 5m ./...
