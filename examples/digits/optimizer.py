"""Adam and a schedule of its learning rate, as plain objects.

The counter of steps and the rates are Python numbers. `jit` computes them on the host, in double
precision, and hands their results to the compiled program, so they never cost another trace.
"""

import math

import evertrace.numpy as jnp


class CosineDecay:
    """A learning rate that falls from its peak to zero along half a cosine."""

    def __init__(self, peak, total_steps):
        self.peak, self.total_steps = peak, total_steps

    def __call__(self, step):
        """Return the rate of step 0, 1, 2, ..."""
        return self.peak * 0.5 * (1 + math.cos(math.pi * step / self.total_steps))


class Moments:
    """Running mean and variance of the gradient of one parameter."""

    def __init__(self, parameter):
        self.mean = jnp.zeros_like(parameter)
        self.variance = jnp.zeros_like(parameter)


class Adam:
    """The optimiser of Kingma and Ba (2015, algorithm 1), for the parameters of some layers."""

    def __init__(self, layers, rate, b1=0.9, b2=0.99, eps=1e-8):
        self.layers, self.rate = layers, rate
        self.b1, self.b2, self.eps = b1, b2, eps
        self.steps = 0
        self.moments = [
            {name: Moments(getattr(layer, name)) for name in layer.parameters} for layer in layers
        ]

    def update(self, grads):
        """Take one step against the gradients, which are layers like those given at first."""
        rate = self.rate(self.steps)
        self.steps += 1
        for layer, grad, moments in zip(self.layers, grads, self.moments, strict=True):
            for name, moment in moments.items():
                direction = self.direction(moment, getattr(grad, name))
                setattr(layer, name, getattr(layer, name) - rate * direction)

    def direction(self, moment, grad):
        """Add a gradient to the moments of its parameter; return where to go."""
        moment.mean = self.b1 * moment.mean + (1 - self.b1) * grad
        moment.variance = self.b2 * moment.variance + (1 - self.b2) * grad**2
        mean = moment.mean / (1 - self.b1**self.steps)
        variance = moment.variance / (1 - self.b2**self.steps)
        return mean / (jnp.sqrt(variance) + self.eps)
