#!/usr/bin/env bash
# Compares the Go benchmarks of the work tree with those of another revision: builds
# both, runs them in turn, so that what else the machine does meets both alike, and
# lets benchstat judge.
#   scripts/bench-compare.sh REVISION
# From the environment:
#   BENCH      which benchmarks, a regular expression (all)
#   BENCHTIME  how long each (50ms)
#   RUNS       how often (10)
# The output of the runs stays in bench-out/compare.
set -euo pipefail
export LC_ALL=C

if [ $# -ne 1 ] || [ -z "$1" ]; then
    echo "usage: scripts/bench-compare.sh REVISION (or make bench-compare BASE=REVISION)" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
revision=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "bench-compare: no revision $1" >&2; exit 2; }

work=$(mktemp -d)
cleanup() {
    git worktree remove --force "$work/base" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
git worktree add --quiet --detach "$work/base" "$revision"

# build TREE NAME: a test binary for each package that has benchmarks.
build() {
    local dir
    mkdir "$work/$2.bin"
    (
        cd "$1"
        grep -rl --include='*_test.go' '^func Benchmark' . | xargs -rn1 dirname | sort -u | while read -r dir; do
            go test -c -o "$work/$2.bin/$(echo "${dir#./}" | tr / -)" "$dir"
            echo "$dir" >"$work/$2.bin/$(echo "${dir#./}" | tr / -).dir"
        done
    )
}
echo "building the benchmarks of ${revision:0:12} and of the work tree" >&2
build "$work/base" base
build . here

# run TREE NAME: appends to its output, each package in its own folder as go test does.
run() {
    local binary
    for binary in "$work/$2.bin"/*.dir; do
        (cd "$1/$(cat "$binary")" && "${binary%.dir}" -test.run='^$' -test.bench="${BENCH:-.}" -test.benchtime="${BENCHTIME:-50ms}") \
            >>"$out/$2.txt"
    done
}
out=$PWD/bench-out/compare
here=$PWD
rm -rf "$out"
mkdir -p "$out"
runs=${RUNS:-10}
for i in $(seq "$runs"); do
    echo "run $i of $runs" >&2
    run "$work/base" base
    run "$here" here
done
go tool benchstat "base=$out/base.txt" "here=$out/here.txt"
