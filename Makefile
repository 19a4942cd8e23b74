# `make help` lists the commands. They run in .venv, which scripts/environment.sh creates.

QUESTION ?= How are tool calls matched to their results?
PYTHON := .venv/bin/python
# pytest keeps the modules that it rewrites for assertions: 9 s of processor time for each worker.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test test-all check format web web-dev web-check web-test wheel docs pictures bench lock \
	fuzz run-environment web-environment dev-environment \
	page-for-tests format-check lint types floors cycles tracked-files prose

help: ## list these commands
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
		while IFS='|' read -r name what; do printf '%-18s%s\n' "$$name" "$$what"; done

demo: run-environment ## ask a question about this repository and show its trace
	.venv/bin/treadle ask "$(QUESTION)" --repo .
	.venv/bin/treadle traces show LAST

test: page-for-tests web-test ## run the tests that take seconds, those of the page too
	$(PYTHON) -m pytest -n auto --dist worksteal -m "not slow"

test-all: page-for-tests web-test ## run every test and measure coverage
	$(PYTHON) -m coverage erase
	$(PYTHON) -m coverage run -m pytest -n auto --dist worksteal
	$(PYTHON) -m coverage combine --quiet
	$(PYTHON) -m coverage report

fuzz: dev-environment ## fuzz one parser of untrusted bytes (TARGET, MINUTES, KEEP=1)
	$(PYTHON) -m tests.fuzz $(TARGET) --minutes $(or $(MINUTES),10) $(if $(KEEP),--keep)

check: format-check lint types floors cycles tracked-files prose web-check ## check format, lint, types, floors, cycles, prose

format: dev-environment ## format, and apply ruff's automatic fixes
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

web: web-environment ## build the page that `treadle serve` shows
	scripts/web.sh build

web-dev: web-environment ## serve this repository, and the page as you change it
	scripts/web.sh dev

wheel: web ## build the page and the wheel that contains it
	$(PYTHON) -m hatchling build -t wheel

docs: dev-environment ## rewrite the generated parts of docs/
	for script in $(filter-out scripts/write_openapi.py,$(wildcard scripts/write_*.py)); do \
		$(PYTHON) $$script || exit 1; done
	$(PYTHON) scripts/write_tool_reference.py

pictures: page-for-tests ## retake the pictures of the page and of the terminal in docs/images
	$(PYTHON) -m scripts.picture_page
	$(PYTHON) -m scripts.picture_terminal

bench: dev-environment ## measure search, index, sessions, edits, traces, the page and the terminal, and write docs/benchmarks.md
	$(PYTHON) -m bench.retrieval | $(PYTHON) -m bench.tables retrieval
	$(PYTHON) -m bench.index | $(PYTHON) -m bench.tables index
	$(PYTHON) -m bench.query | $(PYTHON) -m bench.tables query
	$(PYTHON) -m bench.embedding | $(PYTHON) -m bench.tables embedding
	$(PYTHON) -m bench.schemas | $(PYTHON) -m bench.tables schemas
	$(PYTHON) -m bench.runtime | $(PYTHON) -m bench.tables runtime
	$(PYTHON) -m bench.edits | $(PYTHON) -m bench.tables edits
	$(PYTHON) -m bench.traces | $(PYTHON) -m bench.tables traces
	$(PYTHON) -m bench.traces.properties .cache/bench/properties.db | $(PYTHON) -m bench.tables properties
	$(PYTHON) -m bench.analyst | $(PYTHON) -m bench.tables analyst
	$(PYTHON) -m bench.page | $(PYTHON) -m bench.tables page
	$(PYTHON) -m bench.terminal | $(PYTHON) -m bench.tables terminal

lock: dev-environment ## rewrite requirements/*.txt from pyproject.toml
	scripts/lock.sh

format-check: dev-environment
	$(PYTHON) -m ruff format --check .

lint: dev-environment
	$(PYTHON) -m ruff check .

types: dev-environment
	$(PYTHON) -m mypy

floors: dev-environment
	.venv/bin/lint-imports

cycles: dev-environment
	$(PYTHON) scripts/check_import_cycles.py

tracked-files: dev-environment
	$(PYTHON) scripts/check_tracked_files.py

prose: dev-environment
	$(PYTHON) scripts/check_prose.py

# Without npm's registry or a browser the tests of the page are skipped, except in CI.
web-check: dev-environment
	scripts/web.sh check --if-possible

web-test: dev-environment
	scripts/web.sh test --if-possible

page-for-tests: dev-environment
	scripts/web.sh build --if-possible
	scripts/browser.sh >/dev/null || test -z "$$CI"

run-environment:
	@scripts/environment.sh run

web-environment:
	@scripts/environment.sh web

dev-environment:
	@scripts/environment.sh dev
