"""A session that edits, from end to end: the real command line, a scripted model and person."""

import asyncio
import re
from pathlib import Path

from tests.cli.command import treadle
from tests.cli.test_approval_prompts import Terminal, asking
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call

QUESTION = "Orders of 100 and more should get 5 % off. Can you do that?"

CART = '''"""The shopping cart."""

from shop.money import rounded


class Cart:
    """What a customer wants to buy."""

    def __init__(self) -> None:
        self.prices: list[float] = []

    def add(self, price: float) -> None:
        self.prices.append(price)

    def total(self) -> float:
        """The sum of all prices."""
        return rounded(sum(self.prices))

    def is_empty(self) -> bool:
        return not self.prices
'''
MONEY = '''"""Amounts of money."""


def rounded(amount: float) -> float:
    """To the cent."""
    return round(amount, 2)
'''
TESTS = """from shop.cart import Cart


def cart(*prices: float) -> Cart:
    made = Cart()
    for price in prices:
        made.add(price)
    return made


def test_small_orders_are_not_reduced() -> None:
    assert cart(40, 9.99).total() == 49.99


def test_orders_of_a_hundred_are_reduced() -> None:
    assert cart(60, 40).total() == 95
"""
FIRST = """def total(self) -> float:
    \"\"\"The sum of all prices.\"\"\"
    amount = sum(self.prices)
    return round(amount * 0.95, 2) if amount > 100 else round(amount, 2)
"""
SECOND = '''*** Begin Patch
*** Update File: shop/cart.py
@@ def total(self) -> float:
-        """The sum of all prices."""
-        return rounded(sum(self.prices))
+        """The sum of all prices, less 5 % from 100 on."""
+        amount = sum(self.prices)
+        return rounded(amount * 0.95 if amount > 100 else amount)
*** Update File: shop/money.py
@@ def rounded(amount: float) -> float:
-    """To the cent."""
+    """To the cent, by the usual rule."""
*** End Patch
'''


def _call(number: int, name: str, **arguments: object) -> Answer:
    return Answer("", (Call(name, arguments, id=f"call_{number}"),))


def _replace(old: str, new: str) -> dict[str, object]:
    return {"file": "shop/cart.py", "replace": {"old": old, "new": new}}


REPLIES = [
    _call(1, "request_code_context", token_budget=2_000, hint="total of a cart"),
    _call(
        2,
        "apply_code_edit",
        edits=[{"file": "shop/cart.py", "item": {"canonical_path": "Cart.total", "code": FIRST}}],
    ),
    _call(3, "apply_patch", diff=SECOND),
    _call(4, "run_check", check="pytest"),
    _call(5, "apply_code_edit", edits=[_replace("if amount > 100", "if amount >= 100")]),
    _call(6, "run_check", check="pytest"),
    Answer("Orders of 100 and more are 5 % off now, and the tests pass."),
]


async def play(folder: Path) -> tuple[str, list[str], dict[str, list[str]]]:
    """What the terminal showed, the tool messages the model got, and the lines of `shop/` at last.

    `folder` is an empty one to work in.
    """
    repo = _repository(folder)
    async with (
        FakeProvider(REPLIES) as provider,
        asking(provider, repo, "ask", QUESTION) as (terminal, process),
    ):
        await _person(terminal)
        await terminal.until("trace ")
        assert await asyncio.wait_for(process.wait(), 60) == 0
    home = folder / "home"
    commands = [("list",), ("undo", "LAST"), ("list",)]
    shown = [f'$ treadle ask "{QUESTION}"', terminal.shown]
    for words in commands:
        ran = await asyncio.to_thread(treadle, "edits", *words, home=home, repo=repo)
        shown += ["", f"$ treadle edits {' '.join(words)}", ran.out + ran.err]
    results = [
        str(message["content"])
        for message in provider.requests[-1].messages
        if message["role"] == "tool"
    ]
    files = {
        path.name: path.read_text().splitlines() for path in sorted((repo / "shop").glob("*.py"))
    }
    return _settled("\n".join(shown), folder), results, files


async def _person(terminal: Terminal) -> None:
    await _answer(terminal, "n: no", "n")
    await _answer(terminal, "Why not?", "round with the helper that is there")
    await _answer(terminal, "n: no", "h")
    for word in ("y", "n"):
        await _answer(terminal, "y/n", word)
    await _answer(terminal, "Why not?", "leave money.py alone")
    await _answer(terminal, "n: no", "s")
    await _answer(terminal, "n: no", "y")


async def _answer(terminal: Terminal, prompt: str, word: str) -> None:
    seen = terminal.answered
    await terminal.until(f"{prompt}", seen)
    await terminal.until(" > ", terminal.shown.index(prompt, seen))
    terminal.answered = len(terminal.shown)
    terminal.type(f"{word}\n")


def _repository(folder: Path) -> Path:
    repo = folder / "repo"
    files = {
        "shop/__init__.py": "",
        "shop/cart.py": CART,
        "shop/money.py": MONEY,
        "tests/test_cart.py": TESTS,
        "pytest.ini": "[pytest]\npythonpath = .\n",
    }
    for name, text in files.items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return repo


def _settled(shown: str, folder: Path) -> str:
    """The transcript without what differs from run to run: times, ids, places."""
    shown = shown.replace("\r\n", "\n").replace(str(folder), "/home/me")
    lines = [line.rpartition("\x1b[K")[2].rstrip() for line in shown.split("\n")]
    text = "\n".join(lines)
    text = re.sub(r"The program is\s+\S+/pytest\.", "The program is /usr/bin/pytest.", text)
    text = re.sub(r"\d+(\.\d+)? [mµ]?s\b", "0.1 s", text)
    text = re.sub(r"\b0[0-9a-f]{17}\b", "019c0ffee0ddba1100", text)
    text = re.sub(r"\b0[0-9a-f]{7}-[0-9a-f-]{27}\b", "019c0ffe-e0dd-7ba1-8000-000000000001", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-11-28 10:00", text)
    text = re.sub(r"[\d,]+ of [\d,]+ tokens", "1,234 of 2,000 tokens", text)
    text = re.sub(r"[\d,]+ (?=tokens|in\b)", "1,234 ", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
