# Needs Python 3.11 or newer, make and git; everything else goes into $(VENV).
# Another interpreter: `make PYTHON=python3.12 demo`.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Options handed through: `make test ARGS="-k vickrey"`, `make bench ARGS="--quick"`.
ARGS ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# The tests start many interpreters; without bytecode each of them would compile all of src again.
unexport PYTHONDONTWRITEBYTECODE

# The stamps live inside the environment, so that they vanish together with it.
VENV_STAMP := $(VENV)/.stamp-venv
CORE_STAMP := $(VENV)/.stamp-core
TEST_STAMP := $(VENV)/.stamp-test

.DEFAULT_GOAL := help
# Two installs into one environment must not run at once, whatever -j says.
.NOTPARALLEL:
.PHONY: help demo quick test lint format docs slim bench record reproduce trust clean

help:
	@echo "make demo       set up and run a small experiment on the built-in collection, with its report"
	@echo "make quick      lint and the fast tests: under a minute, for every change"
	@echo "make test       set up, lint, check types and imports, and run the tests: some minutes, before a merge"
	@echo "make lint       the checks of 'make test' without the tests"
	@echo "make format     let ruff lay out the code and fix what it can"
	@echo "make docs       build the documentation site into docs/build; a warning is an error"
	@echo "make slim       install the wheel without torch outside the tree, and try it; with the oldest versions, too"
	@echo "make bench      measure speed side by side with other software"
	@echo "make record     measure everything in docs/performance.md and docs/scale.md at one commit: about two hours"
	@echo "make reproduce  compare with the published data, where it is present"
	@echo "make trust      all tests, the slow ones too, with many more examples"
	@echo "make clean      remove caches and build results (not $(VENV))"

demo: $(CORE_STAMP)
	@echo "==> demo"
	@$(BIN)/quipukit demo $(ARGS)

# Two processes for most tests, then one for those that need the machine alone; see tests/__main__.py.
test: lint
	@echo "==> tests (pytest)"
	@$(BIN)/python -m tests $(ARGS)

quick: lint
	@echo "==> fast tests (pytest)"
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile --quick $(ARGS)

lint: $(TEST_STAMP)
	@echo "==> lint (ruff check)"
	@$(BIN)/ruff check .
	@echo "==> layout (ruff format --check)"
	@$(BIN)/ruff format --check .
	@echo "==> types (mypy)"
	@$(BIN)/mypy
	@echo "==> imports (import-linter)"
	@$(BIN)/lint-imports --no-logo

format: $(TEST_STAMP)
	@echo "==> layout and fixes (ruff)"
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

docs: $(TEST_STAMP)
	@echo "==> documentation (Sphinx)"
	@$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/build/trees docs docs/build/html
	@echo "docs/build/html/index.html"

slim: $(TEST_STAMP)
	@for kind in slim oldest sdist; do $(BIN)/python -m tests.packaging.install $$kind || exit 1; done

bench: $(TEST_STAMP)
	@echo "==> benchmarks"
	@$(BIN)/python -m benchmarks $(ARGS)

# What is recorded of this commit already is kept; after Ctrl-C it goes on where it was.
record: $(TEST_STAMP)
	@echo "==> benchmarks, recorded in benchmarks/results"
	@$(BIN)/python -m benchmarks.record $(ARGS)

reproduce: $(TEST_STAMP)
	@echo "==> comparison with published data"
	@$(BIN)/python -m pytest -m published $(ARGS) || \
		{ code=$$?; test $$code -eq 5 && echo "there is nothing to compare yet"; test $$code -eq 5; }
	@if [ -d ../shared/data ]; then $(BIN)/python -m reproduce.published && $(BIN)/python -m reproduce.dl19 && \
		$(BIN)/python -m reproduce.identify; \
		else echo "left out: the published data is not in ../shared/data"; fi

trust: $(TEST_STAMP)
	@echo "==> all tests, slow ones too"
	@$(BIN)/python -m tests --hypothesis-profile=trust -m "not published" $(ARGS)

clean:
	@echo "==> removing caches and build results"
	@rm -rf build dist docs/build .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV_STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "quipukit needs Python 3.11 or newer; name one with 'make PYTHON=python3.11 ...'" >&2; exit 2; }
	@echo "==> making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(CORE_STAMP): pyproject.toml constraints.txt $(VENV_STAMP)
	@echo "==> installing quipukit (some minutes the first time)"
	@$(call install,.[encoders])

$(TEST_STAMP): pyproject.toml constraints.txt $(VENV_STAMP)
	@echo "==> installing quipukit and what its tests need (some minutes the first time)"
	@$(call install,.[test])
	@touch $(CORE_STAMP)

# Of all that pip says, the big downloads and the last, long step are worth a line; the rest waits in a log for the
# case that something goes wrong. A pipe ends with the exit code of its last command, not with pip's: the stamp,
# made only if pip succeeds, tells how it went. An editable package is not compiled by pip, and its kernels are compiled
# for the processor at hand when they are first called; the first command would wait for both.
INSTALL_LOG := $(VENV)/install.log
REHEARSAL := $(VENV)/rehearsal
define install
rm -f $@; \
{ $(BIN)/python -m pip install --progress-bar off --constraint constraints.txt --editable "$(1)" && \
	$(BIN)/python -m compileall -q src && \
	echo "Compiling kernels" && rm -rf $(REHEARSAL) && mkdir $(REHEARSAL) && \
	QUIPUKIT_HOME=$(REHEARSAL) $(BIN)/python -m quipukit.cli.rehearsal $(REHEARSAL) && \
	rm -rf $(REHEARSAL) && touch $@; } 2>&1 \
	| tee $(INSTALL_LOG) \
	| sed -n -e 's/^ *\(Downloading .*([0-9][0-9][0-9.]* MB)\).*/    \1/p' \
	         -e 's/^ *\(Downloading .*([0-9.]* GB)\).*/    \1/p' \
	         -e 's/^Installing collected packages.*/    Unpacking everything/p' \
	         -e 's/^Compiling kernels/    &/p'; \
test -f $@ || { tail -n 25 $(INSTALL_LOG); echo "the installation failed; all of it is in $(INSTALL_LOG)"; exit 1; } >&2
endef
