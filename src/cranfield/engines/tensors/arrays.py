"""Arrays of NumPy and PyTorch behind the few operations that counting needs; JAX and CuPy by DLPack."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.errors import InputError, UsageError, available

Host = npt.NDArray[Any]
CACHE = 1 << 18  # elements of a block that stays in the cache of a processor
DEVICE = 1 << 27  # elements of a block on an accelerator


class NumPyArrays:
    """The operations on NumPy arrays."""

    on_device = False
    block = CACHE
    sort_from = 48  # with more values a row, sorting the row is faster than comparing

    def asarray(self, values: Any) -> Any:
        """An array of these values."""
        return np.asarray(values)

    def nonzero(self, mask: Any) -> tuple[Any, ...]:
        return np.nonzero(mask)

    def count(self, mask: Any) -> Any:
        """The number of true elements of each row."""
        return np.add.reduce(mask.view(np.uint8), axis=1, dtype=np.int64)

    def highest(self, values: Any) -> Any:
        """The highest value of each row; NaN if there is NaN."""
        return values.max(axis=1)

    def sort_rows(self, values: Any) -> Any:
        return np.sort(values, axis=1)

    def argsort(self, values: Any, *, descending: bool = False) -> Any:
        """The order of the values; equal values stay in input order."""
        if not descending:
            return np.argsort(values, kind="stable")
        return len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]

    def where(self, condition: Any, value: Any, other: Any) -> Any:
        return np.where(condition, value, other)

    def lowest(self, scores: Any) -> Any:
        """The scores, and the value that stands for no score: no score is lower."""
        if scores.dtype.kind == "f":
            return scores, -np.inf
        return scores.astype(np.float64), -np.inf

    def is_nan(self, values: Any) -> Any:
        return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)

    def without(self, values: Any, mask: Any) -> Any:
        """The values with 0 in place of some."""
        return np.where(mask, values.dtype.type(0), values)

    def zeros(self, shape: tuple[int, ...] | int, like: Any) -> Any:  # noqa: ARG002 - PyTorch needs the device
        return np.zeros(shape, np.int64)

    def arange(self, count: int, like: Any) -> Any:  # noqa: ARG002 - PyTorch needs the device
        return np.arange(count)

    def running_max(self, values: Any) -> Any:
        return np.maximum.accumulate(values)

    def running_sum(self, values: Any) -> Any:
        return np.cumsum(values)

    def stack(self, columns: Sequence[Any]) -> Any:
        return np.stack(columns) if len(columns) else np.zeros((0, 0), np.int64)

    def host(self, values: Any) -> Host:
        return np.asarray(values)

    def to_device(self, values: Host, like: Any) -> Any:  # noqa: ARG002 - PyTorch needs the device
        return values

    def doubles(self, values: Any) -> Any:
        return values.astype(np.float64)

    def singles(self, values: Any) -> Any:
        """The scores rounded to 32 bits."""
        with np.errstate(over="ignore"):
            return values.astype(np.float32) if values.dtype.itemsize > 4 else values

    def all(self, mask: Any) -> bool:
        return bool(mask.all())


class TorchArrays:
    """The operations on PyTorch tensors."""

    def __init__(self, torch: Any, device: Any) -> None:
        self.torch, self.device = torch, device
        self.on_device = device.type != "cpu"
        self.block = DEVICE if self.on_device else CACHE
        self.sort_from = 4 if self.on_device else 48

    def asarray(self, values: Any) -> Any:
        return _tensor(self.torch, values).to(self.device)

    def nonzero(self, mask: Any) -> tuple[Any, ...]:
        return self.torch.nonzero(mask, as_tuple=True)

    def count(self, mask: Any) -> Any:
        return mask.sum(1)

    def highest(self, values: Any) -> Any:
        return values.amax(1)

    def sort_rows(self, values: Any) -> Any:
        return self.torch.sort(values, dim=1).values

    def argsort(self, values: Any, *, descending: bool = False) -> Any:
        return self.torch.sort(values, stable=True, descending=descending).indices

    def where(self, condition: Any, value: Any, other: Any) -> Any:
        return self.torch.where(condition, value, other)

    def lowest(self, scores: Any) -> Any:
        if scores.is_floating_point():
            return scores, -np.inf
        return scores.to(self.torch.float64), -np.inf

    def is_nan(self, values: Any) -> Any:
        return self.torch.isnan(values)

    def without(self, values: Any, mask: Any) -> Any:
        return values.masked_fill(mask, 0)

    def zeros(self, shape: tuple[int, ...] | int, like: Any) -> Any:
        return self.torch.zeros(shape, dtype=self.torch.int64, device=like.device)

    def arange(self, count: int, like: Any) -> Any:
        return self.torch.arange(count, device=like.device)

    def running_max(self, values: Any) -> Any:
        return self.torch.cummax(values, 0).values if len(values) else values

    def running_sum(self, values: Any) -> Any:
        return self.torch.cumsum(values, 0)

    def stack(self, columns: Sequence[Any]) -> Any:
        return self.torch.stack(list(columns))

    def host(self, values: Any) -> Host:
        if values.dtype in (self.torch.bfloat16,):
            values = values.float()
        return values.cpu().numpy()

    def to_device(self, values: Host, like: Any) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(values)).to(like.device)

    def doubles(self, values: Any) -> Any:
        return values.cpu().double() if self.device.type == "mps" else values.double()

    def singles(self, values: Any) -> Any:
        return values.float() if values.element_size() > 4 else values

    def all(self, mask: Any) -> bool:
        return bool(mask.all())


Arrays = NumPyArrays | TorchArrays


def arrays_of(**given: Any) -> tuple[Arrays, dict[str, Any]]:
    """The operations for these arrays, and the arrays as they need them; None stays None.

    Tensors decide where to count, and all of them must be on one device. NumPy arrays are counted by PyTorch if it is
    already loaded, and by NumPy otherwise.
    """
    torch = sys.modules.get("torch")
    foreign = any(not _is_host(x) and hasattr(x, "__dlpack__") for x in given.values())
    if torch is None and foreign:
        torch = available("torch")
    if torch is None:
        return NumPyArrays(), {name: None if x is None else _host_array(name, x) for name, x in given.items()}
    tensors = {name: _named_tensor(torch, name, x) for name, x in given.items() if x is not None}
    # Arrays of NumPy go where the tensors are.
    devices = {
        name: x.device
        for name, x in tensors.items()
        if hasattr(given[name], "__dlpack__") and not _is_host(given[name])
    }
    first, device = next(iter(devices.items()), ("", torch.device("cpu")))
    for name, other in devices.items():
        if other != device:
            raise UsageError(f"{first} is on {device}, but {name} is on {other}", hint="move all tensors to one device")
    return TorchArrays(torch, device), {name: tensors[name].to(device) if name in tensors else None for name in given}


def _is_host(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)


def _host_array(name: str, values: Any) -> Host:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise UsageError(f"{name} must be a table of numbers, not lists of different lengths") from error
    if array.dtype.kind == "V" or array.dtype.name in ("bfloat16",) or array.dtype.name.startswith("float8"):
        array = array.astype(np.float32)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiub":
        raise UsageError(f"{name} must be numbers, not {array.dtype.name}")
    return array


def _named_tensor(torch: Any, name: str, values: Any) -> Any:
    tensor = _tensor(torch, values, name)
    if tensor.is_complex() or tensor.is_sparse or tensor.is_quantized:
        raise UsageError(f"{name} must be a dense tensor of real numbers")
    return tensor


def _tensor(torch: Any, values: Any, name: str = "array") -> Any:
    if isinstance(values, torch.Tensor):
        tensor = values.detach()
        # Eight-bit floats cannot be compared; they are exact as 16-bit floats.
        return tensor.to(torch.float16) if tensor.is_floating_point() and tensor.element_size() == 1 else tensor
    if not isinstance(values, np.ndarray) and hasattr(values, "__dlpack__"):
        return _tensor(torch, torch.from_dlpack(values), name)
    array = _host_array(name, values)
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:
        array = array.astype(np.float64) if array.dtype.itemsize == 8 else array.astype(np.int64)
    if not array.flags.writeable or not array.flags.c_contiguous or not array.dtype.isnative:
        array = np.array(array, dtype=array.dtype.newbyteorder("="))
    return torch.from_numpy(array)


@contextmanager
def memory_errors(what: str, hint: str) -> Iterator[None]:
    """Turn a lack of memory, on the device or on the host, into one sentence."""
    try:
        yield
    except MemoryError as error:
        raise InputError([f"there is not enough memory for {what}"], hint=hint) from error
    except RuntimeError as error:
        text = str(error).lower()
        if "out of memory" not in text and "can't allocate memory" not in text:
            raise
        raise InputError([f"there is not enough memory for {what}"], hint=hint) from error
