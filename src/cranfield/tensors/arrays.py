"""Arrays of NumPy and PyTorch behind the few operations that counting needs; JAX and CuPy by DLPack. Also their ids."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.data import Integers, Strings
from cranfield.errors import InputError, UsageError, available, reading_objects
from cranfield.io.columns import texts_of
from cranfield.io.faults import Fault, Location, fault_text, input_error, quotable

Host = npt.NDArray[Any]
OPTIONAL = ("mask", "indexes", "positions")  # arrays that may be None
CACHE = 1 << 18  # elements of a block that stays in the cache of a processor
DEVICE = 1 << 27  # elements of a block on an accelerator


class Arrays:
    """The operations on NumPy arrays; what NumPy and PyTorch call by the same name is taken from ``xp``."""

    xp: Any = np
    on_device = False
    block = CACHE
    sort_from = 48  # with more values a row, sorting the row is faster than comparing

    def nonzero(self, mask: Any) -> tuple[Any, ...]:
        return np.nonzero(mask)

    def count(self, mask: Any) -> Any:
        """The number of true elements of each row."""
        return np.add.reduce(mask.view(np.uint8), axis=1, dtype=np.int64)

    def sort_rows(self, values: Any) -> Any:
        return np.sort(values, axis=1)

    def argsort(self, values: Any) -> Any:
        """The order of the values, or of those of each row; equal values stay in input order."""
        return np.argsort(values, axis=-1, kind="stable")

    def gather(self, table: Any, columns: Any) -> Any:
        """The elements in these columns of each row."""
        return np.take_along_axis(table, columns, axis=1)

    def zeros(self, count: int, like: Any) -> Any:  # noqa: ARG002 - PyTorch needs the device
        return np.zeros(count, np.int64)

    def host(self, values: Any) -> Host:
        return np.asarray(values)

    def to_device(self, values: Host, like: Any) -> Any:  # noqa: ARG002 - PyTorch needs the device
        return values

    def is_float(self, values: Any) -> bool:
        return bool(values.dtype.kind == "f")

    def cast(self, values: Any, dtype: Any) -> Any:
        with np.errstate(over="ignore"):
            return values.astype(dtype, copy=False)

    def doubles(self, values: Any) -> Any:
        return self.cast(values, self.xp.float64)

    def lowest(self, values: Any) -> float:
        """The lowest number of their type."""
        return -np.inf if self.is_float(values) else int(self.xp.iinfo(values.dtype).min)

    def exact_in(self, numbers: Any, values: Any) -> bool:
        """Whether whole numbers are the same numbers in the type of these floats."""
        if not len(numbers) or not numbers.shape[1]:
            return True
        limit = round(2 / float(self.xp.finfo(values.dtype).eps))
        return max(abs(int(numbers.max())), abs(int(numbers.min()))) <= limit

    def singles(self, values: Any) -> Any:
        """The scores rounded to 32 bits."""
        exact = values.dtype.itemsize < 4 or (self.is_float(values) and values.dtype.itemsize == 4)
        return values if exact else self.cast(values, self.xp.float32)


class TorchArrays(Arrays):
    """The operations on PyTorch tensors."""

    def __init__(self, torch: Any, device: Any) -> None:
        self.xp, self.device = torch, device
        self.on_device = device.type != "cpu"
        self.block = DEVICE if self.on_device else CACHE
        self.sort_from = 4 if self.on_device else 48

    def nonzero(self, mask: Any) -> tuple[Any, ...]:
        return self.xp.nonzero(mask, as_tuple=True)

    def count(self, mask: Any) -> Any:
        return mask.sum(1)

    def sort_rows(self, values: Any) -> Any:
        return self.xp.sort(values, dim=1).values

    def argsort(self, values: Any) -> Any:
        return self.xp.sort(values, dim=-1, stable=True).indices

    def gather(self, table: Any, columns: Any) -> Any:
        return self.xp.gather(table, 1, columns)

    def zeros(self, count: int, like: Any) -> Any:
        return self.xp.zeros(count, dtype=self.xp.int64, device=like.device)

    def host(self, values: Any) -> Host:
        return (values.float() if values.dtype == self.xp.bfloat16 else values).cpu().numpy()

    def to_device(self, values: Host, like: Any) -> Any:
        return self.xp.from_numpy(np.ascontiguousarray(values)).to(like.device)

    def is_float(self, values: Any) -> bool:
        return bool(values.is_floating_point())

    def cast(self, values: Any, dtype: Any) -> Any:
        return (values.cpu() if self.device.type == "mps" and dtype == self.xp.float64 else values).to(dtype)


def arrays_of(**given: Any) -> tuple[Arrays, dict[str, Any]]:
    """The operations for these arrays, and the arrays as they need them; those in ``OPTIONAL`` may be None.

    Tensors decide where to count, and all of them must be on one device. NumPy arrays are counted by PyTorch if it is
    already loaded, and by NumPy otherwise.
    """
    for name, values in given.items():
        if values is None and name not in OPTIONAL:
            raise UsageError(f"{name} must be numbers, not None")
    torch = sys.modules.get("torch")
    if torch is None and any(map(_is_foreign, given.values())):
        torch = available("torch")
    if torch is None:
        return Arrays(), {name: None if x is None else host_array(name, x) for name, x in given.items()}
    tensors = {name: tensor_of(torch, name, x) for name, x in given.items() if x is not None}
    # Arrays of NumPy go where the tensors are.
    devices = {name: x.device for name, x in tensors.items() if _is_foreign(given[name])}
    first, device = next(iter(devices.items()), ("", torch.device("cpu")))
    for name, other in devices.items():
        if other != device:
            raise UsageError(f"{first} is on {device}, but {name} is on {other}", hint="move all tensors to one device")
    return TorchArrays(torch, device), {name: tensors[name].to(device) if name in tensors else None for name in given}


def _is_foreign(values: Any) -> bool:
    """Whether this is an array of another library than NumPy."""
    return hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray | np.generic)


def host_array(name: str, values: Any) -> Host:
    """Values as an array of NumPy; an error if they are not numbers."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise UsageError(f"{name} is a masked array", hint="NaN is an unjudged grade, and mask= excludes candidates")
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
    return array.view(np.uint8) if array.dtype.kind == "b" else array


def tensor_of(torch: Any, name: str, values: Any) -> Any:
    """Values as a tensor of PyTorch that can be compared; an error if they are not numbers."""
    if isinstance(values, torch.Tensor):
        tensor = values.detach()
        if tensor.is_complex() or tensor.is_sparse or tensor.is_quantized:
            raise UsageError(f"{name} must be a dense tensor of real numbers")
        if tensor.dtype == torch.bool:
            return tensor.view(torch.uint8)
        if tensor.dtype in (torch.uint16, torch.uint32, torch.uint64):  # cannot be compared
            signed = tensor.to(torch.int64)
            if tensor.dtype == torch.uint64 and bool((signed < 0).any()):
                raise UsageError(f"{name} has whole numbers above 2^63 - 1", hint="convert them to floats")
            return signed
        # Eight-bit floats cannot be compared; they are exact as 16-bit floats.
        return tensor.to(torch.float16) if tensor.is_floating_point() and tensor.element_size() == 1 else tensor
    if not isinstance(values, np.ndarray) and hasattr(values, "__dlpack__"):
        return tensor_of(torch, name, torch.from_dlpack(values))
    array = host_array(name, values)
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:
        if array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise UsageError(f"{name} has whole numbers above 2^63 - 1", hint="convert them to floats")
        array = array.astype(np.int64)
    if not array.flags.writeable or not array.flags.c_contiguous or not array.dtype.isnative:
        array = np.array(array, dtype=array.dtype.newbyteorder("="))
    return torch.from_numpy(array)


@contextmanager
def memory_errors(what: str, hint: str) -> Iterator[None]:
    """Turn a lack of memory, on the device or on the host, into one sentence."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        text = str(error).lower()
        if isinstance(error, RuntimeError) and "out of memory" not in text and "can't allocate memory" not in text:
            raise
        raise InputError([f"there is not enough memory for {what}"], hint=hint) from error


def check_shapes(shape: tuple[int, ...], runs: dict[str, Any], grades: Any, mask: Any) -> None:
    """Raise if the scores of runs, their grades and the mask have other shapes."""
    others = {name if len(runs) > 1 else "scores": values for name, values in runs.items()}
    if mask is not None:
        others["mask"] = mask
    for name, values in others.items():
        if tuple(values.shape) != shape:
            raise UsageError(f"{name} has the shape {shown(values.shape)}, expected {shown(shape)}")
    if tuple(grades.shape[: len(shape)]) != shape or len(grades.shape) > len(shape) + 1:
        raise UsageError(
            f"grades has the shape {shown(grades.shape)}, but scores has the shape {shown(shape)}",
            hint="unjudged candidates have the grade NaN",
        )


def check_no_nan(ops: Arrays, name: str, values: Any) -> None:
    """Raise if there is NaN among values that may be None."""
    if values is not None and ops.is_float(values) and bool(ops.xp.isnan(values).any()):
        raise UsageError(f"{name} has values that are NaN")


def shown(shape: Any) -> str:
    """A shape in a message."""
    return "(" + ", ".join(str(int(n)) for n in shape) + ("," if len(shape) == 1 else "") + ")"


def column_names(column: Integers) -> Strings:
    """The ids of documents that are known by their column: its number. Columns that are not asked for cost nothing."""
    numbers, index = np.unique(column, return_inverse=True)
    return Strings.of(map(str, numbers.tolist())).take(index)


def id_texts(ids: Any, what: str) -> list[str]:
    """Ids as text, in their order: of a list, an array or a tensor; ``what``: the name of the argument."""
    if isinstance(ids, str | bytes | Mapping | Set) or not hasattr(ids, "__iter__"):
        raise UsageError(f"{what} must be a list of ids, not {type(ids).__name__}")
    values = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    location = Location(what, "run", "entry")
    with reading_objects():
        texts = texts_of(values, "", location)
    try:
        "".join(texts).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        wrong = next(text for text in texts if error.object[error.start] in text)
        raise input_error([Fault(0, "id", b"", fault_text(repr(wrong)), 0)], 1, location) from error
    return texts


def named(ids: Mapping[Any, Any], what: str) -> dict[str, Any]:
    """A dict whose keys are ids, as text."""
    return dict(zip(id_texts(list(ids), what), ids.values(), strict=True))


def row_names(query_ids: Any, count: int, rows: str) -> Strings:
    """The ids of queries as text, by default numbers; they must be as many as the rows, and all different."""
    names = id_texts(range(count) if query_ids is None else query_ids, "query_ids")
    if len(names) != count:
        raise UsageError(f"query_ids has {len(names)} ids for {count} {rows}")
    if len(set(names)) != len(names):
        raise UsageError(f"query_ids has the id `{quotable(Counter(names).most_common(1)[0][0])}` twice")
    return Strings.of(names)


@dataclass(frozen=True, eq=False)
class DocumentIds:
    """Document ids as codes: ``codes`` has the shape of the scores, or one code for each column."""

    names: Strings
    codes: Integers

    @classmethod
    def of(cls, ids: Any, shape: tuple[int, ...]) -> DocumentIds:
        """Ids for columns or for elements of scores of this shape."""
        if hasattr(ids, "detach"):
            ids = ids.detach().cpu().numpy()
        array = np.asarray(ids, None if hasattr(ids, "dtype") else object)
        if array.shape not in (shape, shape[-1:]):
            raise UsageError(f"ids has the shape {shown(array.shape)}, expected {shown(shape[-1:])} or {shown(shape)}")
        if array.dtype.kind in "iu":
            values, codes = np.unique(array, return_inverse=True)
            return cls(Strings.of(map(str, values.tolist())), codes.reshape(array.shape))
        numbers: dict[str, int] = {}
        flat = id_texts(array.ravel(), "ids")
        codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in flat), np.int64, len(flat))
        return cls(Strings.of(numbers), codes.reshape(array.shape))

    @cached_property
    def positions(self) -> Integers:
        """The position of each code in descending order of the bytes of its id, as in trec_eval."""
        encoded = [name.encode("utf-8", "surrogateescape") for name in self.names]
        order = sorted(range(len(encoded)), key=encoded.__getitem__, reverse=True)
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        return position
