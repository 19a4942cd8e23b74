"""Which parts of a command run under a rule, and which need a person."""

from pathlib import Path

import pytest

from treadle.commands.weighing import Weighed, weigh
from treadle.config.model import ApprovalSettings
from treadle.tools.approvals.question import Policy
from treadle.tools.approvals.rules import ResolvedSubject, Rules

COMMON = ("git", "echo", "cat", "ls", "find", "pytest", "tail", "head", "grep", "sort", "true")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "repo"
    (root / "pkg").mkdir(parents=True)
    (root / "a.txt").write_text("a\n")
    (root / ".env").write_text("KEY=1\n")
    (root / "-rf").write_text("")
    (tmp_path / "repo-evil").mkdir()
    return root


def verdict(
    root: Path,
    text: str,
    allow: tuple[str, ...] = COMMON,
    deny: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
) -> Policy:
    """The decision of the rules about a whole command."""
    rules = Rules(
        ApprovalSettings(
            allow=tuple(f"run_command command={each}" for each in allow),
            deny=tuple(f"run_command command={each}" for each in deny),
            ask=tuple(f"run_command command={each}" for each in ask),
        )
    )
    found = {
        rules.verdict("run_command", ResolvedSubject.of(part.subject(), root), Policy.ASK).policy
        for part in weigh(text, root, root).parts
    }
    return next(each for each in (Policy.DENY, Policy.ASK, Policy.ALLOW) if each in found)


@pytest.mark.parametrize(
    "text",
    [
        "git status",
        "git log -3 --oneline -- pkg",
        "git diff HEAD~1 a.txt",
        "git branch",
        "git branch --show-current",
        "git tag",
        "git --no-pager log",
        "echo hello > /dev/null 2>&1",
        "pytest 2>&1 | tail -5",
        "cd pkg && ls",
        "cat a.txt | grep -n a | head -1",
        "find . -name x",
        "grep 'foo$' a.txt",
        'echo "a; rm b"',
        "echo '$(rm b)'",
        "echo a \\; b",
        "timeout 5 pytest -x",
        "env pytest -x",
        "nice -n 5 pytest",
        "set -euo pipefail; ls",
        "( ls; cat a.txt ) && echo ok",
        "ls p*",
        "! grep b a.txt",
        "cat <<< 'some text'",
        "ls -la\nls pkg\n",
        "sort a.txt # comment",
        "true && echo ok",
    ],
)
def test_command_runs_if_a_rule_covers_each_part(root: Path, text: str) -> None:
    assert verdict(root, text) is Policy.ALLOW


@pytest.mark.parametrize(
    "text",
    [
        # several commands in one
        "git add a.txt && rm a.txt",
        "git status; rm a.txt",
        "git status & rm a.txt",
        "git status || rm a.txt",
        "git status | tee out",
        "git status |& rm a.txt",
        "git status\nrm a.txt",
        "git status\r\nrm a.txt",
        "cd pkg && python3 x",
        "cd pkg; rm a.txt",
        "cd .. && ls",
        "cd / ; ls",
        "(ls; rm a.txt)",
        "{ ls; rm a.txt; }",
        "! rm a.txt",
        "if true; then rm a.txt; fi",
        "for x in a; do rm $x; done",
        # expansions
        "echo $(rm x)",
        "echo `rm x`",
        'echo "$(rm x)"',
        'echo "${v:-$(rm x)}"',
        "echo $((a[$(rm x)]))",
        "echo ${v@P}",
        "echo $HOME",
        "cat < <(rm c)",
        "cat <(rm a) >(rm b)",
        "echo hi > $(rm x)",
        "echo hi 2> `rm d`",
        "cat <<EOF\n$(rm x)\nEOF",
        "cat <<EOF\n`rm x`\nEOF",
        "cat <<'EOF' | rm x\ntext\nEOF",
        'echo "$\\\n(touch f)"',
        "echo $'a' ; rm x",
        "echo {a,b}",
        "echo \u00a0; rm x",
        "cat a.txt \u202e x",
        # variables, functions and settings of the shell
        "FOO=1 ls",
        "LD_PRELOAD=x ls",
        "PATH=./bin ls",
        "FOO=$(rm x) ls",
        "ls() { rm x; }; ls",
        "alias ls=rm",
        "hash -p ./x ls",
        "export PATH=.; ls",
        "eval ls",
        "source a.txt",
        ". a.txt",
        "trap ls EXIT",
        "exec ls",
        # wrappers
        "env rm a.txt",
        "env FOO=1 ls",
        "env -S 'rm x'",
        "env -i ls",
        "timeout 5 rm a.txt",
        "timeout -s 9 5 rm a.txt",
        "nohup rm a.txt",
        "nice rm a.txt",
        "sudo ls",
        "xargs ls",
        "ls | xargs rm",
        "bash -c 'ls'",
        "sh -lc ls",
        "python3 -c 'print(1)'",
        "time rm x",
        "command rm x",
        # another program of the same name
        "./cat a.txt",
        "/tmp/evil/cat a.txt",
        "../cat a.txt",
        "pkg/../cat a.txt",
        # redirections
        "echo x > a.txt",
        "echo x >> a.txt",
        "echo x >| a.txt",
        "echo x &> a.txt",
        "echo x > ../outside",
        "echo x > /etc/passwd",
        "echo x <> a.txt",
        "echo x > ~/.bashrc",
        "cat < .env",
        "cat < ../outside",
        # files
        "cat .env",
        "cat pkg/../.env",
        "cat /etc/passwd",
        "cat ../repo-evil/x",
        "cat ~/.ssh/id_rsa",
        "cat .e*",
        "cat *",
        "grep --file=../x a.txt",
        "grep -f../x a.txt",
        "ls @/etc/passwd",
        "ls ..",
        # options that write or run something
        "git -c alias.x='!rm x' x",
        "git -c core.pager=rm log",
        "git --config-env=a=b log",
        "git --exec-path=. log",
        "git --git-dir=x log",
        "git --work-tree x log",
        "git --namespace=x log",
        "git -C pkg status",
        "git -p status",
        "git --paginate status",
        "GIT_DIR=x git status",
        "GIT_EXTERNAL_DIFF=rm git diff",
        "git diff --output=f",
        "git log --output f",
        "git show --outp=f",
        "git log --ou=f",
        "git diff --ext-diff",
        "git difftool --extcmd=rm",
        "git grep -O a",
        "git grep -nOrm a",
        "git fetch --upload-pack=rm",
        "git fetch ext::rm",
        "git branch -D x",
        "git branch -v -D x",
        "git branch -vD x",
        "git branch --del x",
        "git tag -d x",
        "git stash",
        "git reflog expire --all",
        "git config a.b c",
        "git push",
        "git reset --hard",
        "git clean -fd",
        "git checkout .",
        "git submodule foreach rm x",
        "git rebase -x rm",
        "git bisect run rm",
        "git",
        "find . -exec rm {} \\;",
        "find . -execdir rm {} +",
        "find . -ok rm {} \\;",
        "find . -delete",
        "find . -fprint f",
        "find . -fls f",
        "sort -o f a.txt",
        "sort --output=f a.txt",
        "sort --compress-program=rm a.txt",
        "sort -uo f a.txt",
    ],
)
def test_command_asks_if_a_part_is_not_covered(root: Path, text: str) -> None:
    assert verdict(root, text) is Policy.ASK


@pytest.mark.parametrize(
    "text",
    [
        "rg --pre rm x",
        "rg --pre=rm x",
        "tar --to-command=rm -xf a",
        "tar -xf a",
        "tar xf a",
        "tar -cf a --checkpoint-action=exec=rm b",
        "tree -o f",
        "less +!rm a.txt",
        "date --set=now",
        "date -s now",
        "awk 'BEGIN { system(\"rm x\") }'",
        "awk '{ print > \"f\" }' a.txt",
        "awk -f a.txt",
        "sed -i s/a/b/ a.txt",
        "sed -n 'w f' a.txt",
        "sed 1e a.txt",
        "sed s/a/b/w a.txt",
        "sed s/a/b/e a.txt",
        "xxd -r a.txt b",
        "javac -version -processor Evil",
        "python -c 1",
        "python",
        "python evil.py",
        "python -m http.server",
        "node -e 1",
        "perl -e 1",
        "make SHELL=./x",
        "make --eval=x",
        "uv run evil",
        "npx evil",
        "docker run evil",
        "cp a.txt .git/hooks/pre-commit",
        "tee .git/hooks/pre-commit",
        "rm pyproject.toml",
        "cp a.txt Makefile",
    ],
)
def test_option_that_runs_or_writes_asks_though_the_program_is_allowed(
    root: Path, text: str
) -> None:
    assert verdict(root, text, (text.split(maxsplit=1)[0],)) is Policy.ASK


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("awk '{print $1}' a.txt", "awk"),
        ("awk -F , '{print $1}' a.txt", "awk"),
        ("sed -n 1,20p a.txt", "sed"),
        ("sed 's/a/b/g' a.txt", "sed"),
        ("git push origin main", "git push"),
        ("git branch -D x", "git branch -D"),
        ("python -m pytest -x", "python -m pytest"),
        ("python tool.py --fast", "python tool.py"),
        ("uv run pytest -x", "uv run pytest"),
        ("npm run test", "npm run test"),
        ("make test", "make"),
        ("rm a.txt", "rm"),
        ("rm a.txt", "rm *.txt"),
        ("git status", "git *"),
        ("git status", "*"),
        ("./build.sh --all", "./build.sh"),
    ],
)
def test_rule_that_names_the_words_allows_the_command(root: Path, text: str, rule: str) -> None:
    assert verdict(root, text, (rule,)) is Policy.ALLOW


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("git logevil", "git log"),
        ("gitevil log", "git"),
        ("git push", "git pus"),
        ("git", "git log"),
        ("git branch -D x", "git branch"),
        ("python tool.py", "python"),
        ("python -m pytest", "python -m"),
    ],
)
def test_rule_with_other_or_fewer_words_does_not_allow(root: Path, text: str, rule: str) -> None:
    assert verdict(root, text, (rule,)) is Policy.ASK


@pytest.mark.parametrize(
    "text",
    [
        "git push",
        "ls && git push",
        "cd pkg && git push",
        "git -C pkg push",
        "git --git-dir=x push",
        "git -c a=b push",
        "git --no-pager push",
        "GIT_DIR=x git push",
        "env git push",
        "env A=1 git push",
        "env -i git push",
        "command git push",
        "\\git push",
        '"git" push',
        "g''it push",
        "/usr/bin/git push",
        "timeout 5 git push",
        "timeout -k 3 5 git push",
        "xargs git push",
        "sudo git push",
        "sudo -u x git push",
        "nohup nice git push",
        "bash -c 'git push'",
        "sh -c 'ls; git push'",
        "bash -c \"bash -c 'git push'\"",
        "eval git push",
        "eval 'git push'",
        "echo $(git push)",
        "echo `git push`",
        "if true; then git push; fi",
        "f() { git push; }; f",
        "cat <(git push)",
        "(git push)",
        "git push > /dev/null",
        "uv run git push",
        "exec git push",
        "time git push",
    ],
)
def test_deny_rule_covers_each_spelling(root: Path, text: str) -> None:
    assert verdict(root, text, ("*",), deny=("git push",)) is Policy.DENY
    assert verdict(root, text, ("*",), ask=("git push",)) is Policy.ASK


def parts(root: Path, text: str) -> Weighed:
    return weigh(text, root, root)


def test_reason_names_the_part(root: Path) -> None:
    (log, status) = parts(root, "git log --output=f; git status").parts
    assert log.always_asks == "git log --output=f can write a file or run a program"
    assert status.always_asks is None
    (part,) = parts(root, "echo $(rm x)").parts
    assert part.always_asks is not None
    assert "`$(rm x)` runs a command to build a word" in part.always_asks


def test_answer_is_stored_for_the_leading_words_only(root: Path) -> None:
    leading = {
        text: parts(root, text).parts[0].leading
        for text in ("git log -3", "pytest -x a.py", "rm a.txt", "git push", "env ls", "sudo ls")
    }
    assert leading == {
        "git log -3": ("git", "log"),
        "pytest -x a.py": ("pytest",),
        "rm a.txt": (),
        "git push": (),
        "env ls": ("ls",),
        "sudo ls": (),
    }


def test_path_is_resolved_against_the_changed_folder(root: Path) -> None:
    assert verdict(root, "cd pkg && echo x > b.txt", deny=()) is Policy.ASK
    written = [part.written for part in parts(root, "cd pkg && echo x > b.txt").parts]
    assert set(written) == {None, "b.txt", "pkg/b.txt"}


def test_link_that_leaves_the_repository_asks(root: Path) -> None:
    (root / "escape").symlink_to("/")
    assert verdict(root, "cat escape/etc/hosts") is Policy.ASK
    assert verdict(root, "cd escape && ls") is Policy.ASK
    assert verdict(root, "echo x > escape/tmp/new/f") is Policy.ASK


def test_pattern_that_matches_an_option_asks(root: Path) -> None:
    assert verdict(root, "ls *") is Policy.ASK
    (root / "-rf").unlink()
    assert verdict(root, "ls [a-z]*") is Policy.ALLOW
