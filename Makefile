# SPDX-License-Identifier: MIT
# `make study` and `make test` do everything on a fresh Debian with git, make and python3.

STUDY ?= inode-claim
TARGET ?= manycore
PYTHON = .venv/bin/python
# three at a time, as some wait; a file's tests stay together, as they share what is costly, and tests/conftest.py
# says which come first
BESIDE = -n 3 --dist loadfile --no-loadscope-reorder
# where the time of the tests goes
SLOWEST = --durations=30
export PYTHONUNBUFFERED = 1
# where the environment forbids it too: each process would compile the library, and four of them all tests, anew
export PYTHONDONTWRITEBYTECODE =

.PHONY: help env test-env study test test-fast test-all mutants kernels patches-check check bench notebooks ipynb figures lab lock clean

help:  ## what each target does
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

env: .venv/ready  ## set up: system packages (as root) and .venv with lockscale in it

.venv/ready: pyproject.toml requirements.lock setup/packages.toml setup/system.py setup/environment.sh
	python3 setup/system.py
	setup/environment.sh
	@echo "setup: compiling the simulator, once (a minute)" >&2
	$(PYTHON) -m lockscale.sim.prepare

test-env:
	python3 setup/system.py test-packages.toml

study: env  ## run one study end to end, at few points (STUDY=inode-claim TARGET=manycore)
	.venv/bin/lockscale study run $(STUDY) --target $(TARGET) --short

test: env test-env check kernels  ## every check and every test, with real kernels booted
	$(PYTHON) -m pytest $(BESIDE) $(SLOWEST) -m "not alone and not long"
	$(PYTHON) -m pytest $(SLOWEST) -m "alone and not long"
	PYTHONPATH=tests $(PYTHON) -m mutants --sample 10

test-fast: env test-env  ## the inner loop: no guest, under two minutes
	$(PYTHON) -m pytest -q $(BESIDE) -m "not guest and not long and not slow"

test-all: env test-env check kernels  ## also the long campaigns
	LOCKSCALE_EXPLORE=1 $(PYTHON) -m pytest
	PYTHONPATH=tests $(PYTHON) -m mutants

mutants: env test-env  ## whether the tests notice each listed change of the riskiest code (10 minutes)
	PYTHONPATH=tests $(PYTHON) -m mutants

kernels: env  ## build the kernels that the tests boot, or find them built
	.venv/bin/lockscale patches check --build inode-claim

patches-check: env  ## every arm of every study: applies, builds, boots, counts right (hours under emulation; BASE=7.3)
	.venv/bin/lockscale patches check --build --boot --write-table $(if $(BASE),--base $(BASE))

# no cache: ruff's does not know that an imported module moved
check: env  ## style, types, direction of imports
	.venv/bin/ruff check --no-cache .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

bench: env  ## the simulator beside SimPy, Ciw and C: whether they agree, and how fast each is; fits and starts
	$(PYTHON) -m benchmarks

# the committed outputs are those of data/measured; then the numbered notebooks once for each study
notebooks: env  ## write notebooks/*.ipynb anew, each run from a clean kernel on data/measured
	$(PYTHON) -m lockscale.show.notebooks --run
	.venv/bin/lockscale batch notebooks/batches/all-studies.yaml \
		--output "$${LOCKSCALE_RUNS:-runs}/notebooks-all-studies-$$(date -u +%Y%m%dT%H%M%SZ)"

ipynb: env  ## write the prose of notebooks/src/*.py into notebooks/*.ipynb, without running them
	$(PYTHON) -m lockscale.show.notebooks

figures: env  ## write figures/ anew: every published table and every study
	.venv/bin/lockscale export --all --format svg,txt,csv

# setup/jupyter: texts open as pages, Lab asks the network for no news, kernels listen on no port
lab: env  ## JupyterLab with the notebooks' index
	JUPYTER_CONFIG_PATH="$(CURDIR)/setup/jupyter" .venv/bin/jupyter lab --notebook-dir=. --LabApp.default_url=/lab/workspaces/lockscale/tree/notebooks/README.md \
		$(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_OPTIONS)

lock: env  ## resolve pyproject.toml into requirements.lock anew
	.venv/bin/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --quiet --output-file requirements.lock

clean:  ## remove .venv and the caches; runs/ stays
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
