"""Checking derivatives in tests."""

from evertrace._src.api.gradcheck import check_grads as check_grads
from evertrace._src.api.gradcheck import check_jvp as check_jvp
from evertrace._src.api.gradcheck import check_vjp as check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
