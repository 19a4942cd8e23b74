"""The repository of the showcase: a small part of Voyage."""

from pathlib import Path

_FARES = '''"""Fares: what a seat costs for each traveller, and all of them together."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

CENT = Decimal("0.01")


@dataclass(frozen=True)
class Fare:
    """A fare in euros, without tax."""

    base: Decimal
    tax_rate: Decimal
    child_discount: Decimal = Decimal("0.25")


def rounded(amount: Decimal) -> Decimal:
    """`amount` in whole cents."""
    return amount.quantize(CENT, ROUND_HALF_UP)


def adult_price(fare: Fare) -> Decimal:
    """What one adult pays."""
    return rounded(fare.base * (1 + fare.tax_rate))


def child_price(fare: Fare) -> Decimal:
    """What one child pays."""
    return rounded(fare.base * (1 - fare.child_discount) * (1 + fare.tax_rate))


def total(fare: Fare, adults: int, children: int = 0) -> Decimal:
    """What all of them pay."""
    return adults * adult_price(fare) + children * child_price(fare)
'''

_CART = '''"""The cart: what a traveller has chosen, and what it costs together."""

from dataclasses import dataclass, field
from decimal import Decimal

from voyage.fares import Fare, total


@dataclass
class Cart:
    """Fares with the number of travellers for each."""

    entries: list[tuple[Fare, int, int]] = field(default_factory=list)

    def add(self, fare: Fare, adults: int, children: int = 0) -> None:
        """Put a fare into the cart."""
        self.entries.append((fare, adults, children))

    def sum(self) -> Decimal:
        """The price of everything in the cart."""
        return sum((total(*entry) for entry in self.entries), Decimal(0))
'''

_RECEIPTS = '''"""Receipts: the lines that a traveller gets by mail."""

from voyage.cart import Cart
from voyage.fares import total


def lines(cart: Cart) -> list[str]:
    """One line for each fare, and the sum."""
    written = [f"{adults} + {children}: {total(fare, adults, children)} EUR"
               for fare, adults, children in cart.entries]
    return [*written, f"Together: {cart.sum()} EUR"]
'''

_TESTS = """from decimal import Decimal

from voyage.fares import Fare, total

WEEKEND = Fare(Decimal("99.99"), Decimal("0.07"))


def test_two_adults_pay_twice_the_price():
    assert total(WEEKEND, 2) == Decimal("213.98")
"""

_README = """# Voyage

Fares, cart and receipts of the booking service.

## Prices

All prices are euros with tax. What is shown is rounded to cents.
"""

FILES = {
    "README.md": _README,
    "src/voyage/__init__.py": "",
    "src/voyage/fares.py": _FARES,
    "src/voyage/cart.py": _CART,
    "src/voyage/receipts.py": _RECEIPTS,
    "tests/test_fares.py": _TESTS,
}

ROUND_ONCE = [
    {
        "file": "src/voyage/fares.py",
        "replace": {
            "old": '    """What one adult pays."""\n'
            "    return rounded(fare.base * (1 + fare.tax_rate))",
            "new": '    """What one adult pays, not rounded."""\n'
            "    return fare.base * (1 + fare.tax_rate)",
        },
    },
    {
        "file": "src/voyage/fares.py",
        "replace": {
            "old": '    """What one child pays."""\n'
            "    return rounded(fare.base * (1 - fare.child_discount) * (1 + fare.tax_rate))",
            "new": '    """What one child pays, not rounded."""\n'
            "    return adult_price(fare) * (1 - fare.child_discount)",
        },
    },
    {
        "file": "src/voyage/fares.py",
        "replace": {
            "old": '    """What all of them pay."""\n'
            "    return adults * adult_price(fare) + children * child_price(fare)",
            "new": '    """What all of them pay, rounded once."""\n'
            "    return rounded(adults * adult_price(fare) + children * child_price(fare))",
        },
    },
    {
        "file": "src/voyage/cart.py",
        "replace": {
            "old": '        """The price of everything in the cart."""',
            "new": '        """The price of everything in the cart, as receipts say it."""',
        },
    },
    {
        "file": "tests/test_fares.py",
        "replace": {
            "old": "def test_two_adults_pay_twice_the_price():\n"
            '    assert total(WEEKEND, 2) == Decimal("213.98")\n',
            "new": "def test_two_adults_pay_twice_the_price():\n"
            '    assert total(WEEKEND, 2) == Decimal("213.98")\n\n\n'
            "def test_a_group_is_rounded_once():\n"
            '    assert total(WEEKEND, 9) == Decimal("962.90")\n',
        },
    },
]
"""The edits that the assistant proposes: five hunks in three files."""

RENAME = [
    {
        "file": "README.md",
        "replace": {
            "old": "What is shown is rounded to cents.",
            "new": "They are rounded to cents once, when all travellers are added up.",
        },
    }
]

LINE_OF_A_RECEIPT = [
    {
        "file": "src/voyage/receipts.py",
        "replace": {
            "old": 'f"{adults} + {children}: {total(fare, adults, children)} EUR"',
            "new": 'f"{adults} adults, {children} children: {total(fare, adults, children)} EUR"',
        },
    }
]


def write(folder: Path) -> None:
    """Put the files into an empty folder."""
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
