"""A PyTorch backend for the made-up Quoll: importing this adds ``torch.device("quoll")``.

>>> import torch, torch_quoll
>>> (torch.ones(3, device="quoll") + 1).cpu()
tensor([2., 2., 2.])

It is pure Python, on the PrivateUse1 key that PyTorch keeps for backends of other packages.
"""

from torch_quoll import device, tensor
from torch_quoll.tensor import QuollTensor, address

__all__ = ["QuollTensor", "address"]

device.register()
tensor.register()
