"""The documentation: every example on it is run by the build, and no build needs the network."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import tolerant

import cranfield

project = "Cranfield"
author = copyright = "The Cranfield developers"
version = release = cranfield.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "formulas",
    "shell",
    "reference",
    "rows",
    "tolerant",
]
exclude_patterns = ["_build", "_ext"]
nb_execution_mode = "force"
nb_execution_in_temp = True  # the cells of the notebook write files
nb_execution_raise_on_error = True
myst_enable_extensions = ["colon_fence", "deflist"]

napoleon_google_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
add_module_names = False
python_maximum_signature_line_length = 80

doctest_default_flags = tolerant.FLAGS
doctest_global_setup = "import cranfield as cf; from cranfield import parse"  # as docstrings of the package see it
trim_doctest_flags = True

smartquotes = False  # quotes on these pages are code

html_theme = "furo"
html_logo = html_favicon = "_static/mark.svg"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#12395b", "color-brand-content": "#1a5c8f"},
    "dark_css_variables": {
        "color-brand-primary": "#f0a63c",
        "color-brand-content": "#8cc1e8",
        "color-sidebar-link-text--top-level": "var(--color-foreground-primary)",
    },
}
html_title = f"Cranfield {release}"
html_static_path = ["_static"]
html_css_files = ["cranfield.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
highlight_language = "python"
pygments_style = "default"

# The button copies commands and statements, without prompts and output; blocks without a prompt are copied whole.
copybutton_prompt_text = r"\$ |>>> |\.\.\. (?!\d+ more lines)|\.\.\.$"
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_copy_empty_lines = False

# Examples of docstrings are run by the tests, in the modules whose names they use.
doctest_test_doctest_blocks = ""
