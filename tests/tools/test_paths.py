from pathlib import Path

import pytest

from treadle.code.languages import LANGUAGES
from treadle.code.languages.extra import WIDE
from treadle.errors import PathRefusedError
from treadle.paths import (
    data_path,
    find_root,
    resolve_inside,
    resolve_readable,
    user_cache_dir,
    user_config_dir,
    user_data_dir,
)
from treadle.private_files import PROGRAM_ENDINGS, why_private, why_private_content


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("a = 1\n")
    (tmp_path / "outside.txt").write_text("no business of ours\n")
    return root


def test_the_enclosing_git_root_is_found_even_if_git_is_a_file(root: Path) -> None:
    assert find_root(root / "src") == root / "src"
    (root / ".git").write_text("gitdir: elsewhere\n")
    assert find_root(root / "src") == root


@pytest.mark.parametrize(
    "name", ["src/a.py", "./src/a.py", "src/../src/a.py", "src//a.py", "missing/../src/a.py"]
)
def test_a_relative_name_is_resolved_inside(root: Path, name: str) -> None:
    assert resolve_inside(root, name) == root / "src" / "a.py"


def test_an_absolute_name_inside_is_accepted(root: Path) -> None:
    assert resolve_inside(root, str(root / "src" / "a.py")) == root / "src" / "a.py"


def test_missing_folders_are_resolved_from_the_deepest_existing_one(root: Path) -> None:
    (root / "link").symlink_to(root / "src")
    assert resolve_inside(root, "link/new/deep.py") == root / "src" / "new" / "deep.py"


@pytest.mark.parametrize("name", ["../outside.txt", "src/../../outside.txt", "/etc/passwd", "/"])
def test_a_path_outside_the_root_is_refused(root: Path, name: str) -> None:
    with pytest.raises(PathRefusedError, match="outside the root"):
        resolve_inside(root, name)


def test_a_sibling_folder_with_the_same_prefix_is_outside(root: Path) -> None:
    sibling = root.parent / "root2"
    sibling.mkdir()
    with pytest.raises(PathRefusedError):
        resolve_inside(root, str(sibling))


@pytest.mark.parametrize("name", ["out", "dir/file.txt", "dir", "dir/new.txt", "src/../dir/x/y"])
def test_a_link_out_of_the_root_is_refused_with_its_target(root: Path, name: str) -> None:
    (root / "out").symlink_to(root.parent / "outside.txt")
    (root / "dir").symlink_to(root.parent)
    with pytest.raises(PathRefusedError) as refused:
        resolve_inside(root, name)
    assert str(root.parent) in refused.value.message


def test_a_link_that_leads_back_inside_is_accepted(root: Path) -> None:
    (root / "there").symlink_to("src/a.py")
    assert resolve_inside(root, "there") == root / "src" / "a.py"


def test_the_root_may_itself_be_a_link(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    expected = root / "src" / "a.py"
    assert resolve_inside(link, "src/a.py") == expected
    assert resolve_inside(link, str(link / "src" / "a.py")) == expected
    assert resolve_inside(link, str(expected)) == expected
    with pytest.raises(PathRefusedError):
        resolve_inside(link, "../outside.txt")


def test_a_link_loop_does_not_crash(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    assert resolve_inside(root, "loop").is_relative_to(root)


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_an_impossible_path_is_refused(root: Path, name: str) -> None:
    with pytest.raises(PathRefusedError, match="is not a valid path"):
        resolve_inside(root, name)


@pytest.mark.parametrize(
    "name",
    [
        ".env", ".env.local", "app/.ENV.Production", "prod.env", "id_rsa", "deploy/id_ed25519",
        "server.pem", "tls/server.KEY", ".netrc", ".git/config", "sub/.git/HEAD", ".ssh/config",
        ".env~", ".env-prod", ".env_staging", ".env.bak", "web/.env.local.old", "id_rsa.bak",
        "id_ed25519-work", "id_rsa (1)", "credentials.json", "app/Credentials.yml", "secrets.toml",
        ".kube/config", "home/.kube/config.bak", ".docker/config.json", "prod.tfvars",
        "terraform.tfstate", "terraform.tfstate.backup", "x/terraform.tfstate.1711",
        "a.auto.tfvars.json",
        "service-account.json", ".config/gcloud/legacy/adc.json", ".cargo/credentials.toml~",
        "wp-config.php", "wp-config.php.bak", ".bash_history", "pgpass.conf", "wg0.conf",
        ".env1", "client_secret_12.apps.json", "x-firebase-adminsdk-1.json", ".envs/prod/django",
        ".chef/knife.rb", "credentials.tfrc.json", ".authinfo", "secret.yaml", ".\u017fsh/config",
        ".env.", ".ssh /id", "kaggle.json", "vault.yml", ".dev.vars",
        "credentials/prod.txt", "app/Credentials/eu/db.json", "credentials/export.sh", ".env/a.py",
        ".m2/settings.xml", "server.key.old", "vault.kdbx", "release.keystore", "AuthKey.p8",
    ],
)  # fmt: skip
def test_names_of_secrets_are_private(root: Path, name: str) -> None:
    assert why_private(name) is not None
    with pytest.raises(PathRefusedError, match="is not read"):
        resolve_readable(root, name)


@pytest.mark.parametrize(
    "name",
    [
        ".env.example", ".env.sample", ".env.template", "id_rsa.pub", "environment.py", "keys.py",
        ".gitignore", ".github/workflows/ci.yml", "monkey", "pem.md", ".env-example",
        "example.env", "terraform.example.tfvars", "credentials.py", "config.json", "kube/config",
        "docker/config.json", "id_rsa_test.go", "tokens.json", "secrets.py", "environment.yml",
        "credentials/store.py", "app/Credentials/eu/Db.java", "Azure.Secrets/Client.cs",
        ".environment", "envoy.yaml", "credentials.json.example", "main.tf", "settings.xml",
    ],
)  # fmt: skip
def test_similar_names_are_not_private(root: Path, name: str) -> None:
    assert why_private(name) is None
    assert resolve_readable(root, name) == root / name


def test_a_folder_named_like_a_file_of_keys_is_readable_and_a_store_of_keys_is_not(
    root: Path,
) -> None:
    for name in ("credentials", ".aws", ".env", ".config/gh"):
        (root / name).mkdir(parents=True)
    assert resolve_readable(root, "credentials") == root / "credentials"
    for name in (".aws", ".env", ".config/gh"):
        with pytest.raises(PathRefusedError, match="is not read"):
            resolve_readable(root, name)


def test_source_code_of_every_language_but_shell_counts_as_programs() -> None:
    languages = [each for each in (*LANGUAGES, *WIDE) if each.name != "bash"]
    suffixes = {suffix for each in languages for suffix in each.extensions}
    assert suffixes == set(PROGRAM_ENDINGS)


def test_a_link_to_a_secret_and_a_secret_that_is_a_link_are_refused(root: Path) -> None:
    (root / ".env").write_text("KEY=1\n")
    (root / "notes.txt").symlink_to(".env")
    (root / "x.key").symlink_to("src/a.py")
    (root / "vcs").symlink_to(".git")
    for name in ("notes.txt", "x.key", "vcs/config", str(root / ".env")):
        with pytest.raises(PathRefusedError, match="is not read"):
            resolve_readable(root, name)


def test_a_root_below_a_folder_with_a_private_name_is_readable(tmp_path: Path) -> None:
    root = tmp_path / ".git" / "worktree"
    root.mkdir(parents=True)
    assert resolve_readable(root, "a.py") == root / "a.py"


def test_one_variable_moves_all_our_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path))
    assert user_cache_dir() == tmp_path / "cache"
    assert user_config_dir() == tmp_path / "config"
    assert data_path("traces.db") == tmp_path / "data" / "traces.db"
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_without_it_the_platforms_folders_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREADLE_HOME", raising=False)
    folders = {user_cache_dir(), user_data_dir(), user_config_dir()}
    assert len(folders) == 3
    assert all("treadle" in folder.parts for folder in folders)


PEM = "-----BEGIN {}-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("deploy", PEM.format("OPENSSH PRIVATE KEY")),
        ("key.txt", "# of the build server\n\n" + PEM.format("RSA PRIVATE KEY")),
        ("both.crt", PEM.format("CERTIFICATE") + "-----END CERTIFICATE-----\n"
         + PEM.format("PRIVATE KEY")),
        ("mail.txt", PEM.format("PGP PRIVATE KEY BLOCK")),
        ("putty.txt", "PuTTY-User-Key-File-3: ssh-ed25519\n"),
        ("age.txt", "# created: 2026\nAGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQ\n"),
        ("firebase.json", '{"type": "service_account", "private_key": "x"}'),
        ("staging.yaml", "apiVersion: v1\nkind: Config\nusers:\n- user:\n    token: abc\n"),
        ("registries.json", '{"auths": {"ghcr.io": {"auth": "dXNlcjpwYXNzd29yZA=="}}}'),
        ("aws.ini", "[default]\naws_secret_access_key = " + "a1B2" * 10 + "\n"),
        ("npm.txt", "//packages.example.org/:_authToken=npm_abc\n"),
        ("tunnel.conf", "[Interface]\nPrivateKey = " + "a1B2" * 10 + "abc=\n"),
        ("wp.php", "<?php\ndefine( 'DB_PASSWORD', 'x' );\ndefine('AUTH_KEY', 'y');\n"),
        ("state.json", '{"version": 4, "terraform_version": "1.9", "serial": 3}'),
    ],
)  # fmt: skip
def test_keys_and_credentials_are_private_by_their_content(
    root: Path, name: str, text: str
) -> None:
    (root / name).write_text(text)
    assert why_private_content(text.encode()) is not None
    assert why_private_content(text.replace("\n", "\r\n").encode()) is not None
    with pytest.raises(PathRefusedError, match="it holds"):
        resolve_readable(root, name)
    assert resolve_readable(root, name, [root / name]) == root / name


@pytest.mark.parametrize(
    "text",
    [
        'KEY = """\n' + PEM.format("RSA PRIVATE KEY") + '"""\n',
        PEM.format("PUBLIC KEY"),
        PEM.format("CERTIFICATE"),
        "Look for `-----BEGIN PRIVATE KEY-----` at the begin of the file.\n",
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  token: x\n",
        '{"type": "service_account"}',
        ' * "auths": {"registry": {\n *   "auth": "username:password in base64"\n * }}\n',
        "//packages.example.org/:_authToken=${NPM_TOKEN}\n",
        "import re\n",
        "",
    ],
)
def test_text_that_only_mentions_keys_is_not_private(text: str) -> None:
    assert why_private_content(text.encode()) is None
