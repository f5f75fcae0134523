"""Make tclab importable from a checkout for MkDocs, and re-export its events."""

import sys
from pathlib import Path

SOURCE = str(Path(__file__).resolve().parents[3])
if SOURCE not in sys.path:
    sys.path.append(SOURCE)  # append, so that an installed tclab is preferred

from tclab.site.pages.hooks import (  # noqa: E402, F401
    on_build_error,
    on_config,
    on_env,
    on_files,
    on_nav,
    on_page_content,
    on_page_context,
    on_page_markdown,
    on_post_build,
    on_post_page,
    on_post_template,
    on_pre_build,
    on_serve,
    on_shutdown,
    on_startup,
)
