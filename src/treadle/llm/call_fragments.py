"""Joins the fragments of streamed tool calls into complete calls.

The index of a fragment identifies its call. A new id or a new name under the same index begins
another call. An open call is a call whose arguments are not complete JSON yet. A fragment without a
name whose index is new continues the open call with the same id. If the fragment has no id either,
it continues the only open call.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

Finished = tuple[str, str, str, str | None]
"""The id, name, arguments and opaque fields of one call.

The arguments are JSON text. The opaque fields are fields of unknown meaning, as the text of a JSON
object. They are None if the call has no such fields.
"""

_KNOWN = frozenset({"index", "id", "type", "function"})
_KNOWN_OF_FUNCTION = frozenset({"name", "arguments"})


@dataclass(slots=True)
class _Slot:
    """The fragments of one call that have arrived so far."""

    index: int | None
    id: str = ""
    name: str = ""
    fragments: list[str] = field(default_factory=list)
    opaque: dict[str, object] = field(default_factory=dict)
    repeated: bool = False
    """Whether the name of the call arrived again after the arguments were complete.

    Some servers repeat the name without meaning. Otherwise the repeated name begins a second call,
    which then gets arguments.
    """

    @property
    def arguments(self) -> str:
        return "".join(self.fragments)

    @property
    def started(self) -> bool:
        return any(fragment.strip() for fragment in self.fragments)

    @property
    def complete(self) -> bool:
        """Whether the arguments are complete JSON.

        Each use of this property parses the arguments.
        """
        if not self.fragments or not self.fragments[-1].rstrip().endswith(("}", "]", '"', "null")):
            return False
        try:
            json.loads(self.arguments, strict=False)
        except (ValueError, RecursionError):
            return False
        return True


class CallSlots:
    """The calls of one reply, in the order of their first fragments.

    `known` contains the names of the offered tools. The names decide whether two texts are the
    names of two tools or two parts of one name.
    """

    def __init__(self, known: frozenset[str]) -> None:
        self._known = known
        self._slots: list[_Slot] = []

    def add(self, fragment: Mapping[str, object], *, whole: bool = False) -> bool:
        """Add one entry of the `tool_calls` of a delta or of a complete message.

        `whole` means that the entry comes from a complete message. Returns whether the entry added
        a call or arguments.
        """
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        index = _index(fragment.get("index"))
        call_id, name = _text(fragment.get("id")), _text(function.get("name"))
        arguments = _arguments(function.get("arguments"))
        slot = None if whole else self._slot(index, call_id, name, arguments)
        grows = slot is None or bool(arguments)
        if slot is None:
            slot = _Slot(index)
            self._slots.append(slot)
        slot.id = slot.id or call_id
        self._name(slot, name)
        if arguments:
            slot.fragments.append(arguments)
        _remember_unknown(slot.opaque, fragment, function)
        return grows

    def finish(self) -> list[Finished]:
        """Return all calls, including calls with incomplete arguments."""
        self._join_nameless()
        return [
            (
                slot.id,
                slot.name,
                slot.arguments,
                json.dumps(slot.opaque, ensure_ascii=False) if slot.opaque else None,
            )
            for slot in self._slots
            if slot.name or slot.started
        ]

    def _join_nameless(self) -> None:
        """Join arguments without a name to the open call whose JSON they complete.

        If they complete the JSON of several open calls or of none, and an open call already has a
        part of its arguments, they are dropped. The open calls then fail because of incomplete
        arguments, and the model repeats them. A wrong guess would be worse, since a call would run
        with the arguments of another call.
        """
        for slot in [each for each in self._slots if not each.name and each.started]:
            before = self._slots[: self._slots.index(slot)]
            waiting = [each for each in before if each.name and not each.complete]
            owners = [
                each
                for each in waiting
                if _Slot(None, fragments=[*each.fragments, *slot.fragments]).complete
            ]
            if len(owners) == 1:
                owners[0].fragments += slot.fragments
            if len(owners) == 1 or any(each.started for each in waiting):
                self._slots.remove(slot)

    def _slot(self, index: int | None, call_id: str, name: str, arguments: str) -> _Slot | None:
        """Return the call that the fragment continues, or None if it begins a new call."""
        same = [slot for slot in self._slots if index is None or slot.index == index]
        if call_id:
            owner = next((slot for slot in reversed(same) if slot.id == call_id), None)
            if owner is not None:
                return self._unless_new(owner, name, arguments)
            if (owner := self._open(call_id, name, arguments)) is not None:
                return owner
            if not same or same[-1].id:
                return None
        if not same:
            return self._open(call_id, name, arguments)
        return self._unless_new(same[-1], name, arguments)

    def _open(self, call_id: str, name: str, arguments: str) -> _Slot | None:
        """Return the open call that a fragment continues although its index differs.

        Only a fragment with arguments and without a name can continue such a call. Returns None if
        no call is open, or if several calls are possible.
        """
        if name or not arguments:
            return None
        waiting = [slot for slot in self._slots if slot.name and not slot.complete]
        if call_id:
            return next((slot for slot in reversed(waiting) if slot.id == call_id), None)
        if not waiting or waiting[-1] is not self._slots[-1]:
            return None
        return None if any(slot.started for slot in waiting[:-1]) else waiting[-1]

    def _unless_new(self, slot: _Slot, name: str, arguments: str) -> _Slot | None:
        if slot.repeated and arguments.strip():
            # Arguments follow the repeated name, so the name began a second call.
            slot.repeated = False
            self._slots.append(twin := _Slot(slot.index, name=slot.name))
            return twin
        if not name or not slot.name:
            return slot
        if slot.complete:
            if name == slot.name and not arguments.strip():
                slot.repeated = True
                return slot
            return None
        if not slot.started and self._is_other_tool(slot.name, name):
            return None
        return slot

    def _is_other_tool(self, old: str, new: str) -> bool:
        return new != old and {old, new} <= self._known and old + new not in self._known

    def _name(self, slot: _Slot, name: str) -> None:
        """Set or extend the name of the call, which may arrive late or in parts.

        Empty and repeated names are ignored.
        """
        if not name or name == slot.name or slot.started:
            slot.name = slot.name or name
        elif name.startswith(slot.name):
            slot.name = name
        else:
            slot.name += name


def _index(value: object) -> int | None:
    """Return the index of a fragment, or None.

    Some servers write the index as text or with a decimal point.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value, re.ASCII):
        return int(value)
    return value if isinstance(value, int) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: object) -> str:
    """Return the arguments as text. Some servers send a JSON object instead of text."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _remember_unknown(
    opaque: dict[str, object], fragment: Mapping[str, object], function: Mapping[str, object]
) -> None:
    """Keep unknown fields, such as thought signatures.

    They are sent back to the server unchanged.
    """
    opaque.update(_foreign(fragment, _KNOWN))
    if inner := _foreign(function, _KNOWN_OF_FUNCTION):
        kept = opaque.get("function")
        opaque["function"] = {**kept, **inner} if isinstance(kept, dict) else inner


def _foreign(source: Mapping[str, object], known_names: frozenset[str]) -> dict[str, object]:
    return {name: value for name, value in source.items() if name not in known_names and value}
