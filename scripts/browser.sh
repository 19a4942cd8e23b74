#!/usr/bin/env bash
# Prints where the browser for the tests of the page is: TREADLE_BROWSER, or a Chromium or Chrome.
# It prefers Chromium's headless shell, which opens a page in a third of the processor time.
# As root on Debian it installs this shell where there is no browser, but not with --find; elsewhere
# it says what to do.
set -euo pipefail

find_browser() {
    local name
    for name in ${TREADLE_BROWSER:+"$TREADLE_BROWSER"} chromium-headless-shell chromium \
        chromium-browser google-chrome google-chrome-stable \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        if command -v "$name"; then return; fi
    done
    return 1
}

install_browser() {
    # Ubuntu's package of that name is none: it asks for a store of its own.
    [ "$(id -u)" = 0 ] && grep -qx 'ID=debian' /etc/os-release 2>/dev/null || return 1
    echo "treadle set-up: installing Chromium for the tests of the page" >&2
    export DEBIAN_FRONTEND=noninteractive
    local packages="chromium-headless-shell fonts-dejavu-core"
    # shellcheck disable=SC2086  # two words
    { apt-get update && apt-get install --yes --no-install-recommends $packages; } >&2
}

find_browser || { [ "${1:-}" != --find ] && install_browser && find_browser; } || {
    echo "treadle set-up: no Chromium was found for the tests of the page; install Chromium or" \
        "Chrome, or name one in TREADLE_BROWSER." >&2
    exit 1
}
