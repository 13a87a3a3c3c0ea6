# Two commands for a newcomer: `make demo` and `make test`. Everything is set up in .venv.
SHELL := /bin/sh
PYTHON ?= $(shell tools/find-python)
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest

.PHONY: demo test test-slow test-torch check format bench picture clean help

help:
	@echo "make demo        set up and run the main job on synthetic cases"
	@echo "make test        set up and run the tests"
	@echo "make test-slow   the tests that take longer"
	@echo "make test-torch  the tests that need torch or transformers"
	@echo "make check       formatting, lint, types, the arrows between the rooms"
	@echo "make bench       measurements, best of five"
	@echo "make picture     draw docs/picture.png anew"

.venv/.made:
	@test -n "$(PYTHON)" || exit 1
	@tools/system-packages "$(PYTHON)"
	"$(PYTHON)" -m venv .venv
	@touch $@

.venv/.run: .venv/.made pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/.dev: .venv/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: .venv/.run
	$(BIN)/overread demo
	@echo "          (first: . .venv/bin/activate)"

test: .venv/.dev
	$(PYTEST) -n 2 -m "not slow and not torch"

test-slow: .venv/.dev
	$(PYTEST) -n 2 -m "slow and not torch"

test-torch: .venv/.dev
	@if grep -rqs "pytest.mark.torch" tests; then $(PYTEST) -m torch; \
	else echo "no test needs torch yet"; fi

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/.dev
	$(BIN)/python tools/bench.py
	$(BIN)/python tools/bench_phantom.py

picture: .venv/.run
	$(BIN)/python tools/draw_picture.py docs/picture.png
	$(BIN)/python tools/draw_phantom.py docs

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis overread-demo
