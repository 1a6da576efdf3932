"""Records behave as frozen dataclasses with the same fields."""

from __future__ import annotations

import copy
import inspect
import pickle
import weakref
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, astuple, dataclass, field, fields, is_dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, get_type_hints

import pytest

from cranfield import record as module
from cranfield.record import record

Decorator = Callable[..., Any]
REAL: Decorator = partial(dataclass, frozen=True)


def plain(decorate: Decorator) -> Any:
    @decorate
    class Plain:
        """Fields of all kinds."""

        KIND: ClassVar[str] = "plain"
        first: int
        second: str = "two"
        third: list[int] = field(default_factory=list, hash=False)
        hidden: float = field(default=0.5, repr=False, compare=False)
        made: list[int] = field(default_factory=list, init=False, compare=False)
        option: bool = field(default=False, kw_only=True)
        needed: int = field(kw_only=True, default=7)

    return Plain


def keywords(decorate: Decorator) -> Any:
    @decorate(kw_only=True)
    class Keywords:
        """Keywords only; one of them has no default."""

        later: int = 1
        sooner: int

    return Keywords


def required(decorate: Decorator) -> Any:
    @decorate
    class Required:
        """A positional and a keyword argument without default."""

        a: int
        b: int = 2
        c: int = field(kw_only=True)

    return Required


def empty(decorate: Decorator) -> Any:
    @decorate
    class Empty:
        """No field."""

    return Empty


def single(decorate: Decorator) -> Any:
    @decorate
    class Single:
        """One field."""

        value: Any

    return Single


def checked(decorate: Decorator) -> Any:
    @decorate
    class Checked:
        """A check and a changed value after construction."""

        low: int
        high: int = 3

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError("low is above high")
            object.__setattr__(self, "high", self.high + 1)

    return Checked


def inherited(decorate: Decorator) -> Any:
    @decorate
    class Inherited(plain(decorate)):
        """A changed default, and one more field."""

        second: str = "zwei"
        fourth: int = 4

    return Inherited


def own_methods(decorate: Decorator) -> Any:
    @decorate
    class Own:
        """Methods that are not replaced."""

        a: int

        def __init__(self, text: str) -> None:
            object.__setattr__(self, "a", int(text))

        def __repr__(self) -> str:
            return f"<{self.a}>"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and self.a % 10 == other.a % 10

    return Own


def own_hash(decorate: Decorator) -> Any:
    @decorate
    class OwnHash:
        """A hash that is not replaced."""

        a: int

        def __hash__(self) -> int:
            return 5

    return OwnHash


def identity(decorate: Decorator) -> Any:
    @decorate(eq=False, repr=False)
    class Identity:
        """Neither equality nor repr."""

        a: int

    return Identity


def mutable(decorate: Decorator) -> Any:
    @decorate(frozen=False)
    class Mutable:
        """Fields that can be changed."""

        a: int
        b: int = 2

    return Mutable


CLASSES = (plain, keywords, required, empty, single, checked, inherited, own_methods, own_hash, identity, mutable)
CALLS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((), {}),
    ((1,), {}),
    ((1, 2), {}),
    ((1, "b", [3], 0.1), {}),
    ((1, "b", [3], 0.1, True), {}),
    ((1, 2, 3, 4, 5, 6, 7, 8, 9), {}),
    (("12",), {}),
    ((), {"first": 1}),
    ((1,), {"first": 1}),
    ((1,), {"option": True, "needed": 2, "second": "x"}),
    ((1,), {"made": [1]}),
    ((1,), {"third": [4]}),
    ((), {"second": "x", "first": 2}),
    ((), {"second": "x", "frist": 2}),
    ((1,), {"needed": 1, "other": 2}),
    ((), {"sooner": 1}),
    ((), {"sooner": 1, "later": 2}),
    ((), {"later": 1}),
    ((1, 2), {"c": 3}),
    ((1,), {"c": 3}),
    ((), {"c": 3}),
    ((), {"a": 1, "c": 3}),
    ((1,), {"a": 2, "b": 3, "c": 4}),
    ((), {"a": 1}),
    ((), {"value": 2.5}),
    ((5,), {"high": 2}),
    ((2,), {"high": 8}),
    ((1,), {"fourth": 3}),
    ((1,), {"self": 3}),
)


@pytest.fixture(params=[500, 0], ids=["few", "many"], autouse=True)
def objects(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The methods of a class of few objects, and those that it has later."""
    monkeypatch.setattr(module, "MANY", request.param)


def outcome(function: Callable[[], Any]) -> Any:
    """What a call returns, or its error."""
    try:
        return function()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("make", CLASSES)
@pytest.mark.parametrize(("values", "named"), CALLS)
def test_objects_are_those_of_a_dataclass(make: Any, values: tuple[Any, ...], named: dict[str, Any]) -> None:
    results = []
    for cls in (make(REAL), make(record)):
        result = outcome(partial(cls, *values, **named))
        if isinstance(result, cls):
            twin = cls(*values, **named)
            compared = [(result == other, result != other) for other in (twin, result, object(), None)]
            shown = repr(result) if "object at" not in repr(result) else "object"
            hashed = outcome(partial(hash, result)) == outcome(partial(hash, twin))
            result = (list(vars(result).items()), shown, compared, hashed, astuple(result), asdict(result))
        results.append(repr(result))
    assert results[0] == results[1]


@pytest.mark.parametrize("make", CLASSES)
def test_classes_are_those_of_a_dataclass(make: Any) -> None:
    real, ours = make(REAL), make(record)
    assert str(inspect.signature(ours)) == str(inspect.signature(real))
    assert is_dataclass(ours)
    assert [(f.name, f.type) for f in fields(ours)] == [(f.name, f.type) for f in fields(real)]
    assert ours.__match_args__ == real.__match_args__
    assert (ours.__hash__ is None) == (real.__hash__ is None)
    assert (ours.__hash__ is object.__hash__) == (real.__hash__ is object.__hash__)
    assert ours.__doc__ == real.__doc__


def test_errors_name_the_class_and_the_argument() -> None:
    with pytest.raises(TypeError, match=r"Plain.__init__\(\) missing 1 required positional argument: 'first'"):
        plain(record)()
    with pytest.raises(TypeError, match="unexpected keyword argument 'frist'"):
        plain(record)(frist=1)


def test_frozen() -> None:
    for cls in (plain(REAL), plain(record)):
        item = cls(1)
        for change in (
            lambda item=item: setattr(item, "first", 2),
            lambda item=item: setattr(item, "new", 2),
            lambda item=item: delattr(item, "first"),
        ):
            with pytest.raises(FrozenInstanceError, match=r"cannot (assign to|delete) field '(first|new)'"):
                change()
        assert item.first == 1


def test_subclasses_that_are_no_records_have_attributes_of_their_own() -> None:
    for base in (plain(REAL), plain(record)):
        item = type("Sub", (base,), {})(1)
        item.new = 2
        assert item.new == 2
        del item.new
        with pytest.raises(FrozenInstanceError):
            item.first = 2


def test_subclasses_that_are_dataclasses() -> None:
    for base in (plain(REAL), plain(record)):
        frozen = REAL(type("Frozen", (base,), {"__annotations__": {"own": int}, "own": 0}))
        assert (frozen(1, own=3).own, frozen(1)) == (3, frozen(1))
        with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
            dataclass(type("Mutable", (base,), {}))
        with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
            record(frozen=False)(type("Mutable", (base,), {}))
        with pytest.raises(TypeError, match="cannot inherit frozen dataclass from a non-frozen one"):
            REAL(type("Frozen", (mutable(record),), {}))


def test_mutable() -> None:
    item = mutable(record)(1)
    item.a = 5
    assert (item.a, item.b) == (5, 2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(item)


def test_replace() -> None:
    for cls in (plain(REAL), plain(record)):
        item = replace(cls(1, option=True), second="changed")
        assert (item.first, item.second, item.option) == (1, "changed", True)
        with pytest.raises((TypeError, ValueError), match="init=False"):
            replace(item, made=[1])
        with pytest.raises(TypeError, match="unexpected keyword argument 'missing'"):
            replace(item, missing=1)


def test_each_object_has_its_own_made_values() -> None:
    cls = plain(record)
    one, two = cls(1), cls(1)
    assert one.third is not two.third
    assert one.made is not two.made


@record
class Stored:
    """A record that pickle can find."""

    a: int
    b: list[int] = field(default_factory=list)

    @cached_property
    def double(self) -> int:
        return 2 * self.a


def test_pickle_copy_and_weak_references() -> None:
    item = Stored(3, [1])
    assert item.double == 6
    assert pickle.loads(pickle.dumps(item)) == copy.copy(item) == copy.deepcopy(item) == item
    assert copy.copy(item).b is item.b is not copy.deepcopy(item).b
    assert weakref.ref(item)() is item


def test_a_record_that_contains_itself() -> None:
    item = Stored(1)
    item.b.append(item)  # type: ignore[arg-type]
    assert repr(item) == "Stored(a=1, b=[...])"


def test_signature_of_callable_objects_and_of_other_constructors() -> None:
    @record
    class Callable:
        """Called with other arguments than its class."""

        a: int

        def __call__(self, text: str) -> str:
            return text * self.a

    class Sub(Callable):
        def __init__(self, name: str) -> None:
            super().__init__(len(name))

    assert str(inspect.signature(Callable(2))) == "(text: 'str') -> 'str'"
    assert list(inspect.signature(Sub).parameters) == ["name"]
    assert Sub("abc").a == 3


def test_many_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MANY", 2)
    cls = checked(record)
    first, *others = [cls(1, high=5) for _ in range(5)]
    assert others == [first] * 4
    assert first.high == 6
    assert list(inspect.signature(cls).parameters) == ["low", "high"]
    assert get_type_hints(cls.__init__) == {"low": int, "high": int, "return": type(None)}
