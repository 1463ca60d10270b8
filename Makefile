# Every target sets up what it needs in a virtual environment of its own, once, from pyproject.toml.
# All that must be on the machine: make, and Python 3.11, 3.12 or 3.13.
#
#   make demo       see it work (no PyTorch needed)      make lint   style, types and layers
#   make test       the tests, a few minutes             make docs   the documentation, in site/
#   make test-all   the slow ones too                    make bench  measured beside PyTorch
#   make generated  signatures and coverage, after a change of the public API
#   make pictures   those of README and documentation, after a change of the view's page
#   make fuzz       random attacks, for MINUTES=60

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo stubs test test-avx2 test-all fuzz bench generated pictures lint docs clean

SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c '$(SUPPORTED)' 2>/dev/null && { echo $$p; break; }; done)
JOBS ?= 2
PYTEST_ARGS ?=
BENCH_ARGS ?= --pages
MINUTES ?= 60
FUZZ_ARGS ?=

VENV := .venv
DEMO_VENV := .venv-demo
PIP := -m pip install -qq --disable-pip-version-check
TORCH := torch==2.13.0

help:
	@sed -n '4,9s/^#//p' Makefile

# ---- environments ------------------------------------------------------------------------------
# A stamp file stands for an installed set of packages, and is older than pyproject.toml when that
# set has changed. Packages are added to an environment that is there; it is never thrown away.

define make-venv
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed; say where: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	@test -x $(1)/bin/python || { echo "[set-up] $(1): a virtual environment from $(PYTHON)"; "$(PYTHON)" -m venv $(1); }
endef

$(DEMO_VENV)/.stamp: pyproject.toml
	$(call make-venv,$(DEMO_VENV))
	@echo "[set-up] $(DEMO_VENV): tautograd, NumPy, SciPy, ml_dtypes, llvmlite (PyTorch is not needed)"
	@$(DEMO_VENV)/bin/python $(PIP) --editable .
	@touch $@

# PyTorch comes first and pinned, so that nothing else gets to choose its version.
$(VENV)/.stamp-test: pyproject.toml
	$(call make-venv,$(VENV))
	@echo "[set-up] $(VENV): $(TORCH), which the tests compare with (the largest part)"
	@$(VENV)/bin/python $(PIP) "$(TORCH)"
	@echo "[set-up] $(VENV): tautograd and its test tools"
	@$(VENV)/bin/python $(PIP) --editable ".[test]"
	@touch $@

$(VENV)/.stamp-lint: pyproject.toml
	$(call make-venv,$(VENV))
	@echo "[set-up] $(VENV): tautograd and its lint tools"
	@$(VENV)/bin/python $(PIP) --editable ".[lint]"
	@touch $@

$(VENV)/.stamp-docs: pyproject.toml
	$(call make-venv,$(VENV))
	@echo "[set-up] $(VENV): tautograd and its documentation tools"
	@$(VENV)/bin/python $(PIP) --editable ".[docs]"
	@touch $@

$(VENV)/.stamp-bench: pyproject.toml
	$(call make-venv,$(VENV))
	@echo "[set-up] $(VENV): JAX, a peer in the table"
	@$(VENV)/bin/python $(PIP) --editable ".[bench]"
	@touch $@

$(VENV)/.stamp-libraries: pyproject.toml
	$(call make-venv,$(VENV))
	@echo "[set-up] $(VENV): libraries that run on tautograd"
	@$(VENV)/bin/python $(PIP) --editable ".[libraries]"
	@touch $@

# ---- what people run -----------------------------------------------------------------------------

demo: $(DEMO_VENV)/.stamp
	@$(DEMO_VENV)/bin/python examples/demo.py

# Neighbours share what they need (a record's samples, a project to replay), so each worker is given a
# long run of them, and takes from the other's when it has none left.
PYTEST := $(VENV)/bin/python -m pytest -q -n $(JOBS) --dist worksteal

# An editable install wrote them as the package was then.
stubs:
	@$(VENV)/bin/python tools/make_stubs.py

test: $(VENV)/.stamp-test stubs
	@$(PYTEST) -m "not slow" $(PYTEST_ARGS)

# The kernels that PyTorch, NumPy, OpenBLAS, MKL and oneDNN choose on a CPU with AVX2 and no AVX-512. In this run
# every recorder is machine code from its first call on; in the other one, those that are called often.
AS_AVX2 := ATEN_CPU_CAPABILITY=avx2 NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR" \
	OPENBLAS_CORETYPE=Haswell TAUT_CPU=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 ONEDNN_MAX_CPU_ISA=AVX2
COMPARING := tests/autograd tests/ops tests/tensor tests/nn tests/optim tests/amp tests/random tests/eager_kernels

test-avx2: $(VENV)/.stamp-test
	@$(AS_AVX2) TAUT_RECORDERS=now $(PYTEST) -m "not slow" $(COMPARING) $(PYTEST_ARGS)

test-all: $(VENV)/.stamp-test $(VENV)/.stamp-libraries stubs
	@$(PYTEST) $(PYTEST_ARGS)

fuzz: $(VENV)/.stamp-test
	@$(VENV)/bin/python -m fuzz --minutes $(MINUTES) --jobs $(JOBS) $(FUZZ_ARGS)

bench: $(VENV)/.stamp-test $(VENV)/.stamp-bench
	@$(VENV)/bin/python -m bench $(BENCH_ARGS)

generated: $(VENV)/.stamp-test $(VENV)/.stamp-lint stubs
	@$(VENV)/bin/python tools/make_signatures.py
	@$(VENV)/bin/python tools/make_coverage.py

pictures: $(VENV)/.stamp-test
	@$(VENV)/bin/python tools/make_pictures.py

lint: $(VENV)/.stamp-lint stubs
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports

docs: $(VENV)/.stamp-test $(VENV)/.stamp-docs stubs
	@$(VENV)/bin/python -m sphinx -q -W --keep-going -b html docs site
	@echo "the documentation is in site/index.html"

clean:
	rm -rf site build dist docs/_generated docs/_static/gallery docs/reference .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
