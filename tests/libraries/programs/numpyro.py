"""NUTS on a linear model, and a variational fit."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

x = jnp.linspace(-1.0, 1.0, 20)
y = 2 * x + 1


def model(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0, 5))
    shift = numpyro.sample("shift", dist.Normal(0, 5))
    numpyro.sample("y", dist.Normal(slope * x + shift, 0.5), obs=y)


mcmc = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)
mcmc.run(jax.random.PRNGKey(0), x, y)
samples = mcmc.get_samples()
print("near", abs(float(samples["slope"].mean()) - 2) < 0.3, abs(samples["shift"].mean() - 1) < 0.3)

svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.05), Trace_ELBO())
result = svi.run(jax.random.PRNGKey(1), 200, x, y, progress_bar=False)
print("near", abs(float(result.params["slope_auto_loc"]) - 2) < 0.5)
