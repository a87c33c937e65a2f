#!/usr/bin/env bash
# Installs what golnx needs to build and test, and nothing that is already there:
#   - a C compiler, pkg-config
#   - libfabric 2.1 or newer with its headers (Debian 12 ships 1.17, whose peer
#     interface differs, so there it is taken from Debian 13, pinned low so that
#     nothing else moves to Debian 13 on its own)
#   - with --test: what the tests use besides (iproute2 for network namespaces)
# Safe to repeat. Without apt or root it says which packages to install and stops.
set -euo pipefail

min_libfabric=2.1
want_test=no
case "${1:-}" in
    "") ;;
    --test) want_test=yes ;;
    *) echo "usage: scripts/setup.sh [--test]" >&2; exit 2 ;;
esac

say() { printf 'setup: %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }
die() { say "$*"; exit 1; }

have go || die "Go is missing: install Go 1.26 or newer (https://go.dev/doc/install) and put it on PATH"

have_libc_headers() {
    have cc && printf '#include <stdlib.h>\nint main(void){return 0;}\n' | cc -x c -fsyntax-only - 2>/dev/null
}
have_libfabric() {
    have pkg-config && pkg-config --atleast-version="$min_libfabric" libfabric 2>/dev/null
}
have_peer_header() {
    have cc && have pkg-config &&
        printf '#include <rdma/providers/fi_peer.h>\n' |
        cc $(pkg-config --cflags libfabric 2>/dev/null) -x c -fsyntax-only - 2>/dev/null
}

missing=()
have cc || missing+=(gcc)
have_libc_headers || missing+=(libc6-dev)
have make || missing+=(make)
have pkg-config || missing+=(pkg-config)
need_libfabric=no
if ! have_libfabric || ! have_peer_header; then need_libfabric=yes; fi
if [ "$want_test" = yes ]; then
    { have ip && have tc; } || missing+=(iproute2)
fi

if [ ${#missing[@]} -eq 0 ] && [ "$need_libfabric" = no ]; then
    say "nothing to do: libfabric $(pkg-config --modversion libfabric), $(cc --version | head -n 1)"
    exit 0
fi

wanted="${missing[*]:-}"
[ "$need_libfabric" = yes ] && wanted="$wanted libfabric-dev(>=$min_libfabric)"
say "missing: $wanted"
if ! have apt-get; then
    die "no apt-get here: install the packages above with your package manager, or point PKG_CONFIG_PATH at a libfabric >= $min_libfabric"
fi
if [ "$(id -u)" -ne 0 ]; then
    die "not root: run 'sudo scripts/setup.sh', or install the packages above yourself, or point PKG_CONFIG_PATH at a libfabric >= $min_libfabric"
fi

export DEBIAN_FRONTEND=noninteractive
# A failed refresh of one unrelated source must not stop the set-up; a missing
# package does, below.
refresh() { apt-get update -qq || say "apt-get update reported errors; going on with what is there"; }

# The mirror that this machine already uses for its own release.
own_mirror() {
    local codename=$1
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v r="$codename" '$2 == r && $3 == "main" { print $1; exit }'
}

candidate_ok() { # is the version apt would install of $1 new enough?
    local version
    version=$(apt-cache policy "$1" 2>/dev/null | awk '/Candidate:/ { print $2 }')
    [ -n "$version" ] && [ "$version" != "(none)" ] && dpkg --compare-versions "$version" ge "$min_libfabric"
}

add_trixie() {
    . /etc/os-release
    [ "${ID:-}" = debian ] && [ "${VERSION_CODENAME:-}" = bookworm ] ||
        die "this is ${PRETTY_NAME:-an unknown system}: its libfabric is older than $min_libfabric; install a newer one and point PKG_CONFIG_PATH at it"
    local mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    mirror=$(own_mirror bookworm)
    [ -n "$mirror" ] || die "no apt source for bookworm main found to derive the mirror from"
    # Keyrings before 12u2 do not know the key of Debian 13.
    [ -f "$keyring" ] || apt-get install -y -qq --no-install-recommends debian-archive-keyring >/dev/null
    apt-get install -y -qq --no-install-recommends --only-upgrade debian-archive-keyring >/dev/null
    say "adding $mirror trixie main with priority 100 (/etc/apt/sources.list.d/golnx-trixie.sources)"
    cat >/etc/apt/preferences.d/golnx-trixie <<PIN
Package: *
Pin: release n=trixie
Pin-Priority: 100
PIN
    cat >/etc/apt/sources.list.d/golnx-trixie.sources <<SRC
Types: deb
URIs: $mirror
Suites: trixie
Components: main
Signed-By: $keyring
SRC
    refresh
}

refresh
if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]}"
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
if [ "$need_libfabric" = yes ]; then
    release=()
    if ! candidate_ok libfabric-dev; then
        # bookworm-backports or a previous run of this script may have it already
        [ -f /etc/apt/sources.list.d/golnx-trixie.sources ] || add_trixie
        release=(-t trixie)
    fi
    say "installing libfabric-dev ${release[*]:-}"
    apt-get install -y -qq --no-install-recommends "${release[@]}" libfabric-dev >/dev/null
fi

have_libfabric || die "libfabric >= $min_libfabric still not found by pkg-config (found: $(pkg-config --modversion libfabric 2>/dev/null || echo none))"
have_peer_header || die "libfabric's header rdma/providers/fi_peer.h still not found"
say "done: libfabric $(pkg-config --modversion libfabric), $(cc --version | head -n 1)"
