"""Functions of neural networks."""

from evertrace._src import lazy

__getattr__, __dir__ = lazy.exports(__name__)
