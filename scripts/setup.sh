#!/usr/bin/env bash
# Installs what golnx needs to build and test, and nothing that is already there:
#   - a C compiler with libc's headers, make, pkg-config
#   - libfabric 2.1 or newer with its headers. Debian 12 ships 1.17, whose peer
#     interface differs, so there it is taken from Debian 13, pinned low so that
#     nothing else moves to Debian 13 on its own
#   - ca-certificates, if Go modules are still to be downloaded and there are none
#   - with --test: what the tests use besides (iproute2 for network namespaces, and
#     Chromium to look at the report of lnx trace)
# Safe to repeat, also after an interrupted run. Without apt or root it says which
# packages to install and stops. Go itself is never installed here.
set -euo pipefail
export LC_ALL=C # apt's answers are read below

min_libfabric=2.1
lock_wait=120 # seconds to wait for another apt or dpkg
work=$(mktemp -d)
log=$work/log
trap 'rm -rf "$work"' EXIT

case "${1:-}" in
    "") want_test=no ;;
    --test) want_test=yes ;;
    *) echo "usage: scripts/setup.sh [--test]" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# --- what is there ---

# sudo drops the PATH that has Go, and the packages need no Go.
if have go; then
    go list -m >"$log" 2>&1 ||
        die "$(go version | cut -d' ' -f3) cannot read go.mod ($(tail -n 1 "$log")): install Go 1.26 or newer (https://go.dev/doc/install)"
elif [ -z "${SUDO_USER:-}" ]; then
    die "Go is missing: install Go 1.26 or newer (https://go.dev/doc/install) and put it on PATH"
fi

read -ra cc <<<"$(go env CC 2>/dev/null || echo "${CC:-gcc}")" # may hold options
compile() { have "${cc[0]}" && "${cc[@]}" -x c - "$@" 2>/dev/null; }

have_libc_headers() { echo '#include <stdlib.h>' | compile -fsyntax-only; }
have_libfabric() { have pkg-config && pkg-config --atleast-version="$min_libfabric" libfabric 2>/dev/null; }
libfabric_version() { pkg-config --modversion libfabric 2>/dev/null || echo none; }

# Headers and library have to be there, and to be of one version: the peer
# interface changes between minor versions.
libfabric_works() {
    local flags
    read -ra flags <<<"$(pkg-config --cflags --libs libfabric 2>/dev/null)"
    compile -o "$work/probe" "${flags[@]}" <<'C' && "$work/probe" 2>/dev/null
#include <rdma/fabric.h>
#include <rdma/providers/fi_peer.h>
int main(void) { return fi_version() != FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION); }
C
}

can_reach_modules() {
    [ -n "${SSL_CERT_FILE:-}${SSL_CERT_DIR:-}" ] || [ -s /etc/ssl/certs/ca-certificates.crt ] ||
        GOPROXY=off go mod download >/dev/null 2>&1
}

missing=()
have "${cc[0]}" || missing+=(gcc)
have_libc_headers || missing+=(libc6-dev)
have make || missing+=(make)
have pkg-config || missing+=(pkg-config)
can_reach_modules || missing+=(ca-certificates)
if [ "$want_test" = yes ]; then
    { have ip && have tc; } || missing+=(iproute2)
    have chromium || have chromium-browser || have google-chrome || missing+=(chromium)
fi
need_libfabric=no
if ! have_libfabric || ! libfabric_works; then need_libfabric=yes; fi

summary() { echo "libfabric $(libfabric_version), $("${cc[@]}" --version | head -n 1)"; }
if [ ${#missing[@]} -eq 0 ] && [ "$need_libfabric" = no ]; then
    say "nothing to do: $(summary)"
    exit 0
fi

# --- who may install it ---

wanted=("${missing[@]}")
if [ "$need_libfabric" = yes ]; then wanted+=("libfabric-dev (>= $min_libfabric)"); fi
say "missing: $(printf '%s, ' "${wanted[@]}" | sed 's/, $//')"

by_hand="install the above yourself (Debian 12 has libfabric 1.17, Debian 13 has 2.1), or set PKG_CONFIG_PATH for a libfabric >= $min_libfabric of your own"
have apt-get || die "no apt-get here: $by_hand"
[ "$(id -u)" -eq 0 ] || die "not root: run scripts/setup.sh${1:+ $1} as root once, or $by_hand"

# --- install ---

export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l APT_LISTCHANGES_FRONTEND=none

trixie_source=/etc/apt/sources.list.d/golnx-trixie.sources # is there once it has worked

# apt-get install can wait for its lock, apt-get update cannot.
apt_update() {
    local deadline=$((SECONDS + lock_wait)) ok
    while :; do
        ok=yes
        apt-get update -qq "$@" >"$log" 2>&1 || ok=no
        if [ $ok = yes ] || ! grep -q 'Could not get lock' "$log" || [ $SECONDS -ge $deadline ]; then break; fi
        say "waiting for another apt"
        sleep 3
    done
    cat "$log" >&2
    [ $ok = yes ]
}

# Removes no package, save a library that only changes its name to NAMEt64. Asks
# nothing; changed configuration files are kept. Finishes an interrupted dpkg first.
apt_install() {
    local removed release=() command=(apt-get install -y -qq --no-install-recommends
        -o "DPkg::Lock::Timeout=$lock_wait"
        -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold)
    say "installing $*"
    removed=$("${command[@]}" --simulate "$@" 2>/dev/null | awk '
        $1 == "Inst" { new[$2] }
        $1 == "Remv" { old[$2] }
        END { for (p in old) if (!((p "t64") in new)) printf " %s", p }') || true
    [ -z "$removed" ] || { say "stopped: apt would remove$removed"; return 1; }
    "${command[@]}" "$@" >"$log" 2>&1 </dev/null && return
    if grep -qE -e 'dpkg --configure -a|--fix-broken' "$log"; then
        say "finishing an interrupted installation first"
        [ -f "$trixie_source" ] && release=(-t trixie)
        {
            dpkg --configure -a
            "${command[@]}" --no-remove --fix-broken "${release[@]}"
            "${command[@]}" "$@"
        } >"$log" 2>&1 </dev/null && return
    fi
    tail -n 20 "$log" >&2
    return 1
}

# Would apt install a libfabric that is new enough without being told a release?
candidate_ok() {
    local version
    version=$(apt-cache policy libfabric-dev | awk '/Candidate:/ { print $2 }')
    [ "${version:-(none)}" != "(none)" ] && dpkg --compare-versions "$version" ge "$min_libfabric"
}

# The mirrors that this machine takes Debian 12 from, in its own order. It asks apt
# and not /etc/os-release, which says 13 once Debian 13's libc has come in.
own_mirrors() {
    # shellcheck disable=SC2016 # apt fills these in
    apt-get indextargets --format '$(CODENAME) $(ORIGIN) $(LABEL) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
        sed -n 's/^bookworm Debian Debian main //p' | awk '!/^cdrom:/ && !seen[$0]++'
}

add_trixie() {
    local mirrors mirror candidate=$work/trixie.sources keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    mapfile -t mirrors < <(own_mirrors)
    [ ${#mirrors[@]} -gt 0 ] ||
        die "apt has no libfabric-dev >= $min_libfabric, and no Debian 12 source that answers, to derive one for Debian 13 from: $by_hand"
    # The first keyrings of Debian 12 do not know the key of Debian 13.
    apt_install debian-archive-keyring || die "apt-get could not bring debian-archive-keyring up to date"
    printf 'Package: *\nPin: release n=trixie\nPin-Priority: 100\n' >/etc/apt/preferences.d/golnx-trixie
    for mirror in "${mirrors[@]}"; do
        say "adding Debian 13 from ${mirror/\/\/*@/\/\/} with priority 100 ($trixie_source)"
        printf 'Types: deb\nURIs: %s\nSuites: trixie\nComponents: main\nSigned-By: %s\n' "$mirror" "$keyring" >"$candidate"
        if apt_update --error-on=any -o Dir::Etc::SourceList="$candidate" -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0; then
            install -m 644 "$candidate" "$trixie_source"
            return
        fi
    done
    die "none of this machine's Debian 12 mirrors has Debian 13: $by_hand"
}

apt_update || say "apt-get update failed for some source; going on with what is there"
if [ ${#missing[@]} -gt 0 ]; then
    # With Debian 13's libc in already, Debian 12's libc6-dev no longer fits.
    apt_install "${missing[@]}" ||
        { [ -f "$trixie_source" ] && apt_install -t trixie "${missing[@]}"; } ||
        die "apt-get could not install ${missing[*]}"
fi
if [ "$need_libfabric" = yes ]; then
    release=()
    if ! candidate_ok; then
        [ -f "$trixie_source" ] || add_trixie # there already after an interrupted run
        release=(-t trixie)
    fi
    apt_install "${release[@]}" libfabric-dev || die "apt-get could not install libfabric-dev"
fi

have_libfabric || die "pkg-config finds libfabric $(libfabric_version), not >= $min_libfabric: is an older one first in its path?"
libfabric_works || die "a program for libfabric $(libfabric_version) does not build or loads another version: see its headers (rdma/providers/fi_peer.h) and ldconfig -p"
say "done: $(summary)"
