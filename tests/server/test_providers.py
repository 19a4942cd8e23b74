"""Providers over HTTP: their state, a test, and entered keys, which are never shown."""

import json
from pathlib import Path

from tests.cli.command import treadle
from tests.fakes.provider import FakeProvider
from tests.fakes.replies import Answer, Call, error
from tests.server.serving import Served, serving

KEY = "plain-words-of-a-key-1"
OTHER = "plain-words-of-another-2"
CALLED = Answer(calls=[Call("request_code_context", {"token_budget": 800})])


def configure(repo: Path, base_url: str, more: str = "") -> None:
    folder = repo.parent / "home" / "config"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(
        f'model = "desk/m"\n[providers.desk]\nbase_url = "{base_url}"\napi_key_env = "DESK_KEY"\n'
        f'models = ["m"]\n{more}'
    )


async def provider(server: Served, name: str = "desk") -> dict[str, object]:
    found: dict[str, dict[str, object]] = {
        each["name"]: each for each in (await server.get("/providers"))["data"]
    }
    return found[name]


async def chat(server: Served) -> int:
    body = {"model": "desk/m", "messages": [{"role": "user", "content": "Hi"}]}
    return (await server.http.post("/v1/chat/completions", json=body)).status_code


async def test_entered_key_is_used_at_once_and_never_shown(repo: Path) -> None:
    async with FakeProvider([CALLED, Answer("a"), Answer("b"), Answer("c")]) as fake:
        configure(repo, fake.base_url)
        async with serving(repo) as server:
            before = await provider(server)
            assert before == {
                "name": "desk",
                "base_url": fake.base_url,
                "origin": {
                    "layer": "user file",
                    "source": str(repo.parent / "home" / "config" / "config.toml"),
                    "line": 3,
                },
                "key": {
                    "state": "none",
                    "name": "DESK_KEY",
                    "kept": None,
                    "kept_for": None,
                    "wanted": True,
                    "enterable": True,
                },
                "models": ["m"],
                "default": False,
            }
            missing = await server.post("/providers/desk/test")
            assert not missing["reachable"]
            assert "DESK_KEY is not set" in missing["error"]
            assert await chat(server) == 401

            path = "/api/v1/providers/desk/key"
            entered = await server.http.put(path, json={"key": KEY})
            assert entered.status_code == 200
            assert entered.json()["key"]["state"] == "stored"
            assert KEY not in entered.text
            tested = await server.post("/providers/desk/test", {"model": "m"})
            assert (tested["reachable"], tested["tool_call"]) == (True, True)
            assert await chat(server) == 200
            turn = await server.post("/turns", {"text": "Hi", "stream": False})
            assert (await server.ended(turn["request_id"]))["state"] == "done"
            sent = [request.headers["authorization"] for request in fake.requests]
            assert sent == [f"Bearer {KEY}"] * 3
            assert (await provider(server))["default"]

            home = repo.parent / "home"  # from a terminal, while the server runs
            kept = treadle("models", "key", "set", "desk", home=home, repo=repo, stdin=OTHER)
            assert kept.status == 0, kept.err
            assert await chat(server) == 200
            assert fake.requests[-1].headers["authorization"] == f"Bearer {OTHER}"

            assert (await server.http.delete(path)).status_code == 204
            assert (await server.http.delete(path)).status_code == 204
            assert await chat(server) == 401
    written = [each for each in home.rglob("*") if each.is_file()]
    for secret in (KEY, OTHER):
        assert not [each for each in written if secret.encode() in each.read_bytes()]


async def test_errors_do_not_contain_the_key(repo: Path) -> None:
    async with FakeProvider([error(401, f"no such key: {KEY}")]) as fake:
        configure(repo, fake.base_url, "[providers.lost]\nmax_retries = 1\n")
        async with serving(repo) as server:
            put = server.http.put
            assert (await put("/api/v1/providers/desk/key", json={"key": KEY})).is_success
            refused = await server.post("/providers/desk/test")
            assert not refused["reachable"]
            assert "refused the key" in refused["error"]
            assert KEY not in json.dumps(refused)
            for name, body, status in (
                ("desk", {"key": f"{KEY} and more"}, 422),
                ("desk", {"key": ""}, 422),
                ("desk", {"key": KEY, "shown": True}, 422),
                ("desk", {"keys": KEY}, 422),
                ("desk", {"key": [KEY]}, 422),
                ("embedded", {"key": KEY}, 422),
                ("nope", {"key": KEY}, 404),
            ):
                answer = await put(f"/api/v1/providers/{name}/key", json=body)
                assert answer.status_code == status, answer.text
                assert KEY not in answer.text
            assert (await server.http.post("/api/v1/providers/nope/test")).status_code == 404
            lost = await server.post("/providers/lost/test")
            assert "has no address" in lost["error"]
            listed = await server.http.get("/api/v1/providers")
            assert KEY not in listed.text
            foreign = {"Origin": "https://elsewhere.example"}
            forged = await put("/api/v1/providers/desk/key", json={"key": OTHER}, headers=foreign)
            assert forged.status_code == 403


async def test_a_key_stays_with_its_address(repo: Path) -> None:
    async with FakeProvider() as first, FakeProvider([Answer("a")]) as second:
        configure(repo, first.base_url)
        async with serving(repo) as server:
            path = "/api/v1/providers/desk/key"
            assert (await server.http.put(path, json={"key": KEY})).is_success
        configure(repo, second.base_url)
        async with serving(repo) as server:
            key = (await provider(server))["key"]
            assert isinstance(key, dict)
            assert (key["state"], key["kept"], key["kept_for"]) == (
                "none",
                "stored",
                first.base_url,
            )
            told = await server.post("/providers/desk/test")
            assert f"only for {first.base_url}." in told["error"]
        assert not second.requests


async def test_key_of_the_environment_precedes_a_saved_key(repo: Path) -> None:
    async with FakeProvider(models=["a", "b"]) as fake:
        configure(repo, fake.base_url)
        env = {"DESK_KEY": OTHER, "TREADLE_BASE_URL": fake.base_url, "TREADLE_API_KEY": KEY}
        async with serving(repo, **env) as server:
            entered = await server.http.put("/api/v1/providers/desk/key", json={"key": KEY})
            told = entered.json()["key"]
            assert (told["state"], told["name"], told["kept"]) == (
                "environment",
                "DESK_KEY",
                "stored",
            )
            unnamed = await provider(server, "custom")
            assert unnamed["origin"] == {
                "layer": "environment",
                "source": "TREADLE_BASE_URL",
                "line": None,
            }
            refused = await server.http.put("/api/v1/providers/custom/key", json={"key": KEY})
            assert refused.status_code == 422
            listed = await server.get("/models")
            mine = {each["provider"]: each for each in listed["data"]}
            assert mine["custom"]["reachable"]
            assert mine["custom"]["models"][0] == {
                "id": "a",
                "context_window": None,
                "prices": None,
                "takes_tools": None,
                "takes_images": None,
            }
            health = await server.get("/health")
            assert health["model"] == {
                "provider": "custom",
                "model": "desk/m",
                "embedded": False,
                "error": None,
            }
            assert health["gateway"]["path"] == "/v1"
            assert health["traces"]["otlp_path"] == "/v1/traces"
