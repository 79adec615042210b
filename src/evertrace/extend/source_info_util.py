"""Where in the user's code an operation comes from, and in which named scopes."""

from evertrace._src import lazy
from evertrace._src.api.source_contexts import current as current
from evertrace._src.api.source_contexts import current_name_stack as current_name_stack
from evertrace._src.api.source_contexts import extend_name_stack as extend_name_stack
from evertrace._src.api.source_contexts import new_name_stack as new_name_stack
from evertrace._src.api.source_contexts import new_source_info as new_source_info
from evertrace._src.api.source_contexts import reset_name_stack as reset_name_stack
from evertrace._src.api.source_contexts import set_name_stack as set_name_stack
from evertrace._src.api.source_contexts import summarize as summarize
from evertrace._src.api.source_contexts import transform_name_stack as transform_name_stack
from evertrace._src.api.source_contexts import user_context as user_context
from evertrace._src.api.source_exclusions import register_exclusion as register_exclusion
from evertrace._src.core.source_infos import NameStack as NameStack
from evertrace._src.core.source_infos import SourceInfo as SourceInfo

lazy.refuse_others(__name__)

__all__ = [
    "NameStack", "SourceInfo", "current", "current_name_stack", "extend_name_stack",
    "new_name_stack", "new_source_info", "register_exclusion", "reset_name_stack",
    "set_name_stack", "summarize", "transform_name_stack", "user_context",
]  # fmt: skip
