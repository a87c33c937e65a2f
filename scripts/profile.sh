#!/usr/bin/env bash
# usage: scripts/profile.sh COMMAND...
# Where a command and its children spend their time, by perf(1): shares in percent of all
# samples of the processor's clock, in the groups of docs/performance.md.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
command -v perf >/dev/null || { echo "profile: perf is missing: install linux-perf" >&2; exit 1; }
data=$(mktemp)
trap 'rm -f "$data"' EXIT
perf record -q -e cpu-clock -F 4000 -o "$data" -- "$@" >&2
perf report -i "$data" --no-children --sort dso,symbol 2>/dev/null | awk '
	/^#/ || NF < 4 { next }
	{ share = $1; sub("%", "", share); from = $2; group = from }
	from ~ /kernel/ { group = "kernel, the rest" }
	from ~ /kernel/ && /page|pte|pmd|gup|folio|vma/ { group = "kernel, pages" }
	from ~ /kernel/ && /_copy_|copy_page|copy_user|rep_movs/ { group = "kernel, copying" }
	from == "lnx" { group = "golnx, C" }
	from == "lnx" && /golnx\// { group = "golnx, Go" }
	from == "lnx" && /bench\.|[Hh]istogram/ { group = "lnx perf" }
	from == "lnx" && /runtime\.|_cgo|Cfunc/ { group = "Go runtime, cgo" }
	from == "lnx" && /gx_spin/ { group = "golnx, looking and resting" }
	{ sum[group] += share }
	END { for (g in sum) if (sum[g] >= 0.5) printf "%5.1f  %s\n", sum[g], g }' | sort -rn
