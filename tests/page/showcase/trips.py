"""The work of the travel assistant of an invented company, Voyage, in the last two days."""

from dataclasses import dataclass

from tests.page.showcase.recording import Recorded, Run, Tool, said

MINUTE, HOUR = 60.0, 3600.0

PLANNER = said(
    "system",
    "You are Voyage, a travel assistant. Search before you answer, name prices in euros with taxes "
    "included, and never book anything before the traveller has said yes. If a tool fails, say so "
    "and offer what is still possible.",
)
LISBON = "A long weekend in Lisbon in March for two, from Hamburg, under €900 with hotel?"
KYOTO = "Compare the saved hotels in Kyoto for 2 to 9 April: which is the best value?"


@dataclass(frozen=True, slots=True)
class Trips:
    """The runs, and the ones that pictures show."""

    runs: list[Run]
    lisbon_thread: str
    booking: Recorded
    """The root of a run whose tool timed out and then succeeded."""
    timeout: Recorded
    slow_answer: Recorded
    search_call: Recorded
    """A model call with several tool calls."""
    refund: Recorded
    """A tool that reports a failure in words."""
    comparison: Recorded
    """The root of a run of some 300 spans."""
    policy: Recorded
    """A retrieval."""
    waiting: Recorded


def trips(now: float) -> Trips:
    """All of it, as if it were `now`, in Unix seconds."""
    search, search_call = _lisbon_search(now - 26 * MINUTE)
    choice = _lisbon_choice(now - 17 * MINUTE, search)
    booking, timeout, slow = _lisbon_booking(now - 6 * MINUTE, choice)
    refund_run, refund = _refund(now - 48 * MINUTE)
    policy_run, policy = _night_train(now - 2.6 * HOUR)
    comparison = _comparison(now - 3 * MINUTE - 40)
    waiting_run, waiting = _aurora(now - 21)
    runs = [
        search, choice, booking, refund_run, policy_run, comparison, waiting_run,
        _japan(now - 5.2 * HOUR),
        _charged_twice(now - 71 * MINUTE),
        *_short(now),
    ]  # fmt: skip
    return Trips(
        runs=runs,
        lisbon_thread=booking.thread,
        booking=_root(booking),
        timeout=timeout,
        slow_answer=slow,
        search_call=search_call,
        refund=refund,
        comparison=_root(comparison),
        policy=policy,
        waiting=waiting,
    )


def _root(run: Run) -> Recorded:
    return Recorded(run.trace_id, run.spans[0]["spanId"])


def _lisbon_search(at: float) -> tuple[Run, Recorded]:
    run = Run("lisbon-search", "trip-lisbon", at, ["search"], [PLANNER, said("user", LISBON)])
    flights = {
        "flights": [
            {"id": "TP 567", "from": "HAM", "to": "LIS", "departs": "2027-03-11T11:50",
             "arrives": "2027-03-11T14:20", "stops": 0, "price_eur": 148.2},
            {"id": "LH 1162", "from": "HAM", "to": "LIS", "departs": "2027-03-11T06:30",
             "arrives": "2027-03-11T11:05", "stops": 1, "price_eur": 121.9},
        ],
        "more": 14,
    }  # fmt: skip
    hotels = {
        "hotels": [
            {"name": "Casa do Largo", "district": "Alfama", "rating": 8.9, "night_eur": 96},
            {"name": "Hotel Estrela Azul", "district": "Baixa", "rating": 8.4, "night_eur": 88},
            {"name": "Miradouro Rooms", "district": "Graça", "rating": 9.1, "night_eur": 109},
        ]
    }
    with run.agent("trip planner", LISBON):
        call, *_ = run.asks(
            "gpt-5.4",
            Tool("search_flights", {"from": "HAM", "to": "LIS", "out": "2027-03-11",
                                    "back": "2027-03-15", "adults": 2}, flights, 1.84),
            Tool("search_hotels", {"city": "Lisbon", "check_in": "2027-03-11", "nights": 4,
                                   "guests": 2, "max_night_eur": 120}, hotels, 1.12),
            Tool("weather_normals", {"city": "Lisbon", "month": 3},
                 {"high_c": 18, "low_c": 11, "rain_days": 8}, 0.21),
            took=2.31,
            tokens=(1_874, 146),
        )  # fmt: skip
        with run.agent("ranker", "Rank three hotels by location, rating and price."):
            run.says(
                "claude-haiku-4-5",
                '{"ranking": ["Miradouro Rooms", "Casa do Largo", "Hotel Estrela Azul"], '
                '"because": "rated best, 12 minutes from the castle, within the budget"}',
                0.94,
                (1_122, 61),
            )
        run.says(
            "gpt-5.4",
            "Yes, it fits. The direct flight with TAP (11 to 15 March) is €148.20 a person, and "
            "Miradouro Rooms in Graça, rated 9.1, is €109 a night.\n\n"
            "| | price |\n|---|--:|\n| Flights with TP 567, return | €296.40 |\n"
            "| 4 nights, Miradouro Rooms | €436.00 |\n| **Together** | **€732.40** |\n\n"
            "March has about 18 °C and 8 days with rain. Shall I hold both for you?",
            3.62,
            (2_961, 214),
            cached=1_664,
        )
    return run, call


def _lisbon_choice(at: float, before: Run) -> Run:
    question = "Is there a hotel in Alfama instead? We would rather walk everywhere."
    history = [*before.messages, said("user", question)]
    run = Run("lisbon-choice", "trip-lisbon", at, ["search"], history)
    with run.agent("trip planner", question):
        run.asks(
            "gpt-5.4",
            Tool("hotel_details", {"hotel": "Casa do Largo"},
                 {"name": "Casa do Largo", "night_eur": 96, "breakfast": True, "lift": False,
                  "free_cancellation_until": "2027-03-04"}, 0.63),
            Tool("walking_time", {"from": "Casa do Largo", "to": ["Praça do Comércio", "Sé"]},
                 {"minutes": [11, 4]}, 0.34),
            took=1.48,
            tokens=(3_310, 78),
            cached=2_944,
        )  # fmt: skip
        run.says(
            "gpt-5.4",
            "Casa do Largo is in the middle of Alfama: 4 minutes to the cathedral, 11 to the "
            "river. It is €96 a night with breakfast, free to cancel until 4 March, but there is "
            "no lift. With the flights that makes €680.40. Shall I book it?",
            2.05,
            (3_604, 96),
            cached=3_200,
        )
    return run


def _lisbon_booking(at: float, before: Run) -> tuple[Run, Recorded, Recorded]:
    question = "Yes, please book both. The names are as in my profile."
    history = [*before.messages, said("user", question)]
    run = Run("lisbon-booking", "trip-lisbon", at, ["checkout"], history)
    room = {"hotel": "Casa do Largo", "check_in": "2027-03-11", "nights": 4, "guests": 2}
    with run.agent("trip planner", question):
        with run.step("load traveller profile", **{"db.system": "postgresql"}):
            run.at += 0.038
        run.asks(
            "gpt-5.4",
            Tool("hold_flight", {"flight": "TP 567", "adults": 2},
                 {"hold": "H-20931", "expires": "2026-11-28T22:00Z", "total_eur": 296.4}, 1.21),
            Tool("book_hotel", room, None, 8.0,
                 "TimeoutError: no answer from reservations.casadolargo.example after 8000 ms"),
            took=1.87,
            tokens=(3_987, 121),
            cached=3_584,
        )  # fmt: skip
        timeout = Recorded(run.trace_id, run.spans[-1]["spanId"])
        run.asks(
            "gpt-5.4",
            Tool("book_hotel", room, {"booking": "CL-77120", "state": "confirmed"}, 2.46),
            took=1.32,
            tokens=(4_188, 64),
            cached=3_968,
        )
        with run.agent("payments", "Charge €680.40 for hold H-20931 and booking CL-77120."):
            run.asks(
                "gpt-5.4-mini",
                Tool("charge_card", {"amount_eur": 680.4, "order": "V-55810"},
                     {"state": "captured", "receipt": "R-88412"}, 1.74),
                took=0.71,
                tokens=(912, 38),
            )  # fmt: skip
            run.says("gpt-5.4-mini", "€680.40 were charged, receipt R-88412.", 0.58, (1_004, 17))
        slow = run.says(
            "gpt-5.4",
            "Done. You fly on 11 March at 11:50 with TP 567 and stay four nights at Casa do Largo "
            "(booking CL-77120). €680.40 were charged; the receipt R-88412 is in your inbox. The "
            "hotel's system did not answer at first, so I tried again: there is one booking, not "
            "two.",
            6.94,
            (4_420, 143),
            cached=4_096,
        )
    return run, timeout, slow


def _refund(at: float) -> tuple[Run, Recorded]:
    question = "Please cancel booking KX4T2P and refund it to my card."
    run = Run("refund-kx4t2p", "support-4471", at, ["checkout"], [PLANNER, said("user", question)])
    with run.agent("support", question):
        run.asks(
            "claude-sonnet-5",
            Tool("get_booking", {"code": "KX4T2P"},
                 {"code": "KX4T2P", "state": "ticketed", "fare": "flex", "total_eur": 412.6}, 0.52),
            took=1.64,
            tokens=(1_406, 52),
        )  # fmt: skip
        _, refund = run.asks(
            "claude-sonnet-5",
            Tool("refund_booking", {"code": "KX4T2P", "amount_eur": 412.6},
                 {"ok": False, "error": "refund rejected: the fare was changed after ticketing",
                  "code": "FARE_MISMATCH"}, 2.18),
            took=1.39,
            tokens=(1_588, 66),
        )  # fmt: skip
        run.says(
            "claude-sonnet-5",
            "Your booking is cancelled and €412.60 will be back on your card in 5 days.",
            1.92,
            (1_764, 31),
        )
    return run, refund


def _night_train(at: float) -> tuple[Run, Recorded]:
    question = "Can I take a folding bike on the night train from Berlin to Vienna?"
    run = Run("night-train-bike", "trip-vienna", at, ["search"], [PLANNER, said("user", question)])
    documents = [
        {"id": "nightjet/luggage.md#bicycles", "score": 0.87,
         "content": "Folding bicycles travel free as hand luggage when folded and in a bag, at "
                    "most 110 by 80 by 40 cm. In couchettes the bag goes under the lower berth."},
        {"id": "nightjet/seats.md#space", "score": 0.64,
         "content": "Seated coaches have racks for one large piece of luggage a person."},
        {"id": "oebb/bicycles.md", "score": 0.58,
         "content": "Bicycles that are not folded need a ticket and a place that is reserved."},
    ]  # fmt: skip
    with run.agent("policy reader", question):
        run.embeds(question, 0.19, 17)
        policy = run.retrieves("folding bike night train Berlin Vienna", 0.28, documents)
        quoted = "\n\n".join(str(each["content"]) for each in documents)
        run.messages.append(said("system", f"From the conditions of carriage:\n\n{quoted}"))
        run.says(
            "claude-haiku-4-5",
            "Yes, free of charge: folded, in a bag, and no larger than 110 by 80 by 40 cm. In a "
            "couchette it goes under the lower berth.",
            1.27,
            (742, 48),
        )
    return run, policy


def _japan(at: float) -> Run:
    question = "Plan three weeks in Japan in April for a family of four, slowly, mostly by train."
    run = Run("japan-plan", "trip-japan", at, ["beta"], [PLANNER, said("user", question)])
    with run.agent("trip planner", question):
        run.asks(
            "claude-opus-4-8",
            Tool("search_rail_passes", {"country": "JP", "days": 21, "adults": 2, "children": 2},
                 {"passes": [{"name": "Whole Japan 21 days", "total_eur": 1_844}]}, 1.33),
            Tool("blossom_forecast", {"year": 2027},
                 {"tokyo": "2027-03-26", "kyoto": "2027-03-30", "kanazawa": "2027-04-05"}, 0.48),
            took=9.4,
            tokens=(2_412, 1_180),
        )  # fmt: skip
        for city, nights in (("Tokyo", 5), ("Kanazawa", 3), ("Kyoto", 6), ("Hiroshima", 3)):
            with run.agent("local guide", f"{nights} slow days in {city} with two children"):
                run.asks(
                    "claude-opus-4-8",
                    Tool("search_places", {"city": city, "for": "children", "limit": 40},
                         {"places": 40, "city": city}, 1.1 + nights * 0.07),
                    took=6.2 + nights * 0.3,
                    tokens=(9_800 + 1_450 * nights, 240),
                )  # fmt: skip
                run.says(
                    "claude-opus-4-8",
                    f"{city}, {nights} nights: one thing a day, parks in the afternoon, and the "
                    "market on the first evening.",
                    14.8 + nights,
                    (18_400 + 2_100 * nights, 1_960),
                )
        run.says(
            "claude-opus-4-8",
            "Three weeks, four places, no day with more than three hours on a train: Tokyo (5 "
            "nights), Kanazawa (3), Kyoto (6), Hiroshima (3), and the last four nights by the sea "
            "in Izu. The pass for all four of you is €1,844.",
            31.6,
            (38_200, 3_410),
        )
    return run


def _charged_twice(at: float) -> Run:
    question = "Why was my card charged twice for order V-54120?"
    run = Run("charged-twice", "support-4468", at, ["checkout"], [PLANNER, said("user", question)])
    with run.agent("support", question) as agent:
        run.asks(
            "gpt-5.4-mini",
            Tool("list_charges", {"order": "V-54120"}, None, 0.31,
                 "HTTPStatusError: 401 Unauthorized for payments.voyage.example/charges"),
            took=0.82,
            tokens=(1_190, 41),
        )  # fmt: skip
        run.asks(
            "gpt-5.4-mini",
            Tool("list_charges", {"order": "V-54120"}, None, 0.29,
                 "HTTPStatusError: 401 Unauthorized for payments.voyage.example/charges"),
            took=0.77,
            tokens=(1_262, 41),
        )  # fmt: skip
        run.fail(agent, "The payments service refused the key of the assistant (401).")
    return run


def _comparison(at: float) -> Run:
    """A long run: for each of 24 hotels prices, reviews and a verdict."""
    run = Run("kyoto-comparison", "trip-kyoto", at, ["eval"], [PLANNER, said("user", KYOTO)])
    names = (
        "Kamo Riverside", "Gion Machiya", "Higashiyama Inn", "Nishiki House", "Arashiyama Lodge",
        "Pontocho Rooms", "Fushimi Garden", "Nijo Terrace", "Kiyomizu View", "Demachi Guesthouse",
        "Sanjo Station", "Imperial Park", "Okazaki Annex", "Shichijo Court", "Katsura Bridge",
        "Philosopher's Path", "Tofukuji Stay", "Kawaramachi Nine", "Rakusai Hill", "Ohara Ryokan",
        "Yasaka Lane", "Karasuma Suites", "Kurama Onsen", "Uji Tea House",
    )  # fmt: skip
    with run.agent("comparison", KYOTO):
        run.asks(
            "gpt-5.4",
            Tool("saved_hotels", {"list": "Kyoto"}, {"hotels": list(names)}, 0.33),
            took=1.71,
            tokens=(1_240, 33),
        )
        for place, name in enumerate(names):
            run.messages = [PLANNER, said("user", f"Judge {name} for 2 to 9 April.")]
            slow = place == 12
            with run.agent("hotel judge", f"Judge {name} for 2 to 9 April."):
                nights = 88 + (place * 37) % 140
                run.asks(
                    "gpt-5.4-mini",
                    Tool("room_prices", {"hotel": name, "from": "2027-04-02", "nights": 7},
                         {"night_eur": nights, "left": 1 + place % 5}, 0.42 + place % 4 * 0.11),
                    Tool("reviews", {"hotel": name, "limit": 50},
                         {"rating": 7.4 + place % 9 / 5, "count": 50}, 4.9 if slow else 0.61),
                    Tool("walking_time", {"from": name, "to": ["Kyoto Station", "Gion"]},
                         {"minutes": [9 + place % 14, 6 + place % 21]}, 0.27),
                    Tool("photos", {"hotel": name}, {"photos": 12 + place % 6}, 0.35),
                    Tool("cancellation_terms", {"hotel": name}, {"free_until_days": 3}, 0.24),
                    took=0.64 + place % 3 * 0.12,
                    tokens=(980 + place, 74),
                )  # fmt: skip
                if place % 8 == 5:
                    run.asks(
                        "gpt-5.4-mini",
                        Tool("exchange_rate", {"from": "JPY", "to": "EUR"}, None, 0.5,
                             "RateLimitError: 429 from rates.example, retry after 30 s"),
                        took=0.55,
                        tokens=(1_190, 28),
                    )  # fmt: skip
                with run.step("score", **{"voyage.weights": "price 0.5, rating 0.3, walk 0.2"}):
                    run.embeds(f"{name}: quiet, central, good value", 0.09, 9)
                    with run.step("normalise"):
                        run.at += 0.004
                    with run.step("weigh"):
                        run.at += 0.003
                run.says(
                    "gpt-5.4-mini",
                    f"{name}: €{nights} a night, good value for its place.",
                    0.72 + place % 5 * 0.14,
                    (1_310 + place, 46),
                )
        run.messages = [PLANNER, said("user", KYOTO)]
        run.says(
            "gpt-5.4",
            "Demachi Guesthouse is the best value: €141 a night, rated 7.4, nine minutes on foot "
            "to the river. If you want a bath of your own, take Nishiki House.",
            4.2,
            (11_830, 312),
        )
    return run


def _aurora(at: float) -> tuple[Run, Recorded]:
    question = "Where could we still see the aurora this weekend, leaving from Oslo?"
    run = Run("aurora-weekend", "trip-aurora", at, ["beta"], [PLANNER, said("user", question)])
    with run.agent("trip planner", question):
        run.asks(
            "gpt-5.4",
            Tool("aurora_forecast", {"days": 3},
                 {"tromso": {"kp": 5, "clouds": 0.2}, "abisko": {"kp": 5, "clouds": 0.1}}, 0.9),
            took=1.9,
            tokens=(1_322, 44),
        )  # fmt: skip
        waiting = run.waits("gpt-5.4", 18)
    return run, waiting


_QUESTIONS = (
    (0.9, "gpt-5.4-mini", "search", "Which terminal does FR 1886 leave from?",
     "Terminal 1. Bag drop closes at 06:40."),
    (1.7, "gemini-3.5-flash", "search", "Is there a direct train from Porto to Santiago?",
     "Not direct: change in Vigo, 4 h 20 min altogether, from €31."),
    (3.4, "gpt-5.4-mini", "checkout", "Add a second bag to booking QR8M1D.",
     "Added. €38.00 were charged for the way out and back."),
    (4.1, "claude-haiku-4-5", "search", "Do I need a visa for Georgia with a German passport?",
     "No. You can stay for a year; your passport has to be valid for that time."),
    (6.3, "gpt-5.4-mini", "beta", "Translate this menu from Tbilisi, please.",
     "Khinkali: dumplings with broth. Lobio: beans with walnuts. Churchkhela is a sweet."),
    (7.8, "gemini-3.5-flash", "search", "How late does the ferry to Ærø run on Sundays?",
     "The last one leaves Svendborg at 22:15."),
    (9.5, "claude-sonnet-5", "checkout", "Change the name on my ticket from Anna to Anne.",
     "Changed without a fee: it is a correction of one letter."),
    (11.2, "gpt-5.4-mini", "search", "Cheapest weekend in Kraków before Christmas?",
     "12 to 14 December: flights from €44, a central room from €62 a night."),
    (20.4, "gpt-5.4", "beta", "Make my Rome itinerary work with a pram.",
     "I moved the Palatine to a walk outside and added two parks; all stations have lifts."),
    (22.7, "claude-haiku-4-5", "search", "Are dogs allowed on the Bernina Express?",
     "Yes, with a half-price ticket in second class; small ones in a carrier go free."),
    (25.1, "gpt-5.4-mini", "checkout", "Where is my invoice for the Oslo trip?",
     "I sent it again to the address in your profile."),
    (27.9, "gemini-3.5-flash", "eval", "Sum up the reviews of Hotel Bellevue in one line.",
     "Quiet and kind, breakfast is praised, the lift is slow."),
    (30.6, "gpt-5.4-mini", "eval", "Sum up the reviews of Pension Adler in one line.",
     "Great view, thin walls, fair price."),
    (33.0, "claude-sonnet-5", "search", "Five quiet villages on the coast of Brittany?",
     "Ploumanac'h, Le Conquet, Port-Blanc, Locquirec and Doëlan."),
    (44.5, "gpt-5.4-mini", "search", "Is the Stelvio Pass open in May?",
     "Usually from the end of May. This year it opened on the 29th."),
)  # fmt: skip


def _short(now: float) -> list[Run]:
    """Questions that one model call answers, some after a search in a guide."""
    runs = []
    for place, (hours, model, label, question, answer) in enumerate(_QUESTIONS):
        run = Run(f"question-{place}", f"question-{place}", now - hours * HOUR, [label])
        run.messages = [PLANNER, said("user", question)]
        with run.agent("concierge", question):
            if place % 3 == 1:
                run.asks(
                    model,
                    Tool("search_guides", {"query": question}, {"articles": 3}, 0.38),
                    took=0.7 + place % 4 * 0.2,
                    tokens=(820 + 31 * place, 37),
                )
            run.says(model, answer, 0.9 + place % 5 * 0.35, (940 + 57 * place, 28 + place % 7 * 9))
        runs.append(run)
    return runs
