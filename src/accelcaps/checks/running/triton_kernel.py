"""The triton kernel of a check; importing this needs triton."""

import triton
import triton.language as tl

__all__ = ["fused"]


@triton.jit  # type: ignore[untyped-decorator]
def fused(a, b, out, size, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, N803
    """Write ``a * b + a``; a block of ``BLOCK`` values a program."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < size
    x = tl.load(a + place, mask=inside)
    y = tl.load(b + place, mask=inside)
    tl.store(out + place, x * y + x, mask=inside)
