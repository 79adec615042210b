"""What the docstrings of the options' context managers say: what each does, and an example."""

OPTIONS = {
    "enable_x64": """
Keep 64-bit dtypes, which otherwise become their 32-bit counterparts.

Example:
  >>> with ev.enable_x64():
  ...     jnp.arange(2).dtype
  dtype('int64')
""",
    "strict": """
Trace by JAX's own rules: what is no argument is a constant, and is not watched.

Example:
  >>> scale = [2.0]
  >>> f = ev.jit(lambda x: scale[0] * x)
  >>> with ev.strict():
  ...     first, scale[0] = f(1.0), 3.0
  ...     float(first), float(f(1.0))  # as in JAX: what the list held is part of the program
  (2.0, 2.0)
  >>> float(f(1.0))
  3.0
""",
    "library_rules": """
Choose whose rules hold in a `jit` that installed packages call while `as_jax` lends JAX's names:
"jax" or "evertrace".

It is read when `jit` is called, which libraries do when they are imported, too. The `jit` of all
other code keeps evertrace's rules.

Example:
  >>> with ev.as_jax(), ev.library_rules("evertrace"):
  ...     import jax  # and the libraries that shall keep to evertrace's rules
""",
    "impurity": """
Say what happens where a function does what a compiled program cannot do again: "error", "warn" or
"ignore".

Example:
  >>> import os
  >>> f = ev.jit(lambda x: x if os.listdir("/") else -x)  # ImpurityError without the option
  >>> with ev.impurity("ignore"):
  ...     f(jnp.float32(1.0))
  Array(1., dtype=float32)
""",
    "no_retrace": """
Raise an error where a function that was traced before is traced again.

Example:
  >>> f = ev.jit(lambda x: 2 * x)
  >>> _ = f(jnp.ones(2))
  >>> with ev.no_retrace():
  ...     f(jnp.ones(3))
  Traceback (most recent call last):
      ...
  evertrace.errors.RetraceError: jit(<lambda>): traced again within no_retrace...
""",
    "explain_retraces": """
Print why, to stderr, where a function that was traced before is traced again.

Example:
  >>> import contextlib, sys
  >>> f = ev.jit(lambda x: 2 * x)
  >>> _ = f(jnp.ones(2))
  >>> with ev.explain_retraces(), contextlib.redirect_stderr(sys.stdout):
  ...     _ = f(jnp.ones(3))
  jit(<lambda>): traced again: x: f32[2] -> f32[3], at ...
""",
    "threefry_partitionable": """
Choose which of JAX's two streams of random bits threefry keys give.

Example:
  >>> random.bits(random.key(0), (2,))
  Array([4070199207, 4202968722], dtype=uint32)
  >>> with ev.threefry_partitionable(False):
  ...     random.bits(random.key(0), (2,))
  Array([ 928981903, 3453687069], dtype=uint32)
""",
    "default_prng_impl": """
Choose the generator of keys: "threefry2x32", "rbg" or "unsafe_rbg".

Example:
  >>> with ev.default_prng_impl("rbg"):
  ...     random.key(0).dtype
  key<rbg>
""",
    "enable_custom_prng": """
Make `random.PRNGKey` return typed keys instead of raw uint32 arrays.

Example:
  >>> with ev.enable_custom_prng():
  ...     random.PRNGKey(0).dtype
  key<fry>
""",
    "default_matmul_precision": """
Choose the precision of matrix products and convolutions that do not state one.

Example:
  >>> x = jnp.ones(3)
  >>> with ev.default_matmul_precision("highest"):
  ...     ev.make_jaxpr(jnp.dot)(x, x).eqns[0].params["precision"]
  (Precision.HIGHEST, Precision.HIGHEST)
""",
    "numpy_rank_promotion": """
Say what happens where operands of different ranks are broadcast: "allow", "warn", "raise".

It is about the operands that you pass, not about what a function computes with on its way. Scalars
are allowed everywhere, and any ranks where broadcasting is asked for: in `where`,
`broadcast_arrays` and `broadcast_shapes`.

Example:
  >>> with ev.numpy_rank_promotion("raise"):
  ...     jnp.ones((2, 3)) + jnp.ones(3)
  Traceback (most recent call last):
      ...
  ValueError: add: operands of different ranks are broadcast, shapes (3,) and (2, 3)...
""",
    "numpy_dtype_promotion": """
Choose between "standard" promotion of dtypes and "strict", which refuses different ones.

It is about the operands that you pass, not about what a function computes with on its way.

Example:
  >>> with ev.numpy_dtype_promotion("strict"):
  ...     jnp.ones(3) + 1, jnp.ones(3) + jnp.arange(3)  # Python's numbers are promoted
  Traceback (most recent call last):
      ...
  evertrace.dtypes.TypePromotionError: promotion: float32 and int32 have no common dtype...
""",
    "allow_f16_reductions": """
Say whether numbers of 16 bits may be summed in their own dtype.

Example:
  >>> with ev.allow_f16_reductions(False):
  ...     lax.reduce_sum(jnp.ones(3, "float16"), (0,))
  Traceback (most recent call last):
      ...
  ValueError: reduce_sum: f16[3] would be summed in 16 bits...
""",
    "debug_nans": """
Raise FloatingPointError where a NaN is computed.

Example:
  >>> with ev.debug_nans():
  ...     jnp.log(-1.0)
  Traceback (most recent call last):
      ...
  FloatingPointError: log: invalid value (nan) encountered...
""",
    "debug_infs": """
Raise FloatingPointError where an infinity is computed.

Example:
  >>> with ev.debug_infs():
  ...     1 / jnp.zeros(2)
  Traceback (most recent call last):
      ...
  FloatingPointError: div: invalid value (inf) encountered...
""",
    "debug_key_reuse": """
Raise an error where a random key is consumed twice.

Example:
  >>> key = random.key(0)
  >>> with ev.debug_key_reuse():
  ...     random.normal(key), random.normal(key)
  Traceback (most recent call last):
      ...
  evertrace.errors.KeyReuseError: random_bits: the random key was consumed before...
""",
    "legacy_prng_key": """
Say what happens where a raw uint32 key is used: "allow", "warn" or "error".

Example:
  >>> with ev.legacy_prng_key("error"):
  ...     random.normal(random.PRNGKey(0))
  Traceback (most recent call last):
      ...
  ValueError: normal: the key is a raw uint32 array, u32[2]...
""",
    "no_tracing": """
Raise an error where a function that is called has to be traced first.

Example:
  >>> f = ev.jit(lambda x: 2 * x)
  >>> with ev.no_tracing():
  ...     f(1.0)
  Traceback (most recent call last):
      ...
  evertrace.errors.RetraceError: jit(<lambda>): traced within no_tracing...
""",
    "no_execution": """
Raise an error where something would be computed.

Example:
  >>> with ev.no_execution():
  ...     ev.eval_shape(jnp.sin, 1.0)
  ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)
  >>> with ev.no_execution():
  ...     jnp.sin(1.0)
  Traceback (most recent call last):
      ...
  RuntimeError: sin: would be executed, but the option no_execution is on...
""",
    "transfer_guard": """
Guard transfers of all directions: "allow", "log", "disallow", "log_explicit" or
"disallow_explicit".

Example:
  >>> with ev.transfer_guard("disallow"):
  ...     jnp.arange(3) + np.ones(3)
  Traceback (most recent call last):
      ...
  evertrace.errors.JaxRuntimeError: transfer_guard: Disallowed host-to-device transfer...
  >>> with ev.transfer_guard("disallow"):
  ...     jnp.arange(3) + ev.device_put(np.ones(3))
  Array([1., 2., 3.], dtype=float32)
""",
    "transfer_guard_host_to_device": """
Guard contents of NumPy arrays and Python numbers that become those of arrays.

Example:
  >>> with ev.transfer_guard_host_to_device("disallow"):
  ...     jnp.sin(np.ones(3))
  Traceback (most recent call last):
      ...
  evertrace.errors.JaxRuntimeError: transfer_guard: Disallowed host-to-device transfer...
""",
    "transfer_guard_device_to_host": """
Guard copies from an accelerator to the host.

Example:
  >>> x = ev.device_put(jnp.ones(3), ev.devices("cpu")[0])
  >>> with ev.transfer_guard_device_to_host("disallow"):
  ...     np.asarray(x)  # the memory of a CPU is that of the host
  array([1., 1., 1.], dtype=float32)
""",
    "transfer_guard_device_to_device": """
Guard copies from one device to another.

Example:
  >>> x = jnp.ones(3)
  >>> with ev.transfer_guard_device_to_device("disallow"):
  ...     x + x  # both are where they are needed
  Array([2., 2., 2.], dtype=float32)
""",
    "check_tracer_leaks": """
Raise `LeakedTracerError` where a tracer outlives its trace.

Example:
  >>> kept = []
  >>> def leak(x):
  ...     kept.append(x)
  ...     return x
  >>> with ev.strict(), ev.check_tracer_leaks():
  ...     ev.jit(leak)(1.0)
  Traceback (most recent call last):
      ...
  evertrace.errors.LeakedTracerError: jit(leak): a traced value f32[] is still referenced...
""",
    "enable_checks": """
Check every jaxpr after it is made: slow, for work on evertrace itself.

Example:
  >>> with ev.enable_checks():
  ...     ev.jit(ev.grad(jnp.sin))(0.0)
  Array(1., dtype=float32, weak_type=True)
""",
    "engine": """
What runs jitted functions that do not say: a tape of native kernels, or code that XLA compiles.

``"auto"`` chooses by the program: "Which engine runs a program" in docs/architecture.md says how.

Example:
  >>> with ev.engine("xla"):
  ...     ev.jit(jnp.sin)(0.0)
  Array(0., dtype=float32, weak_type=True)
""",
    "quick_compile": """
Compile large nested jitted functions once each, not at every call: for development.

Example:
  >>> layer = ev.jit(jnp.tanh)
  >>> with ev.quick_compile():
  ...     ev.jit(lambda x: layer(layer(x)))(jnp.zeros(2))
  Array([0., 0.], dtype=float32)
""",
    "log_compiles": """
Log each trace, lowering and compilation with its time, to the logger "evertrace".

Example:
  >>> import logging, sys
  >>> logger, handler = logging.getLogger("evertrace"), logging.StreamHandler(sys.stdout)
  >>> logger.addHandler(handler)
  >>> def double(x):
  ...     return 2 * x
  >>> with ev.log_compiles():
  ...     _ = ev.jit(double)(1.0)
  trace of jit(double) took ... s
  >>> logger.removeHandler(handler)
""",
    "default_device": """
Place arrays that no argument places on this device, or on the first one of a platform.

Example:
  >>> with ev.default_device(ev.devices("cpu")[0]):
  ...     jnp.ones(3).device.platform
  'cpu'
""",
}
