PYTHON ?= python3

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help install reproduce test lint types unit verify notebooks report bench-features bench-attention \
	verify-full format clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-14s  %s\n", $$1, $$2 }' Makefile

install: $(STAMP) ## Build .venv from the pins in constraints.txt

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		found=$$($(PYTHON) -c 'import sys; print(sys.version.split()[0])' 2>/dev/null || echo absent); \
		echo "Python 3.11 or newer is needed but '$(PYTHON)' is $$found; set PYTHON to one." >&2; \
		exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) hatchling setuptools
	$(PIP) --no-build-isolation --editable '.[dev]'
	@touch $@

reproduce: $(STAMP) ## Run every derivation, the experiments (laptop presets) and the report
	$(BIN)/python -m derivations
	$(BIN)/python -m derivations --check
	$(BIN)/python -m experiments variance --preset laptop
	$(BIN)/python -m experiments classification --preset laptop
	$(BIN)/python -m experiments vision --preset smoke --out build/vision
	$(BIN)/python -m paper_figures --quiet --readme README.md
	@echo "Report: results/report.html"
	@$(BIN)/python -m experiments data

test: lint types unit verify notebooks ## Run every check: lint, types, unit, verify, notebooks

lint: $(STAMP) ## Check style and formatting (ruff)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMP) ## Check types (pyright)
	$(BIN)/pyright

unit: $(STAMP) ## Run the test suite (pytest)
	$(BIN)/python -m pytest -n 2 --dist loadfile

verify: $(STAMP) ## Check the shipped code against every claim, quick budget
	$(BIN)/python -m verification --budget quick --out build/verification

notebooks: $(STAMP) ## Re-run the committed notebooks and compare every output (nbval)
	$(BIN)/python -m pytest -n 2 --dist loadfile -p no:cacheprovider \
		--nbval --nbval-current-env derivations

report: $(STAMP) ## Draw results/report.html and its figures from results/
	$(BIN)/python -m paper_figures

bench-features: $(STAMP) ## Random features against scikit-learn: speed, error, memory
	$(BIN)/python -m experiments bench-features

bench-attention: $(STAMP) ## Attention against its peers: speed, memory, error (installs PyTorch)
	$(PIP) --no-build-isolation --editable '.[bench]'
	$(BIN)/python -m experiments bench-attention
	$(BIN)/python -m paper_figures --quiet

verify-full: $(STAMP) ## Run every check at full size: accuracy, mutants, slow tests (an hour)
	$(BIN)/python -m verification --budget full
	$(BIN)/python -m pytest -n 2 -m slow

format: $(STAMP) ## Format and fix the sources (ruff)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## Remove the environment, caches and build products
	rm -rf .venv .hypothesis .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
