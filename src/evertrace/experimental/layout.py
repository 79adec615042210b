"""The layout of arrays in memory."""

from evertrace._src import lazy
from evertrace._src.core.formats import Format as Format
from evertrace._src.core.formats import Layout as Layout
from evertrace._src.experimental.hints import with_layout_constraint as with_layout_constraint

lazy.refuse_others(__name__)
