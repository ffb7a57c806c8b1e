# `make demo` and `make test` set everything up by themselves; the second time they start at once.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
PACKAGES := ident devices fitting sessions calibration

.PHONY: demo test lint check-types check-layers bench soak clean

demo: .venv/ready
	$(BIN)/ident demo --out out

# Two at once: tests of the rig run in real time and leave a processor idle for most of it.
test: lint .venv/ready-for-tests
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

lint: .venv/ready-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready-for-bench
	$(BIN)/python -m bench

soak: .venv/ready-for-bench
	$(BIN)/python -m bench.soak

clean:
	rm -rf .venv out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find $(PACKAGES) tests bench examples -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ident needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

# Compiles modules and the fitters' inner loops once, so that nobody waits for it later: the two largest side by side.
SCENE := fitting.synthetic.joint_poses(0, turn=1.0, n=200)
define WARM_UP
@echo "Compiling the fits (once, a minute or two) ..."
@$(BIN)/python -m compileall -q $(PACKAGES)
@for fit in line circle; do \
  $(BIN)/python -c "import fitting, fitting.synthetic; fitting.fit_$$fit($(SCENE).points)" & \
done; wait
@$(BIN)/python -c "import fitting; fitting.warm_up()"
endef

.venv/ready: pyproject.toml constraints.txt | .venv/python
	@echo "Installing ident into .venv (once) ..."
	$(PIP) install --constraint constraints.txt --editable .
	$(WARM_UP)
	@touch $@

.venv/ready-for-tests: pyproject.toml constraints.txt | .venv/python
	@echo "Installing ident and what its tests need into .venv (once) ..."
	$(PIP) install --constraint constraints.txt --editable '.[test]'
	$(WARM_UP)
	@touch $@ .venv/ready

.venv/ready-for-bench: pyproject.toml constraints.txt | .venv/python
	@echo "Installing ident and the peers that it is measured against into .venv (once) ..."
	$(PIP) install --constraint constraints.txt --editable '.[bench]'
	@$(PIP) install --constraint constraints.txt --editable '.[open3d]' && $(BIN)/python -c "import open3d" 2>/dev/null || \
	  echo "Open3D is not to be had here (it needs libusb-1.0 as well): the benchmarks go on without it."
	@touch $@ .venv/ready .venv/ready-for-tests
