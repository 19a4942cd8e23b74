"""Realistic programs: their instructions, tools, arguments and results, drawn from a seed."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Arguments = dict[str, object]

CITIES = ("Lisbon", "Oslo", "Graz", "Porto", "Lyon", "Turin", "Ghent", "Malmö", "Bern", "Cork")
NAMES = ("A. Silva", "J. Berg", "M. Huber", "L. Dupont", "K. Novak", "R. Costa", "S. Lind")


@dataclass(frozen=True, slots=True)
class ToolKind:
    """A tool of a program. `empty` is its answer if it finds nothing."""

    name: str
    properties: Mapping[str, object]
    arguments: Callable[[random.Random], Arguments]
    result: Callable[[random.Random, Arguments], str]
    empty: str
    median_ms: int

    def definition(self) -> dict[str, object]:
        """The form in which a request offers it."""
        schema = {
            "type": "object",
            "properties": dict(self.properties),
            "required": sorted(self.properties),
            "additionalProperties": False,
        }
        function = {"name": self.name, "description": f"{self.name.replace('_', ' ')}."}
        return {"type": "function", "function": {**function, "parameters": schema}}


@dataclass(frozen=True, slots=True)
class App:
    """A program: one agent with tools, or several that an orchestrator calls."""

    name: str
    instructions: str
    model: str
    other_model: str
    """An argument that it would not accept."""
    questions: tuple[str, ...]
    answers: tuple[str, ...]
    tools: tuple[ToolKind, ...]
    agents: tuple[str, ...]


TEXT = {"type": "string"}
WHOLE = {"type": "integer"}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _flights(draw: random.Random, asked: Arguments) -> str:
    flights = [
        {
            "flight": f"{draw.choice(('TP', 'SK', 'OS', 'LX'))}{draw.randrange(100, 999)}",
            "departs": f"{draw.randrange(5, 22):02}:{draw.randrange(0, 60, 5):02}",
            "seats": draw.randrange(1, 60),
            "price": draw.randrange(60, 420),
        }
        for _ in range(draw.randrange(2, 6))
    ]
    return _json({"flights": flights, "currency": "EUR", "date": asked.get("date", "")})


def _hotels(draw: random.Random, _asked: Arguments) -> str:
    hotels = [
        {"hotel": f"Hotel {draw.choice(NAMES)[3:]}", "stars": draw.randrange(2, 6),
         "price": draw.randrange(50, 300), "free_rooms": draw.randrange(1, 9)}
        for _ in range(draw.randrange(2, 5))
    ]  # fmt: skip
    return _json({"hotels": hotels})


def _weather(draw: random.Random, asked: Arguments) -> str:
    return _json(
        {
            "city": asked.get("city", ""),
            "celsius": draw.randrange(-5, 33),
            "rain": draw.random() < 0.4,
        }
    )


def _date(draw: random.Random) -> str:
    return f"2026-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}"


TRAVEL = App(
    name="travel_assistant",
    instructions=(
        "You are the travel assistant of a small agency. Help customers to find flights and hotels."
        " Look up real offers with the tools before you name any. Name prices in euros. Tell the"
        " customer which flights have few seats left. Treat names and dates as they were written."
        " Confirm the dates and the number of passengers before you hold a seat. Answer in English."
        " When nothing fits, propose the nearest dates. Explain fees that are not in the price."
    ),
    model="gpt-4o-mini",
    other_model="gpt-4.1",
    questions=(
        "Find me a flight from Lisbon to Oslo next Friday and a hotel near the station.",
        "We are four people and want to be in Graz for the weekend. What does it cost?",
        "Is there a direct flight from Porto to Lyon on the 14th?",
    ),
    answers=(
        "There are three direct flights; the one at 09:25 has most seats left and costs 142 EUR.",
        "I found two hotels with free rooms near the station; both can be cancelled at no cost.",
    ),
    tools=(
        ToolKind(
            "search_flights",
            {"origin": TEXT, "destination": TEXT, "date": TEXT},
            lambda draw: {"origin": draw.choice(CITIES), "destination": draw.choice(CITIES),
                          "date": _date(draw)},
            _flights, '{"flights": [], "currency": "EUR"}', 700,
        ),
        ToolKind(
            "search_hotels",
            {"city": TEXT, "nights": WHOLE},
            lambda draw: {"city": draw.choice(CITIES), "nights": draw.randrange(1, 9)},
            _hotels, '{"hotels": []}', 450,
        ),
        ToolKind(
            "get_weather",
            {"city": TEXT, "day": TEXT},
            lambda draw: {"city": draw.choice(CITIES), "day": _date(draw)},
            _weather, "{}", 180,
        ),
    ),
    agents=("flight_agent", "hotel_agent", "weather_agent"),
)  # fmt: skip


_STATES = ("paid", "sent", "open")


def _order(draw: random.Random, asked: Arguments) -> str:
    order = {
        "order_id": asked.get("order_id", "O-10000"), "state": draw.choice(_STATES),
        "customer": draw.choice(NAMES), "total": draw.randrange(10, 900), "error": None,
        "items": [{"sku": f"S{draw.randrange(100, 999)}", "count": draw.randrange(1, 4)}],
    }  # fmt: skip
    return _json(order)


def _articles(draw: random.Random, _asked: Arguments) -> str:
    articles = [
        {"title": title, "text": text}
        for title, text in draw.sample(_ARTICLES, draw.randrange(1, 4))
    ]
    return _json({"articles": articles, "total": len(articles)})


_ARTICLES = (
    ("Returns", "Goods can be returned within 30 days. If the label is missing, print a new one."),
    ("Error codes", "Error 51 means that the card was declined; the customer's bank can tell why."),
    ("Delivery", "Parcels that could not be delivered wait at the shop for seven days."),
    ("Invoices", "An invoice is sent with every parcel. A copy can be had in the account."),
)


def _ticket(draw: random.Random, _asked: Arguments) -> str:
    return _json({"ok": True, "ticket": f"T-{draw.randrange(1000, 9999)}"})


SUPPORT = App(
    name="support_agent",
    instructions=(
        "You are the support agent of an online shop. Look up the order before you answer questions"
        " about it. Cite the article of the knowledge base that a rule is from. Refunds above 200"
        " EUR need a ticket for a colleague. Be friendly and brief. Ask for the order number when"
        " the customer did not give one. Tell the customer what happens next, and by when. Write"
        " down what was agreed in the ticket. Give tracking numbers only to the buyer."
    ),
    model="claude-sonnet-4-5",
    other_model="claude-3-haiku",
    questions=(
        "My parcel O-48213 says delivered, but I have nothing. What now?",
        "I want to send the shoes back that I ordered in May.",
        "Why was my card charged twice for order O-91120?",
    ),
    answers=(
        "I have opened a ticket; a colleague calls the carrier today and writes to you tomorrow.",
        "You can send them back within 30 days. I have put a label in your account.",
    ),
    tools=(
        ToolKind(
            "get_order", {"order_id": TEXT},
            lambda draw: {"order_id": f"O-{draw.randrange(10_000, 99_999)}"},
            _order, "null", 220,
        ),
        ToolKind(
            "search_articles", {"query": TEXT, "limit": WHOLE},
            lambda draw: {"query": draw.choice(("refund twice", "lost parcel", "returns of shoes",
                                                "invoice copy", "card declined")),
                          "limit": draw.randrange(2, 8)},
            _articles, '{"articles": [], "total": 0}', 350,
        ),
        ToolKind(
            "create_ticket", {"subject": TEXT, "priority": TEXT},
            lambda draw: {"subject": f"{draw.choice(NAMES)}: {draw.choice(('lost', 'refund'))}"
                          f" {draw.randrange(10_000)}", "priority": draw.choice(("low", "high"))},
            _ticket, '{"ok": true, "ticket": null}', 300,
        ),
    ),
    agents=("order_agent", "knowledge_agent", "ticket_agent"),
)  # fmt: skip


def _file(draw: random.Random, _asked: Arguments) -> str:
    lines = [
        "import logging", "", "logger = logging.getLogger(__name__)", "",
        f"def load_{draw.choice(('orders', 'users', 'rates'))}(path):",
        "    try:", "        return parse(path)", "    except ValueError as error:",
        '        logger.error("failed to parse %s", path)',
        "        raise LoadError(path) from error",
    ]  # fmt: skip
    return "\n".join(lines[: draw.randrange(5, 11)])


def _matches(draw: random.Random, asked: Arguments) -> str:
    found = [
        f"src/app/{draw.choice(('load', 'rates', 'main'))}.py:{draw.randrange(1, 300)}:"
        f" {asked.get('pattern', '')}"
        for _ in range(draw.randrange(1, 6))
    ]
    return "\n".join(found)


def _tests(draw: random.Random, _asked: Arguments) -> str:
    return f"{draw.randrange(10, 300)} passed, 0 failed, 0 errors in {draw.uniform(1, 9):.2f}s"


CODING = App(
    name="coding_agent",
    instructions=(
        "You are a careful programmer. Read a file before you change it. Run the tests after every"
        " change. Keep changes small. Explain what you did in two sentences. Follow the style of"
        " the file. Name new functions as the project names its own. Work only inside the"
        " repository. When tests do not pass, read their output before you try again."
    ),
    model="gpt-4.1",
    other_model="gpt-4.1-nano",
    questions=(
        "Why does load_rates lose the last line of the file? Please mend it.",
        "Rename LoadError to ReadError everywhere.",
        "Add a test for the empty file.",
    ),
    answers=(
        "The loop stopped one line early; all 214 tests pass now without errors.",
        "I renamed the class in three files. No tests had to change.",
    ),
    tools=(
        ToolKind(
            "read_file", {"path": TEXT},
            lambda draw: {"path": f"src/app/m{draw.randrange(10_000)}.py"},
            _file, "", 40,
        ),
        ToolKind(
            "search_code", {"pattern": TEXT, "path": TEXT},
            lambda draw: {"pattern": f"load_{draw.randrange(10_000)}", "path": "src"},
            _matches, "", 90,
        ),
        ToolKind(
            "run_tests", {"selection": TEXT},
            lambda draw: {"selection": f"tests/test_{draw.randrange(10_000)}.py"},
            _tests, "no tests ran in 0.02s", 2_500,
        ),
    ),
    agents=("reader", "editor", "tester"),
)  # fmt: skip


def _rows(draw: random.Random, _asked: Arguments) -> str:
    rows = [
        {"month": f"2026-{month:02}", "revenue": draw.randrange(10_000, 90_000), "note": None}
        for month in range(1, draw.randrange(4, 9))
    ]
    return _json({"rows": rows, "row_count": len(rows)})


def _tables(draw: random.Random, _asked: Arguments) -> str:
    tables = draw.sample(("orders", "customers", "refunds", "visits", "failed_payments"), 3)
    return _json({"tables": tables})


ANALYTICS = App(
    name="analytics_bot",
    instructions=(
        "You answer questions about the figures of the company. Look at the schema before you write"
        " a query. Use at most 100 words. Write queries that read and change nothing. Say which"
        " table a figure is from and which period it covers. Round money to thousands. Draw a chart"
        " when there are more than three values. Say so when the data does not answer the question."
    ),
    model="gemini-2.5-flash",
    other_model="gemini-2.5-pro",
    questions=(
        "How did revenue develop this year?",
        "Which customers had refunds above 1,000 last quarter?",
        "How many visits turn into orders?",
    ),
    answers=(
        "Revenue rose from 41,000 to 68,000 between January and June (table orders).",
        "Nine customers; the list is attached. There were no failures of payment among them.",
    ),
    tools=(
        ToolKind(
            "run_query", {"sql": TEXT},
            lambda draw: {"sql": "SELECT month, sum(total) AS revenue FROM orders WHERE shop ="
                          f" {draw.randrange(10_000)} GROUP BY month"},
            _rows, '{"rows": [], "row_count": 0}', 900,
        ),
        ToolKind(
            "describe_tables", {"schema": TEXT, "prefix": TEXT},
            lambda draw: {"schema": f"shop_{draw.randrange(10_000)}", "prefix": ""},
            _tables, '{"tables": []}', 120,
        ),
        ToolKind(
            "draw_chart", {"title": TEXT, "kind": TEXT},
            lambda draw: {"title": f"Revenue {draw.randrange(10_000)}", "kind": "line"},
            lambda draw, _: _json({"ok": True, "image": f"chart-{draw.randrange(10**6)}.png"}),
            '{"ok": true, "image": null}', 400,
        ),
    ),
    agents=("query_agent", "schema_agent", "chart_agent"),
)  # fmt: skip

TUNED_APPS = {app.name: app for app in (TRAVEL, SUPPORT, CODING, ANALYTICS)}
