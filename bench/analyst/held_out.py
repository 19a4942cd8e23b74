"""The held-out set: written after the last change of the ranking, and measured as it came.

A case that leads to a change of the ranking moves to the tuned cases.
"""

from bench.analyst import held_out_faults
from bench.analyst.cases import cases

TABLE = """
nothing found | contract_reader | 30 | nothing_found | EMPTY_RESULT | single
nothing found, nested | incident_bot | 400 | nothing_found | EMPTY_RESULT | nested below
argument misnamed, validated | praxis_assistent | 80 | misnamed_camel | WRONG_ARGUMENT | nested
argument misnamed, unnoticed | incident_bot | 150 | misnamed_unnoticed | WRONG_ARGUMENT | untold
loop of four | contract_reader | 40 | again_and_again | LOOP | single below
loop of four, nested | praxis_assistent | 700 | again_and_again | LOOP | nested
provider overloaded | incident_bot | 60 | overloaded | RETRIES | nested
old conversation sent along | contract_reader | 120 | history_twice | COST_SPIKE | earlier
dump as a result | incident_bot | 50 | dump | LARGE_RESULT | single
dump as a result, nested | contract_reader | 300 | dump | LARGE_RESULT | nested below
lock held | praxis_assistent | 500 | lock_wait | SLOW_STEP | nested
lock held, small | contract_reader | 20 | lock_wait | SLOW_STEP | single earlier
lock held, very large | incident_bot | 6000 | lock_wait | SLOW_STEP | nested below
reply cut | praxis_assistent | 40 | arguments_cut | TRUNCATED_OUTPUT | single
content filtered | praxis_assistent | 200 | filtered | BAD_REPLY | nested below
Markdown and JSON | contract_reader | 60 | markdown_and_json | CONTRADICTORY_PROMPT | nested
to restart or not | incident_bot | 100 | restart | CONTRADICTORY_PROMPT | nested
German and English | praxis_assistent | 30 | english_too | CONTRADICTORY_PROMPT | single
another model for good | contract_reader | 90 | other_model_for_good | OTHER_MODEL | earlier
another model for good, alone | praxis_assistent | 90 | other_model_for_good | OTHER_MODEL | nested
id before instructions | incident_bot | 60 | request_id_in_front | CACHE_MISS | single
stack as a result | contract_reader | 250 | stack_in_result | SWALLOWED_EXCEPTION | nested
exception seen | incident_bot | 90 | exception_seen | SWALLOWED_EXCEPTION | nested below
refused in prose | praxis_assistent | 1200 | forbidden | FAILED_CALL | nested
database gone | contract_reader | 150 | database_gone | FAILED_CALL | nested below
call hangs | incident_bot | 70 | hangs | NEVER_ENDED | nested
model refuses | contract_reader | 40 | refused | BAD_REPLY | nested
tool invented | praxis_assistent | 60 | unknown_tool | UNKNOWN_TOOL | nested
token expired | incident_bot | 130 | token_expired | FAILED_CALL | nested
one of ten thousand is empty | praxis_assistent | 10000 | nothing_found | EMPTY_RESULT | nested
"""
"""As `cases.TABLE`; `nested`: agents that call agents, `below`: tools are below model calls."""

HELD_OUT = cases(TABLE, held_out_faults)
