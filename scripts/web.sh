#!/usr/bin/env bash
# What is done with the page (web/), by the Node of .venv (scripts/environment.sh web).
#   scripts/web.sh build    builds it into the package, if something changed
#   scripts/web.sh check    types and lint
#   scripts/web.sh test     its component tests
#   scripts/web.sh dev      the server (unless TREADLE_URL names one), and the page as it is changed
# With --if-possible, npm's registry may be out of reach: this is said, and no failure but in CI.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

page=src/treadle/server/page
document=web/build/openapi.json
export PATH="$PWD/.venv/bin:$PATH"
# Trust what the machine trusts, as pip does: a company's proxy has a certificate of its own.
export NODE_USE_SYSTEM_CA=${NODE_USE_SYSTEM_CA:-1}
say() { echo "treadle page: $*" >&2; }
usage() { echo "usage: $0 build|check|test|dev [--if-possible]" >&2; exit 2; }

# The content of files, and the folder, since what is installed does not move with it.
sum() { { echo "$PWD"; "$@" | LC_ALL=C sort -z | xargs -0 cksum; } | cksum; }
# fresh STAMP KEY: whether the stamp was left by that very key.
fresh() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

npm_install() { npm --prefix web install --no-save --ignore-scripts --loglevel=error >&2; }

install_packages() {
    local stamp=web/node_modules/.treadle key
    key="$(node --version) $(sum printf '%s\0' web/package-lock.json web/.npmrc)"
    if fresh $stamp "$key"; then return; fi
    say "installing its packages"
    # From the lock, but not `npm ci`: that wants an optional package for Windows in the lock which
    # not every registry has. Tried twice, since a registry may be down for a moment.
    npm_install || npm_install || return 1
    printf '%s' "$key" >$stamp
}

# The types of the API, from the server itself.
generate() {
    local key
    key=$(sum find src/treadle scripts/write_openapi.py web/package-lock.json \
        -type f '(' -name '*.py' -o -name package-lock.json ')' -print0)
    if fresh web/build/.generated "$key" && [ -f web/src/api/schema.d.ts ]; then return; fi
    python scripts/write_openapi.py $document
    npm --prefix web run --silent generate >&2
    printf '%s' "$key" >web/build/.generated
}

build() {
    local key
    key=$(sum find web $document '(' -name node_modules -o -path web/build ')' -prune \
        -o -type f -print0)
    if fresh web/build/.built "$key" && [ -f $page/index.html ]; then return; fi
    npm --prefix web run --silent build >&2
    printf '%s' "$key" >web/build/.built
}

develop() {
    if [ -z "${TREADLE_URL:-}" ]; then
        treadle serve --port "${PORT:-7070}" &
        # shellcheck disable=SC2064  # the id as it is now
        trap "kill $!" EXIT
        export TREADLE_URL=http://127.0.0.1:${PORT:-7070}
    fi
    npm --prefix web run --silent dev
}

case ${1:-}:${2:-} in
    build: | check: | test: | dev: | build:--if-possible | check:--if-possible | test:--if-possible) ;;
    *) usage ;;
esac
if ! install_packages; then
    say "its packages cannot be installed, so nothing of the page can be built or checked here."
    if [ "${2:-}" = --if-possible ] && [ -z "${CI:-}" ]; then exit 0; fi
    exit 1
fi
generate
case $1 in
    build) build ;;
    check) npm --prefix web run --silent check ;;
    test) npm --prefix web run --silent test ;;
    dev) develop ;;
esac
