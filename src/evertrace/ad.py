"""What `with_refs` of a pullback takes and returns in the places of gradients."""

from evertrace._src import lazy
from evertrace._src.api.gradient_refs import DidntWant as DidntWant
from evertrace._src.api.gradient_refs import DontWant as DontWant
from evertrace._src.api.gradient_refs import GradRef as GradRef
from evertrace._src.api.gradient_refs import GradValue as GradValue

lazy.refuse_others(__name__)

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
