"""Initial value problems of ordinary differential equations."""

from evertrace._src.experimental.ode import odeint as odeint

__all__ = ["odeint"]
