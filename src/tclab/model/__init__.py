"""The nouns of tclab as frozen dataclasses: Snippet, Run, Artifact, Provenance.

Standard library only, no behaviour beyond validation and (de)serialisation, so
that the engine, the renderer and the site generator can share it without torch.

Offered is every public name that one of these modules defines; what a module itself imports is
not meant, and mypy refuses it.
"""

from __future__ import annotations

from tclab.model.artifacts import *
from tclab.model.codec import *
from tclab.model.compiles import *
from tclab.model.decisions import *
from tclab.model.fusions import *
from tclab.model.kernel_rows import *
from tclab.model.kernels import *
from tclab.model.levels import *
from tclab.model.reports import *
from tclab.model.runs import *
from tclab.model.snapshots import *
from tclab.model.versions import *
