"""The docs site: `make docs` builds it from the Markdown files that GitHub shows, into .heed/site.

The source folder is the repository, so that links between README.md, docs/ and envs/ are the same
on GitHub and in the site. The site needs no network: furo has no fonts or scripts from elsewhere.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs/_extensions"))

project = "heed"
author = "the heed team"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
language = "en"

extensions = ["myst_parser", "contents", "notebooks", "repository_files", "flowcharts", "formulas"]
source_suffix = {".md": "markdown", ".ipynb": "markdown", ".html": "markdown"}
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "config/README.md",
    "envs/README.md",
    "docs/*.md",
    "docs/[!s_n]*/*.md",
    "docs/start/*.md",
    "docs/teach/*.ipynb",
    "docs/notebooks/*.ipynb",
    "docs/teach/*.ipynb",
    "docs/teach/*.md",
    "docs/studies/index.md",
    "docs/studies/*/README.md",
    "docs/studies/*/index.html",  # a page of the contents; the report itself is copied there
]
# without these Sphinx would walk through .venv, results and DVC's cache
exclude_patterns = [
    folder.name
    for folder in ROOT.iterdir()
    if folder.is_dir() and folder.name not in {"docs", "envs", "config"}
]

nitpicky = True
myst_heading_anchors = 6  # the anchors that GitHub gives to headings
myst_enable_extensions = ["dollarmath"]  # as GitHub has it
suppress_warnings = ["myst.header"]  # pages of claims go from `#` to `###`
highlight_language = "none"
html_math_renderer = "mathml"

html_theme = "furo"
html_title = "heed: does attention help?"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_additional_pages = {"index": "redirect.html"}  # the contents are docs/index.html
html_copy_source = False
html_use_index = False
html_show_copyright = False
