"""The identity store on both engines, through its public methods, with times of the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from treadle.app.stores import Stores
from treadle.errors import NotFoundError, UsageError
from treadle.identity.identity import NO_LIMITS, Limits, Proof, Role, Scope
from treadle.identity.key_use import Counter
from treadle.identity.records import Action, ApiKey, TicketHolder
from treadle.identity.secret_values import KEY_PREFIX, stored_hash
from treadle.identity.sessions import IDLE_SECONDS, SESSION_SECONDS
from treadle.identity.store import IdentityStore
from treadle.secrets import redact

SECOND = 1_000_000
MINUTE = 60 * SECOND
NOW = 1_700_000_000 * SECOND

SLOW_ON_POSTGRES = pytest.mark.parametrize(
    "both_stores", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)], indirect=True
)
"""Leaves PostgreSQL out of quick runs, for tests whose statements other tests execute too."""


@pytest.fixture
def store(both_stores: Stores) -> Iterator[IdentityStore]:
    with IdentityStore(both_stores.identity) as opened:
        yield opened


def create_key(
    store: IdentityStore,
    name: str = "ci",
    *,
    project: str = "default",
    expires_us: int | None = None,
    limits: Limits = NO_LIMITS,
) -> tuple[ApiKey, str]:
    return store.keys.create(
        project, name, frozenset({Scope.INGEST, Scope.READ}), limits,
        created_by="local user", expires_us=expires_us, now_us=NOW,
    )  # fmt: skip


def join(store: IdentityStore, email: str, role: Role, project: str = "default") -> str:
    _, secret = store.users.invite(email, project, role, now_us=NOW, microseconds=MINUTE)
    user, _ = store.users.accept_invitation(secret, NOW)
    return user.id


def test_question_about_identities_does_not_create_the_store(both_stores: Stores) -> None:
    for _ in range(2):
        with IdentityStore(both_stores.identity) as store:
            assert not store.has_identities(NOW)
            assert not store.exists


def test_default_project_exists_and_cannot_be_removed(store: IdentityStore) -> None:
    assert [project.name for project in store.projects.all()] == ["default"]
    with pytest.raises(UsageError):
        store.projects.remove("default")


@SLOW_ON_POSTGRES
@pytest.mark.parametrize("name", ["", "A", "1a", "a-b", "a.b", "é", "a" * 31, "a\n", "../a"])
def test_invalid_project_name_is_rejected(store: IdentityStore, name: str) -> None:
    with pytest.raises(UsageError):
        store.projects.add(name, NOW)


@SLOW_ON_POSTGRES
def test_project_exists_once(store: IdentityStore) -> None:
    store.projects.add("web_2", NOW)
    with pytest.raises(UsageError):
        store.projects.add("web_2", NOW)
    assert store.projects.exists("web_2")


def test_removed_project_loses_its_keys_and_members(store: IdentityStore) -> None:
    store.projects.add("web", NOW)
    _, secret = create_key(store, project="web")
    join(store, "ada@example.com", Role.EDITOR, "web")
    store.projects.remove("web")
    assert store.keys.valid(stored_hash(secret), NOW) is None
    assert store.users.require("ada@example.com").roles == {}
    with pytest.raises(NotFoundError):
        store.projects.remove("web")


def test_key_is_stored_only_as_a_hash(tmp_path: Path) -> None:
    store = IdentityStore(tmp_path / "identity.db")
    key, secret = create_key(store)
    assert secret.startswith(KEY_PREFIX)
    assert secret.startswith(key.prefix)
    assert len(key.prefix) < 14
    store.close()
    contents = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in contents
    assert stored_hash(secret).encode() in contents


@SLOW_ON_POSTGRES
def test_key_is_redacted_in_texts(store: IdentityStore) -> None:
    for number in range(50):
        _, secret = create_key(store, f"key {number}")
        assert secret not in redact(f"I used {secret} there")


@SLOW_ON_POSTGRES
def test_key_identifies_its_project_and_scopes(store: IdentityStore) -> None:
    limits = Limits(60, 1_000, 0.5, 10.25)
    key, secret = create_key(store, limits=limits)
    found = store.keys.valid(stored_hash(secret), NOW)
    assert found is not None
    identity = found.identity()
    assert identity.project == "default"
    assert identity.proof is Proof.KEY
    assert identity.scopes == {Scope.INGEST, Scope.READ}
    assert identity.limits == limits
    assert identity.id == key.id
    assert not identity.may(Scope.WRITE)


@SLOW_ON_POSTGRES
def test_unknown_expired_and_revoked_keys_are_invalid(store: IdentityStore) -> None:
    _, expiring = create_key(store, "short", expires_us=NOW + SECOND)
    _, revoked = create_key(store, "revoked")
    assert store.keys.valid(stored_hash(expiring), NOW + SECOND - 1) is not None
    assert store.keys.valid(stored_hash(expiring), NOW + SECOND) is None
    store.keys.revoke("revoked", NOW)
    assert store.keys.valid(stored_hash(revoked), NOW) is None
    assert store.keys.valid(stored_hash(""), NOW) is None
    assert store.keys.valid(stored_hash(expiring[:-1]), NOW) is None
    assert store.keys.valid(stored_hash(expiring + "a"), NOW) is None


def test_use_of_a_key_is_noted_once_a_minute(store: IdentityStore) -> None:
    _, secret = create_key(store)

    def last_use_after(now_us: int) -> int | None:
        store.keys.valid(stored_hash(secret), now_us)
        return store.keys.all()[0].last_used_us

    assert last_use_after(NOW) == NOW
    assert last_use_after(NOW + 59 * SECOND) == NOW
    assert last_use_after(NOW + 60 * SECOND) == NOW + 60 * SECOND


def test_key_is_revoked_by_name_prefix_or_id(store: IdentityStore) -> None:
    first, _ = create_key(store, "first")
    second, _ = create_key(store, "second")
    third, _ = create_key(store, "third")
    store.keys.revoke("first", NOW)
    store.keys.revoke(second.prefix, NOW)
    store.keys.revoke(third.id, NOW)
    assert store.keys.all() == []
    assert len(store.keys.all(revoked=True)) == 3
    with pytest.raises(NotFoundError):
        store.keys.revoke(first.id, NOW)


def test_key_name_is_unique_among_valid_keys_of_a_project(store: IdentityStore) -> None:
    create_key(store, "ci")
    with pytest.raises(UsageError):
        create_key(store, "ci")
    store.projects.add("web", NOW)
    create_key(store, "ci", project="web")
    with pytest.raises(UsageError, match="Several keys"):
        store.keys.revoke("ci", NOW)


def test_invitation_is_valid_once(store: IdentityStore) -> None:
    _, secret = store.users.invite(
        " Ada@Example.com ", "default", Role.VIEWER, now_us=NOW, microseconds=MINUTE
    )
    user, _ = store.users.accept_invitation(secret, NOW)
    assert user.email == "ada@example.com"
    assert user.roles == {"default": Role.VIEWER}
    with pytest.raises(NotFoundError):
        store.users.accept_invitation(secret, NOW)


@SLOW_ON_POSTGRES
def test_expired_and_replaced_invitations_are_invalid(store: IdentityStore) -> None:
    email = "ada@example.com"
    _, first = store.users.invite(email, "default", Role.ADMIN, now_us=NOW, microseconds=MINUTE)
    _, second = store.users.invite(email, "default", Role.VIEWER, now_us=NOW, microseconds=MINUTE)
    for secret, now_us in ((first, NOW), (second, NOW + 60 * SECOND), ("", NOW)):
        with pytest.raises(NotFoundError):
            store.users.accept_invitation(secret, now_us)
    assert store.users.all() == []


@SLOW_ON_POSTGRES
def test_second_invitation_adds_a_project_to_the_user(store: IdentityStore) -> None:
    store.projects.add("web", NOW)
    first = join(store, "ada@example.com", Role.VIEWER)
    assert join(store, "ada@example.com", Role.ADMIN, "web") == first
    assert store.users.require("ada@example.com").roles == {
        "default": Role.VIEWER,
        "web": Role.ADMIN,
    }


@pytest.mark.parametrize(
    "email", ["", "ada", "@example.com", "a@b@c", "a b@c.d", "a\n@b.c", "ada@"]
)
@SLOW_ON_POSTGRES
def test_invalid_email_address_is_rejected(store: IdentityStore, email: str) -> None:
    with pytest.raises(UsageError):
        store.users.invite(email, "default", Role.VIEWER, now_us=NOW, microseconds=MINUTE)


@SLOW_ON_POSTGRES
def test_session_identifies_the_user_in_a_project(store: IdentityStore) -> None:
    store.projects.add("web", NOW)
    user_id = join(store, "ada@example.com", Role.VIEWER)
    join(store, "ada@example.com", Role.ADMIN, "web")
    store.projects.add("other", NOW)
    user = store.sessions.valid(stored_hash(store.sessions.create(user_id, NOW)), NOW)
    assert user is not None
    identity = user.identity(None)
    assert identity is not None
    assert (identity.project, identity.role, identity.proof) == (
        "default",
        Role.VIEWER,
        Proof.SESSION,
    )
    assert not identity.may(Scope.WRITE)
    web = user.identity("web")
    assert web is not None
    assert web.may(Scope.ADMIN)
    assert user.identity("other") is None


@SLOW_ON_POSTGRES
def test_session_ends_after_a_time_without_use(store: IdentityStore) -> None:
    user_id = join(store, "ada@example.com", Role.VIEWER)
    hashed = stored_hash(store.sessions.create(user_id, NOW))
    later = NOW + (IDLE_SECONDS - 1) * SECOND
    assert store.sessions.valid(hashed, later)
    assert store.sessions.valid(hashed, later + (IDLE_SECONDS - 1) * SECOND)
    assert not store.sessions.valid(hashed, later + 2 * IDLE_SECONDS * SECOND)


@SLOW_ON_POSTGRES
def test_session_in_use_ends_after_its_full_time(store: IdentityStore) -> None:
    user_id = join(store, "ada@example.com", Role.VIEWER)
    hashed = stored_hash(store.sessions.create(user_id, NOW))
    for second in range(0, SESSION_SECONDS, IDLE_SECONDS // 2):
        assert store.sessions.valid(hashed, NOW + second * SECOND)
    assert not store.sessions.valid(hashed, NOW + SESSION_SECONDS * SECOND)


def test_session_ends_with_sign_out_and_with_the_user(store: IdentityStore) -> None:
    user_id = join(store, "ada@example.com", Role.ADMIN)
    first, second = (store.sessions.create(user_id, NOW) for _ in range(2))
    store.sessions.end(first)
    assert not store.sessions.valid(stored_hash(first), NOW)
    assert store.sessions.valid(stored_hash(second), NOW)
    store.users.remove("ada@example.com")
    assert not store.sessions.valid(stored_hash(second), NOW)
    with pytest.raises(NotFoundError):
        store.users.remove("ada@example.com")


def test_session_loses_a_project_with_the_role(store: IdentityStore) -> None:
    user_id = join(store, "ada@example.com", Role.ADMIN)
    hashed = stored_hash(store.sessions.create(user_id, NOW))
    store.users.set_role("ada@example.com", "default", Role.VIEWER)
    user = store.sessions.valid(hashed, NOW)
    assert user is not None
    assert user.roles == {"default": Role.VIEWER}
    store.users.remove("ada@example.com", "default")
    user = store.sessions.valid(hashed, NOW)
    assert user is not None
    assert user.identity(None) is None


def test_identities_are_users_valid_keys_and_open_invitations(store: IdentityStore) -> None:
    assert not store.has_identities(NOW)
    create_key(store, expires_us=NOW + SECOND)
    assert store.has_identities(NOW)
    assert not store.has_identities(NOW + SECOND)
    _, secret = store.users.invite("a@b.c", "default", Role.ADMIN, now_us=NOW, microseconds=MINUTE)
    assert store.has_identities(NOW + SECOND)
    assert not store.has_identities(NOW + 60 * SECOND)
    store.users.accept_invitation(secret, NOW)
    assert store.has_identities(NOW + 60 * SECOND)


def test_audit_log_returns_the_newest_entries_first(store: IdentityStore) -> None:
    for number in range(5):
        store.audit.add(
            Action.DELETION, who="user ada@example.com", subject=f"/runs/{number}",
            project="default" if number % 2 else "web", address="192.0.2.1", now_us=NOW + number,
        )  # fmt: skip
    assert [entry.subject for entry in store.audit.entries(limit=2)] == ["/runs/4", "/runs/3"]
    assert [entry.subject for entry in store.audit.entries(project="default")] == [
        "/runs/3",
        "/runs/1",
    ]
    newest = store.audit.entries(since_us=NOW + 4)
    assert [(each.who, each.address, each.action) for each in newest] == [
        ("user ada@example.com", "192.0.2.1", Action.DELETION)
    ]


@SLOW_ON_POSTGRES
def test_audit_log_contains_no_secret(store: IdentityStore) -> None:
    _, secret = create_key(store)
    store.audit.add(Action.EXPORT, who="local user", subject=f"/x?key={secret}", now_us=NOW)
    assert secret not in store.audit.entries()[0].subject


def test_counter_of_a_key_never_exceeds_its_limit(store: IdentityStore) -> None:
    def take(amount: int, period_us: int = NOW) -> int:
        return store.key_use.take("k", Counter.REQUESTS, period_us, amount, 10)

    assert [take(4), take(4), take(4), take(4)] == [4, 4, 2, 0]
    assert take(3, NOW + 60 * SECOND) == 3
    assert store.key_use.take("other", Counter.REQUESTS, NOW, 4, 10) == 4
    assert store.key_use.total("k", Counter.REQUESTS, NOW) == 10


@SLOW_ON_POSTGRES
def test_counter_that_exceeded_its_limit_grants_nothing(store: IdentityStore) -> None:
    assert store.key_use.add("k", Counter.SPANS, NOW, 512) == 512
    assert store.key_use.take("k", Counter.SPANS, NOW, 1, 100) == 0
    assert store.key_use.total("k", Counter.SPANS, NOW) == 512


def test_ticket_is_taken_once_and_before_it_expires(store: IdentityStore) -> None:
    holder = TicketHolder(Proof.SESSION, "web", "hash of a session")
    for name in ("first", "second"):
        store.tickets.add(name, holder, now_us=NOW, expires_us=NOW + SECOND)
    assert store.tickets.take("unknown", NOW) is None
    assert store.tickets.take("first", NOW + SECOND - 1) == holder
    assert store.tickets.take("first", NOW) is None
    assert store.tickets.take("second", NOW + SECOND) is None


@SLOW_ON_POSTGRES
def test_holder_of_many_tickets_loses_the_oldest_ones(store: IdentityStore) -> None:
    other = TicketHolder(Proof.TOKEN, "default")
    store.tickets.add("other", other, now_us=NOW, expires_us=NOW + SECOND)
    holder = TicketHolder(Proof.KEY, "default", "hash of a key")
    for number in range(103):
        store.tickets.add(f"ticket {number}", holder, now_us=NOW, expires_us=NOW + SECOND + number)
    assert [number for number in range(103) if store.tickets.take(f"ticket {number}", NOW)] == list(
        range(3, 103)
    )
    assert store.tickets.take("other", NOW) == other


def test_old_counters_are_deleted(store: IdentityStore) -> None:
    store.key_use.add("k", Counter.DAY, NOW, 5)
    store.key_use.add("k", Counter.DAY, NOW + 100 * 86_400 * SECOND, 5)
    assert store.key_use.total("k", Counter.DAY, NOW) == 0
