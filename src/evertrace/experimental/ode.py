"""Initial value problems of ordinary differential equations."""

from evertrace._src import lazy
from evertrace._src.experimental.ode import odeint as odeint

lazy.refuse_others(__name__)

__all__ = ["odeint"]
