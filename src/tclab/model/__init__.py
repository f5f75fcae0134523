"""Define the nouns of tclab as frozen dataclasses: Snippet, Run, Artifact, Provenance.

The modules need only the standard library, and do nothing but validate and (de)serialise, so that
the engine, the renderer and the site generator can share them without torch.

This package exports every public name that one of the modules below defines. Names that a module
itself imports are not exported; mypy refuses them.
"""

from __future__ import annotations

from tclab.model.agreements import *
from tclab.model.artifacts import *
from tclab.model.codec import *
from tclab.model.compiles import *
from tclab.model.costs import *
from tclab.model.decisions import *
from tclab.model.findings import *
from tclab.model.fusions import *
from tclab.model.jobs import *
from tclab.model.kernel_rows import *
from tclab.model.kernels import *
from tclab.model.levels import *
from tclab.model.measurements import *
from tclab.model.reports import *
from tclab.model.runs import *
from tclab.model.snapshots import *
from tclab.model.versions import *
