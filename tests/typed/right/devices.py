"""Devices and transfers."""

import evertrace as ev
import evertrace.numpy as jnp

device = ev.devices()[0]
x: ev.Array = ev.device_put(jnp.ones(3), device)
count: int = ev.device_count()
done: ev.Array = ev.block_until_ready(x)
platform: str = ev.default_backend()
