"""Kernels with named dimensions, what checks them, and a library of them."""

from evertrace._src import lazy
from evertrace._src.pallas.library.attention import flash_attention as flash_attention
from evertrace._src.pallas.library.attention import paged_attention as paged_attention
from evertrace._src.pallas.library.products import cross_entropy as cross_entropy
from evertrace._src.pallas.library.products import n_body as n_body
from evertrace._src.pallas.library.products import quantized_matmul as quantized_matmul
from evertrace._src.pallas.library.products import scatter_add as scatter_add
from evertrace._src.pallas.library.products import segment_max as segment_max
from evertrace._src.pallas.library.products import segment_sum as segment_sum
from evertrace._src.pallas.library.rows import layer_norm as layer_norm
from evertrace._src.pallas.library.rows import rms_norm as rms_norm
from evertrace._src.pallas.library.rows import rotary_embedding as rotary_embedding
from evertrace._src.pallas.library.rows import softmax as softmax
from evertrace._src.pallas.named import Kernel as Kernel
from evertrace._src.pallas.named import kernel as kernel
from evertrace._src.pallas.simulate import Access as Access
from evertrace._src.pallas.simulate import Finding as Finding

lazy.refuse_others(__name__)

__all__ = [
    "Access", "Finding", "Kernel", "cross_entropy", "flash_attention", "kernel", "layer_norm",
    "n_body", "paged_attention", "quantized_matmul", "rms_norm", "rotary_embedding",
    "scatter_add", "segment_max", "segment_sum", "softmax",
]  # fmt: skip
