# heed: `make report` sets up and runs the study in params.yaml; `make test` sets up and runs every check.
# Repeat either at any time: finished work is not repeated.
PYTHON ?=
CORES ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
GPUS ?= 1
BIN := .venv/bin
# The machine's uv, or the one that pip puts into .venv, with a hash of uv.lock
UV := $(if $(shell command -v uv 2>/dev/null),uv,$(BIN)/uv)
# torch for NVIDIA's GPUs where there is one, else for the CPU
TORCH := $(if $(wildcard /proc/driver/nvidia),--no-group cpu --group cuda)
MAKE_VENV := if command -v $(UV) >/dev/null; then $(UV) venv --quiet --clear $(if $(PYTHON),--python "$(PYTHON)") .venv; else \
	for python in $(if $(PYTHON),"$(PYTHON)",python3.11 python3.12 python3.13 python3.14 python3); do "$$python" -c 'import ensurepip, sys, venv; \
		sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null && "$$python" -m venv --without-pip .venv && exit; done; \
	echo "heed: found neither uv nor a Python 3.11 to 3.14 with venv and ensurepip (in Debian's package python3-venv): install one of the two," \
		"or name a Python: make PYTHON=/path/to/python3.11" >&2; exit 1; fi
PIN_OF_UV := sed -n '/^name = "uv"$$/,/^]/{s/^version = "\(.*\)"/uv==\1/p; s/.*\(sha256:[0-9a-f]*\).*/ --hash=\1/p;}' uv.lock | tr -d '\n'
FROM_PIP := install --quiet --no-compile --require-hashes --requirement /dev/stdin
# The pip that Python carries installs uv, which installs pip: to install pip by itself takes longer than all of this.
PIP_OF_PYTHON := import ensurepip, glob, sysconfig; \
	print(*glob.glob((sysconfig.get_config_var("WHEEL_PKG_DIR") or ensurepip.__path__[0] + "/_bundled") + "/pip-*.whl"))
# What is in .venv and not in uv.lock stays, such as a package of vectors.
SYNC := $(UV) sync --quiet --locked --inexact $(TORCH)
# Where it is set, as in many containers, each process would compile DVC again, and take half as long again to start.
unexport PYTHONDONTWRITEBYTECODE
# What every stage imports is compiled here; what is never imported is most, and need not be.
IMPORTED := dvc.cli, dvc.repo.reproduce, dvc.stage.cache, snakemake.cli, torch, pandas, scipy.stats, sklearn.metrics, \
	sklearn.svm, sklearn.feature_extraction.text, spacy, sacrebleu, vl_convert, jinja2, grimp
export PIP_DISABLE_PIP_VERSION_CHECK := 1
ifeq ($(origin PYTHON) $(wildcard $(BIN)/python),command line $(BIN)/python)
$(info heed: .venv is there and kept, and PYTHON=$(PYTHON) is not used: delete .venv to make it with another Python)
endif

.PHONY: help setup slurm pretrained search excel remotes report check test test-slow benchmark lint pdf page .paper lock schema picture snapshots docs clean
help:            ## print this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1\t/'

.venv/.runtime: uv.lock pyproject.toml
	@echo "heed: setting up .venv from uv.lock (once, some minutes, about 1.7 GB)"
	@mkdir -p .heed && chmod 700 .heed # before DVC, which would let everybody write there
	@test -x $(BIN)/python || $(MAKE_VENV)
	@command -v $(UV) >/dev/null || $(PIN_OF_UV) | $(BIN)/python "$$($(BIN)/python -c '$(PIP_OF_PYTHON)')/pip" $(FROM_PIP)
	@$(SYNC) --no-install-package torch
	@$(if $(TORCH),$(SYNC),$(UV) export --quiet --locked --only-group cpu | UV_FIND_LINKS="$${UV_FIND_LINKS:-$$(echo $$PIP_FIND_LINKS | tr " " ,)}" \
		$(UV) pip install --quiet --python $(BIN)/python --no-index --no-deps --require-hashes --requirement - 2>/dev/null || $(SYNC) || { \
		echo "heed: torch's build for the CPU is not to be had: the one for GPUs follows, of several GB" >&2; $(SYNC) --no-group cpu --group cuda; })
	@rm -rf .venv/lib/python*/site-packages/torch/test .venv/lib/python*/site-packages/torch/bin/test_* # compiled tests of torch, 125 MB
	@$(BIN)/python -m compileall -q src workflow
	@# site_cache_dir in .dvc/config is lost where `dvc exp run --temp` changes the folder
	@$(BIN)/python -c "import sys, $(IMPORTED); sys.exit(dvc.cli.main(['config', '--quiet', '--local', 'core.site_cache_dir', sys.argv[1]]))" "$(CURDIR)/.heed/dvc"
	@touch $@

# What an extra or a dependency group of pyproject.toml adds
WHAT_development := linters and test tools
WHAT_pretrained := transformers (160 MB)
WHAT_search := Ray (210 MB)
WHAT_excel := openpyxl
WHAT_slurm := Snakemake's executor for SLURM
WHAT_remotes := DVC's remotes over SSH and S3 (some 60 MB)
WHAT_docs := Sphinx
WHAT_notebook := a kernel of Jupyter
WHAT_servers := an S3 server for the tests
.venv/.development: .venv/.pretrained .venv/.search .venv/.excel
.venv/.servers: .venv/.development .venv/.remotes
$(patsubst WHAT_%,.venv/.%,$(filter WHAT_%,$(.VARIABLES))): .venv/.%: .venv/.runtime
	@echo "heed: adding $(WHAT_$*)"
	@$(SYNC) --no-install-package torch --$(if $(filter pretrained search excel,$*),extra,group) $*
	@touch $@

setup: .venv/.runtime ## make the virtual environment only

slurm: .venv/.slurm ## add what `snakemake --workflow-profile slurm` needs (docs/run/cluster.md)

pretrained: .venv/.pretrained ## add what a pretrained encoder needs (docs/reference/corpora.md)

search: .venv/.search ## add what searches and a cluster of Ray need (docs/run/search.md, docs/run/cluster.md)

excel: .venv/.excel ## add what a corpus in .xlsx needs (docs/reference/corpora.md)

remotes: .venv/.remotes ## add what a DVC remote over SSH or S3 needs (docs/run/sharing.md)

# What an extra installs, and the study in params.yaml needs
NEEDED := $(if $(shell grep -s '^searches: *[^{]*$$' params.yaml),.venv/.search) $(if $(shell grep -s '^pretrained: *[^{]*$$' params.yaml),.venv/.pretrained)
report: .venv/.runtime $(NEEDED) ## set up, run the study in params.yaml through Snakemake, print the path of the report
	@echo "heed: running the study in params.yaml on $(CORES) cores"
	@PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores $(CORES) --resources gpu=$(GPUS)
	@$(BIN)/python -m heed.report.provenance
	@! grep -q ',NO,' reports/tables/expected_results.csv 2>/dev/null || echo "heed: expected results were not found; the report begins with them"
	@echo "heed: the report is $(CURDIR)/reports/index.html"

check: .venv/.development ## set up, check the style, the format, the types and the imports
	@echo "heed: ruff check";  $(BIN)/ruff check .
	@echo "heed: ruff format"; $(BIN)/ruff format --check .
	@echo "heed: types, snakefmt, imports"; $(BIN)/pyrefly check --summary=none & types=$$! failed=; \
		$(BIN)/snakefmt --check workflow/Snakefile || failed=1; \
		$(BIN)/lint-imports --no-logo --no-cache || failed=1; \
		wait $$types || failed=1; test ! "$$failed"

test: check      ## set up, run `make check` and the tests that are not slow
	@echo "heed: tests";       PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -m "not slow" -n $(CORES) --dist loadgroup

test-slow: .venv/.servers .venv/.slurm .venv/.docs .venv/.notebook ## run the tests that are slow or need a browser or LaTeX
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -m slow --timeout=3000 -n 2 --dist loadgroup

benchmark: .venv/.runtime ## print the first tables of docs/internals/performance.md, some minutes on an idle machine
	@$(BIN)/python -m benchmarks

lint: .venv/.development ## fix the findings that ruff can fix, then print the others
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format . ; $(BIN)/snakefmt workflow/Snakefile ; $(BIN)/pyrefly check ; $(BIN)/lint-imports --no-logo --no-cache

TEX := Debian: texlive-latex-extra texlive-science latexmk lmodern
pdf:             ## make the paper, reports/report.pdf, from reports/report.tex by LaTeX; without it print the page by Chromium
	@test -f reports/report.tex || { echo "heed: there is no reports/report.tex yet: run 'make report' first" >&2; exit 1; }
	@if command -v latexmk >/dev/null && command -v pdflatex >/dev/null; then $(MAKE) --no-print-directory .paper; else \
	$(MAKE) --no-print-directory page && echo "heed: for the paper, reports/report.pdf, install latexmk and pdflatex ($(TEX))"; fi

page:            ## print the page by Chromium as a tagged PDF, reports/page.pdf, which a screen reader can read
	@chromium=$$(command -v chromium || command -v chromium-browser || command -v google-chrome) && test -f reports/index.html || { \
		echo "heed: reports/page.pdf needs Chromium and the page of 'make report', reports/index.html; the paper needs latexmk and pdflatex on PATH ($(TEX))" >&2; exit 1; }; \
	"$$chromium" --headless --no-pdf-header-footer $(if $(filter 0,$(shell id -u)),--no-sandbox) --print-to-pdf=reports/page.pdf reports/index.html 2>/dev/null || { echo "heed: $$chromium did not print reports/index.html" >&2; exit 1; }; \
	echo "heed: reports/page.pdf is the page, printed by Chromium"

.paper:
	@mkdir -p .heed/pdf && rm -f .heed/pdf/report.*
	@cd reports && SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-0} FORCE_SOURCE_DATE=1 latexmk -pdf -interaction=nonstopmode -halt-on-error -quiet -outdir="../.heed/pdf" report.tex >/dev/null || { echo "heed: LaTeX failed; see .heed/pdf/report.log" >&2; exit 1; }
	@cp reports/report.tex .heed/pdf/printed.tex && cp .heed/pdf/report.pdf reports/report.pdf
	@echo "heed: reports/report.pdf"

docs: .venv/.docs ## make the docs site in .heed/site from README.md and docs/; a warning is an error
	@rm -rf .heed/site && $(BIN)/sphinx-build -c docs -d .heed/site-doctrees --fresh-env --fail-on-warning --nitpicky --quiet . .heed/site
	@echo "heed: the site is $(CURDIR)/.heed/site/index.html"

picture: .venv/.runtime ## make the picture of README.md from reports/ of the sample study (needs chromium), and those of the docs from docs/studies
	@$(BIN)/python -c "from pathlib import Path; from heed.report.forest_plot import write_pictures; write_pictures(Path())"
	@chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,970 --screenshot=docs/report.png "file://$(CURDIR)/reports/index.html" 2>/dev/null
	@echo "heed: docs/studies/forest.svg, docs/figures, docs/report.png"

schema: .venv/.runtime ## generate docs/reference/params.md and docs/params.schema.json from src/heed/study
	@$(BIN)/python -m docs.params

snapshots: .venv/.development ## write what pages and messages say now into tests/**/snapshots; git diff shows what changed
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -q --update-snapshots tests/unit/report

lock: .venv/.runtime ## write uv.lock anew from pyproject.toml; pins that fit stay: `make lock UPGRADE=1` takes the newest (asks both indexes)
	@$(UV) lock $(if $(UPGRADE),--upgrade)

clean:           ## delete what heed generated (data/raw, data/tokens, results, reports, logs); the DVC cache can restore it
	@rm -rf data/raw data/tokens results reports logs .heed .snakemake
