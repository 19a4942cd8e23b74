"""The programs of the held-out set, which nothing was tuned on."""

import json
import random

from bench.analyst.apps import TEXT, WHOLE, App, Arguments, ToolKind

_SERVICES = ("checkout", "search", "login", "invoices", "images")


def _metrics(draw: random.Random, asked: Arguments) -> str:
    points = [[minute, round(draw.uniform(0.1, 0.9), 3)] for minute in range(draw.randrange(4, 12))]
    return json.dumps({"service": asked.get("service", ""), "unit": "load", "points": points})


def _logs(draw: random.Random, _asked: Arguments) -> str:
    lines = [
        f"2026-10-03T09:{draw.randrange(60):02}:11Z INFO request {draw.randrange(10**6)} took"
        f" {draw.randrange(5, 90)} ms"
        for _ in range(draw.randrange(3, 9))
    ]
    lines.append("2026-10-03T09:41:02Z ERROR upstream timed out, will retry (attempt 1 of 3)")
    return "\n".join(lines)


OPERATIONS = App(
    name="incident_bot",
    instructions=(
        "You help the engineer on call. Look at the metrics of a service before its logs. Quote"
        " the lines that matter. Never restart a service yourself. Say how sure you are. Name the"
        " change that came last before the incident. Use UTC for all times. Post an update to the"
        " channel every ten minutes. When the cause is not known, say what to look at next."
    ),
    model="mistral-small",
    other_model="mistral-large",
    questions=("Checkout is slow since 09:40. Why?", "Logins fail for some users. What changed?"),
    answers=(
        "Load rose after the release of 09:32; nothing else changed. I would roll it back.",
        "The certificate of one host is the old one. No other host has that problem.",
    ),
    tools=(
        ToolKind(
            "fetch_metrics", {"service": TEXT, "minutes": WHOLE},
            lambda draw: {"service": draw.choice(_SERVICES), "minutes": draw.randrange(5, 500)},
            _metrics, '{"service": "", "unit": "load", "points": []}', 260,
        ),
        ToolKind(
            "tail_logs", {"service": TEXT, "lines": WHOLE},
            lambda draw: {"service": draw.choice(_SERVICES), "lines": draw.randrange(5, 500)},
            _logs, "", 520,
        ),
        ToolKind(
            "list_deploys", {"service": TEXT, "since": TEXT},
            lambda draw: {"service": draw.choice(_SERVICES),
                          "since": f"2026-10-0{draw.randrange(1, 9)}T0{draw.randrange(9)}:00Z"},
            lambda draw, _: json.dumps([{"release": f"v{draw.randrange(100, 999)}", "by": "ci"}]),
            "[]", 190,
        ),
    ),
    agents=("metrics_agent", "log_agent", "release_agent"),
)  # fmt: skip


def _slots(draw: random.Random, _asked: Arguments) -> str:
    slots = [f"{hour:02}:{draw.choice(('00', '30'))}" for hour in range(8, draw.randrange(10, 16))]
    return json.dumps({"freie_termine": slots, "hinweis": None}, ensure_ascii=False)


def _patient(draw: random.Random, _asked: Arguments) -> str:
    patient = {"name": draw.choice(("M. Huber", "S. Lang", "E. Vogt")), "versichert": True,
               "geburtsjahr": draw.randrange(1940, 2020)}  # fmt: skip
    return json.dumps(patient, ensure_ascii=False)


CLINIC = App(
    name="praxis_assistent",
    instructions=(
        "Du hilfst einer Arztpraxis bei Terminen. Antworte auf Deutsch. Nenne freie Termine erst,"
        " wenn du sie nachgesehen hast. Frage nach dem Geburtsdatum, bevor du Daten nennst. Gib"
        " keine medizinischen Ratschläge. Bei Notfällen verweise auf den Notruf. Sei freundlich und"
        " kurz. Bestätige jeden Termin mit Tag, Uhrzeit und Ort."
    ),
    model="gpt-4o",
    other_model="gpt-4o-mini",
    questions=("Ich brauche nächste Woche einen Termin.", "Kann ich den Termin am 4. verschieben?"),
    answers=(
        "Am Dienstag um 09:30 ist noch etwas frei. Soll ich den Termin eintragen?",
        "Der Termin ist verschoben; Sie bekommen eine Bestätigung. Es gab keine Fehler.",
    ),
    tools=(
        ToolKind(
            "freie_termine", {"tag": TEXT, "arzt": TEXT},
            lambda draw: {"tag": f"2026-11-{draw.randrange(1, 29):02}",
                          "arzt": draw.choice(("Dr. Lang", "Dr. Roth"))},
            _slots, '{"freie_termine": [], "hinweis": null}', 340,
        ),
        ToolKind(
            "patient_suchen", {"nachname": TEXT, "geburtsdatum": TEXT},
            lambda draw: {"nachname": draw.choice(("Huber", "Lang", "Vogt")),
                          "geburtsdatum": f"19{draw.randrange(40, 99)}-0{draw.randrange(1, 9)}-11"},
            _patient, "null", 210,
        ),
        ToolKind(
            "termin_buchen", {"tag": TEXT, "uhrzeit": TEXT},
            lambda draw: {"tag": f"2026-11-{draw.randrange(1, 29):02}",
                          "uhrzeit": f"{draw.randrange(8, 16):02}:30"},
            lambda draw, _: json.dumps({"gebucht": True, "nummer": draw.randrange(1000, 9999)}),
            '{"gebucht": true, "nummer": null}', 600,
        ),
    ),
    agents=("termin_agent", "patienten_agent"),
)  # fmt: skip

_PASSAGES = (
    "Section 4.2: The supplier is liable for delays that it could have prevented.",
    "Section 9.1: Either party may end the agreement with three months' notice.",
    "Annex B: Errors of class 1 are mended within four hours, those of class 2 within two days.",
    "Section 12: If a clause is invalid, the others remain in force.",
)


def _passages(draw: random.Random, _asked: Arguments) -> str:
    found = [
        {"passage": text, "score": round(draw.uniform(0.4, 0.9), 2)}
        for text in draw.sample(_PASSAGES, draw.randrange(2, 4))
    ]
    return json.dumps({"passages": found})


CONTRACTS = App(
    name="contract_reader",
    instructions=(
        "You read contracts for a legal team. Answer only from passages that you retrieved. Cite"
        " the section of every statement. Return your answer as JSON with the fields answer and"
        " sections. Do not guess. Mark what needs a lawyer. Prefer the newer of two versions."
        " Keep quotes as they are. Point out deadlines."
    ),
    model="command-r",
    other_model="gpt-4.1",
    questions=("May we end the agreement in March?", "Who pays when a delivery is late?"),
    answers=(
        '{"answer": "Yes, with three months notice.", "sections": ["9.1"]}',
        '{"answer": "The supplier, where it could have prevented it.", "sections": ["4.2"]}',
    ),
    tools=(
        ToolKind(
            "retrieve_passages", {"query": TEXT, "k": WHOLE},
            lambda draw: {"query": draw.choice(("notice period", "liability for delay", "deadlines",
                                                "invalid clause")), "k": draw.randrange(2, 30)},
            _passages, '{"passages": []}', 150,
        ),
        ToolKind(
            "open_section", {"document": TEXT, "section": TEXT},
            lambda draw: {"document": f"contract-{draw.randrange(999)}",
                          "section": f"{draw.randrange(1, 14)}.{draw.randrange(1, 6)}"},
            lambda draw, _: draw.choice(_PASSAGES), "", 80,
        ),
    ),
    agents=("retriever", "reader", "writer"),
)  # fmt: skip

HELD_OUT_APPS = {app.name: app for app in (OPERATIONS, CLINIC, CONTRACTS)}
