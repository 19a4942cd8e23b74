"""What is known about programs: wrappers, options that write or run something, and subcommands.

The tables list what needs a question every time. A program that no table names is an ordinary
program: a rule or a person allows it by its name.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh"})

_CHANGES_SHELL = frozenset({
    "eval", "source", ".", "exec", "trap", "alias", "unalias", "hash", "enable", "shopt",
    "declare", "typeset", "export", "readonly", "unset", "builtin", "bind", "complete", "pushd",
    "popd",
    "read", "mapfile", "readarray", "umask", "ulimit", "fc", "history", "let", "local", "getopts",
    "coproc",
    "printf",
})  # fmt: skip
"""Builtins that change how the shell runs later commands. `printf -v` sets a variable."""

_AS_OTHERS = frozenset({
    "sudo", "doas", "su", "pkexec", "runuser", "chroot", "unshare", "nsenter", "ssh", "setpriv",
    "systemd-run", "machinectl", "at", "batch", "crontab", "watch", "parallel", "script", "strace",
    "ltrace", "gdb", "expect", "flock", "busybox", "toybox", "start-stop-daemon", "daemonize",
    "dbus-run-session", "xvfb-run", "proot", "fakeroot", "firejail", "bwrap", "screen", "tmux",
    "entr", "socat", "ncat", "nc",
})  # fmt: skip
"""Programs that run any other program, often in a way that Treadle cannot follow."""

_INTERPRETERS = frozenset({
    "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua", "luajit", "tclsh", "wish",
    "osascript", "pwsh", "powershell", "Rscript", "julia", "groovy", "scala", "ghci", "irb", "erl",
    "elixir", "guile", "sbcl", "emacs", "vim", "vi", "nvim", "ed", "ex", "m4", "bc", "dc",
    "gnuplot", "sqlite3", "psql", "mysql", "jshell", "ts-node", "tsx", "pypy", "pypy3", "ipython",
    "gawk",
    "mawk", "nawk", "awk",
})  # fmt: skip
"""Programs that run code from an argument or a file."""

_PYTHON = re.compile(r"python(?:[23](?:\.\d+)?)?")

_RUNNERS: Mapping[str, frozenset[str]] = {
    "uv": frozenset({"run"}), "poetry": frozenset({"run"}), "pdm": frozenset({"run"}),
    "hatch": frozenset({"run"}), "rye": frozenset({"run"}), "pipenv": frozenset({"run"}),
    "bundle": frozenset({"exec"}), "npm": frozenset({"run", "exec", "run-script", "x"}),
    "pnpm": frozenset({"run", "exec", "dlx"}), "yarn": frozenset({"run", "exec", "dlx"}),
    "docker": frozenset({"run", "exec", "compose"}), "podman": frozenset({"run", "exec"}),
    "kubectl": frozenset({"exec", "run"}), "conda": frozenset({"run"}), "pipx": frozenset({"run"}),
    "cargo": frozenset({"run"}), "go": frozenset({"run", "tool"}), "mise": frozenset({"exec"}),
}  # fmt: skip
"""Subcommands that run another program. A grant or a rule has to name that program too."""

_STARTERS = frozenset({"npx", "bunx", "uvx", "pnpx", "just", "task"})
"""Programs whose first argument decides which program runs."""

_SUBCOMMANDS = frozenset({
    *_RUNNERS, *_STARTERS, "git", "pip", "pip3", "make", "gmake", "ninja", "apt", "apt-get", "brew",
    "dotnet", "gradle", "mvn", "gh", "glab", "helm", "terraform", "rake", "composer", "flutter",
    "dart", "swift", "mix", "stack", "cabal", "rustup", "systemctl", "service", "aws", "gcloud",
    "az", "hg", "svn", "jj", "nox", "tox", "pre-commit", "bazel", "cmake", "meson", "openssl",
})  # fmt: skip
"""Programs whose first argument says what they do."""

DESTRUCTIVE = frozenset({
    "rm", "rmdir", "mv", "dd", "shred", "truncate", "chmod", "chown", "chgrp", "kill", "pkill",
    "killall", "mkfs", "mount", "umount", "shutdown", "reboot", "wipefs", "unlink", "curl", "wget",
    "scp", "sftp", "rsync", "install", "ln", "tee", "patch", "cp",
})  # fmt: skip
"""Programs that a person never allows for ever. An `allow` rule can name them."""

_GIT_ONCE: Mapping[str, frozenset[str]] = {
    each: frozenset()
    for each in (
        "push", "reset", "clean", "checkout", "switch", "restore", "stash", "config", "rebase",
        "gc", "prune", "update-ref", "filter-branch", "filter-repo", "reflog", "worktree",
        "submodule", "remote", "rm", "mv", "am", "apply", "bisect", "replace", "notes",
        "cherry-pick", "revert", "merge", "pull", "clone", "init", "symbolic-ref", "update-index",
        "read-tree",
        "checkout-index", "sparse-checkout", "maintenance", "credential", "send-email", "svn",
        "fast-import", "lfs",
    )
} | {
    "branch": frozenset({
        "-d", "-D", "-m", "-M", "-c", "-C", "-f", "-u", "--delete", "--move", "--copy", "--force",
        "--set-upstream-to", "--unset-upstream", "--edit-description", "--track", "-t",
    }),
    "tag": frozenset({
        "-d", "-f", "-a", "-s", "-m", "-F", "-u", "--delete", "--force", "--annotate", "--sign",
        "--message", "--file", "--local-user",
    }),
}  # fmt: skip
"""Subcommands of git that lose or send work, and the options that make others do so.

An empty set means that the subcommand itself does it. An `allow` rule has to name the subcommand.
"""

_GIT_RISKY_LONG = (
    "--output", "--output-directory", "--ext-diff", "--textconv", "--open-files-in-pager",
    "--upload-pack", "--receive-pack", "--exec", "--extcmd", "--tool", "--filter-process",
    "--template", "--config", "--editor", "--show-function-pager", "--run", "--no-index",
    "--recurse-submodules", "--upload-archive",
)  # fmt: skip
_GIT_HARMLESS_GLOBALS = frozenset({"--no-pager", "--no-optional-locks", "--literal-pathspecs"})
_GIT_GLOBALS_WITH_VALUE = frozenset({
    "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env",
    "--exec-path", "--attr-source",
})  # fmt: skip
_GIT_RUNS = frozenset({
    "difftool", "mergetool", "filter-branch", "submodule", "bisect", "daemon", "instaweb", "gui",
    "citool", "web--browse", "help", "credential", "send-email", "svn", "p4", "cvsserver", "shell",
    "upload-pack", "receive-pack", "http-backend", "hook", "for-each-repo", "remote-ext", "archive",
    "upload-archive", "request-pull", "imap-send", "cvsimport", "cvsexportcommit",
    "interpret-trailers",
})  # fmt: skip
"""Subcommands of git that run programs which settings or arguments name."""


@dataclass(frozen=True, slots=True)
class _Options:
    """Options of a program that write files or run programs.

    `short` has letters of short options. `long` has long options, which may be abbreviated. `exact`
    has whole words, for programs whose long options begin with one dash.
    """

    short: str = ""
    long: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()

    def has(self, word: str) -> bool:
        """Whether an argument is one of these options."""
        if word.startswith(self.prefixes) or word.partition("=")[0] in self.exact:
            return True
        if word.startswith("--"):
            return _is_abbreviation(word, self.long)
        return word.startswith("-") and not self.exact and bool(set(word[1:]) & set(self.short))


_FIND = (
    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls",
    "-files0-from",
)  # fmt: skip

_RISKY: Mapping[str, _Options] = {
    "find": _Options(exact=_FIND),
    "fd": _Options("xX", ("--exec", "--exec-batch")),
    "fdfind": _Options("xX", ("--exec", "--exec-batch")),
    "rg": _Options("z", ("--pre", "--pre-glob", "--hostname-bin", "--search-zip")),
    "ag": _Options("", ("--pager",)),
    "grep": _Options("", ()),
    "sort": _Options("oTS", ("--output", "--compress-program", "--temporary-directory",
                             "--files0-from")),
    "tar": _Options("IFx", ("--to-command", "--use-compress-program", "--checkpoint-action",
                            "--info-script", "--new-volume-script", "--rsh-command",
                            "--rmt-command", "--extract", "--get", "--delete",
                            "--absolute-names")),
    "zip": _Options("T", ("--test", "--unzip-command")),
    "unzip": _Options("", ()),
    "tree": _Options("oR", ("--output",)),
    "less": _Options("oOkKtT", ("--log-file", "--LOG-FILE", "--lesskey-file"), prefixes=("+",)),
    "more": _Options(prefixes=("+",)),
    "man": _Options("PHC", ("--pager", "--html", "--config-file")),
    "date": _Options("s", ("--set",)),
    "xxd": _Options("r"),
    "hexdump": _Options(),
    "diff": _Options("", ("--to-file",)),
    "make": _Options("fCIo", ("--eval", "--file", "--makefile", "--directory")),
    "gmake": _Options("fCIo", ("--eval", "--file", "--makefile", "--directory")),
    "pytest": _Options("pco", ("--rootdir", "--confcutdir", "--basetemp", "--override-ini",
                               "--junit-xml", "--junitxml", "--log-file", "--pastebin", "--pdbcls",
                               "--debug", "--result-log", "--cov-config", "--import-mode")),
    "ruff": _Options("", ("--config", "--output-file", "--cache-dir")),
    "mypy": _Options("", ("--config-file", "--python-executable", "--install-types",
                          "--cache-dir", "--junit-xml", "--html-report", "--txt-report")),
    "cargo": _Options("Z", ("--config", "--manifest-path", "--target-dir"), prefixes=("+",)),
    "go": _Options("", (), ("-toolexec", "--toolexec", "-exec", "--exec", "-vettool", "--vettool",
                            "-o", "--o", "-overlay", "-modfile", "-C", "-ldflags", "-gcflags")),
    "javac": _Options("d", (), ("-processor", "-processorpath", "--processor-path",
                                "-J-javaagent", "-cp", "-classpath", "--class-path")),
    "java": _Options("", (), ("-javaagent", "-agentpath", "-agentlib", "-jar", "-cp",
                              "-classpath", "--class-path")),
    "gcc": _Options("oB", (), ("-wrapper", "-fplugin", "-specs")),
    "cc": _Options("oB", (), ("-wrapper", "-fplugin", "-specs")),
    "clang": _Options("oB", (), ("-fplugin", "-Xclang")),
    "npm": _Options("C", ("--prefix", "--script-shell", "--globalconfig", "--userconfig",
                          "--node-options", "--shell", "--call")),
    "eslint": _Options("co", ("--config", "--output-file", "--rulesdir", "--plugin", "--parser",
                              "--resolve-plugins-relative-to", "--format")),
    "jq": _Options("fL", ("--from-file", "--library-path")),
    "file": _Options("CmzZ", ("--compile", "--magic-file", "--uncompress")),
    "ps": _Options(),
    "split": _Options("", ("--filter",)),
    "csplit": _Options("fb", ("--prefix",)),
    "dig": _Options("f"),
    "iconv": _Options("o", ("--output",)),
    "base64": _Options("o", ("--output",)),
    "yq": _Options("i", ("--inplace", "--in-place", "--split-exp")),
    "black": _Options("", ("--config",)),
    "openssl": _Options("", (), ("-out", "-engine", "-provider", "-provider-path", "-config")),
    "curl": _Options("oOTKcDEd", ("--output", "--remote-name", "--upload-file", "--config",
                                  "--cookie-jar", "--dump-header", "--data", "--form", "--trace",
                                  "--stderr", "--engine", "--libcurl")),
    "wget": _Options("Oiae", ("--output-document", "--post-file", "--body-file", "--execute",
                              "--use-askpass", "--append-output", "--output-file", "--config",
                              "--directory-prefix")),
    "rsync": _Options("e", ("--rsh", "--rsync-path", "--log-file", "--daemon")),
    "scp": _Options("SoF"),
    "sftp": _Options("SoFb"),
    "pip": _Options("", ("--target", "--prefix", "--root", "--python", "--config-settings",
                         "--report", "--log")),
    "pip3": _Options("", ("--target", "--prefix", "--root", "--python", "--config-settings",
                          "--report", "--log")),
}  # fmt: skip

_SED_OPTIONS = frozenset({"-n", "-E", "-r", "-s", "-nE", "-En", "-nr", "--quiet", "--silent"})
_ADDRESS = r"(?:\d+|\$|/[^/\\]*/)"
_SED_SCRIPT = re.compile(
    rf"(?:{_ADDRESS}(?:,{_ADDRESS})?)?\s*(?:[pdq=]|s([/|,#])(?:(?!\1)[^\\\n]|\\.)*\1"
    r"(?:(?!\1)[^\\\n]|\\.)*\1[gIip0-9]*)"
)
"""Scripts of sed that only print, delete or replace text of the stream."""

_AWK_SCRIPT = re.compile(
    r"(?:(?!system|getline|close|printf|@|\||>|\bload\b|\binclude\b).)*", re.DOTALL
)
_AWK = frozenset({"awk", "gawk", "mawk", "nawk"})


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known about a command.

    `always_asks` is a reason to ask every time, or None. `leading` has the words that a stored
    answer covers; it is empty if an answer is never stored. An `allow` rule has to name at least
    `least` words. `inner` has the words of the program that the command runs in turn. If
    `is_wrapper`, the inner command is weighed in place of this one.
    """

    always_asks: str | None = None
    leading: tuple[str, ...] = ()
    least: int = 1
    inner: tuple[str, ...] = ()
    is_wrapper: bool = False
    spellings: tuple[tuple[str, ...], ...] = ()


def knowledge_of(words: Sequence[str]) -> Knowledge:
    """Return what is known about a command with these words."""
    name = words[0].rpartition("/")[2]
    if name in _CHANGES_SHELL:
        return _builtin(name, words)
    if name in _AS_OTHERS | SHELLS:
        return Knowledge(f"{name} runs other commands", inner=_after_options(words))
    special = {"git": _git, "sed": _sed} | dict.fromkeys(_AWK, _awk)
    if name in special:
        return special[name](words)
    if name in _WRAPPERS:
        return _wrapped(name, words)
    if _PYTHON.fullmatch(name) or name in _INTERPRETERS:
        return _interpreter(name, words)
    return _program(name, words)


def _builtin(name: str, words: Sequence[str]) -> Knowledge:
    if name == "printf" and not any(word.startswith("-v") for word in words[1:]):
        return Knowledge(leading=(words[0],))
    return Knowledge(f"{name} can change how later commands run", inner=tuple(words[1:]))


def _program(name: str, words: Sequence[str]) -> Knowledge:
    if risky := _risky_option(name, words[1:]):
        return Knowledge(f"{name} {risky} can write a file or run a program")
    if name in ("make", "gmake") and any("=" in word for word in words[1:]):
        return Knowledge(f"{name} with variables can run any program")
    if name in DESTRUCTIVE:
        return Knowledge(leading=(), least=1)
    return _ordinary(name, words)


def _ordinary(name: str, words: Sequence[str]) -> Knowledge:
    """A program that a stored answer covers together with its subcommand."""
    if name not in _SUBCOMMANDS:
        return Knowledge(leading=(words[0],))
    second = words[1] if len(words) > 1 else ""
    if not second or second.startswith("-"):
        return Knowledge(leading=(), least=2)
    if second not in _RUNNERS.get(name, ()):
        return Knowledge(leading=tuple(words[:2]), least=2 if name in _STARTERS else 1)
    third = words[2] if len(words) > 2 else ""
    inner = _after_options(words[1:])
    if not third or third.startswith("-"):
        return Knowledge(leading=(), least=3, inner=inner)
    shell_or_code = knowledge_of(words[2:]).always_asks if name != "npm" else None
    return Knowledge(shell_or_code, leading=tuple(words[:3]), least=3, inner=inner)


def _risky_option(name: str, arguments: Sequence[str]) -> str | None:
    """Return the first argument that is an option which writes or runs something, or None."""
    options = _RISKY.get(name)
    if options is None:
        return None
    if name == "tar" and arguments and not arguments[0].startswith("-"):
        arguments = [f"-{arguments[0]}", *arguments[1:]]  # as in `tar xf a.tar`
    return next((word for word in arguments if options.has(word)), None)


def _is_abbreviation(word: str, options: Sequence[str]) -> bool:
    name = word.partition("=")[0]
    return len(name) > 2 and any(option.startswith(name) for option in options)


def _git(words: Sequence[str]) -> Knowledge:
    """git: its options before the subcommand can run programs and choose another repository."""
    at = 1
    reason = None
    while at < len(words) and words[at].startswith("-"):
        if words[at] not in _GIT_HARMLESS_GLOBALS:
            reason = reason or (
                f"git {words[at].partition('=')[0]} can choose another repository or run a program"
            )
        at += 2 if words[at] in _GIT_GLOBALS_WITH_VALUE else 1
    plain = ("git", *words[at:])
    spellings = (plain,) if at > 1 else ()
    if reason or at >= len(words):
        return Knowledge(reason, least=2, spellings=spellings)
    subcommand, arguments = words[at], words[at + 1 :]
    if subcommand in _GIT_RUNS:
        reason = f"git {subcommand} can run a program"
    elif risky := next((each for each in arguments if _is_risky_for_git(subcommand, each)), None):
        reason = f"git {subcommand} {risky} can write a file or run a program"
    elif any("::" in each for each in arguments):
        reason = "an address with :: can run a program"
    if reason:
        return Knowledge(reason, spellings=spellings)
    losing = _GIT_ONCE.get(subcommand)
    if losing is None:
        return Knowledge(leading=("git", subcommand) if at == 1 else (), spellings=spellings)
    found = next((each for each in arguments if _is_one_of(each, losing)), None)
    if losing and found is None:
        return Knowledge(leading=("git", subcommand) if at == 1 else (), spellings=spellings)
    # A rule for `git branch` does not cover `git branch -D`.
    return Knowledge(least=3 if losing else 2, spellings=spellings)


def _is_risky_for_git(subcommand: str, word: str) -> bool:
    if word.startswith("--"):
        return _is_abbreviation(word, _GIT_RISKY_LONG)
    if not word.startswith("-"):
        return False
    letters = {"grep": "O", "rebase": "x", "fetch": "u", "pull": "u", "ls-remote": "u",
               "format-patch": "o", "clone": "uc"}.get(subcommand, "")  # fmt: skip
    return bool(set(word[1:]) & set(letters))


def _is_one_of(word: str, options: frozenset[str]) -> bool:
    if word.startswith("--"):
        return _is_abbreviation(word, [each for each in options if each.startswith("--")])
    letters = {each[1] for each in options if len(each) == 2}
    return word.startswith("-") and bool(set(word[1:]) & letters)


def _awk(words: Sequence[str]) -> Knowledge:
    arguments = list(words[1:])
    while len(arguments) > 1 and arguments[0].startswith("-F"):
        del arguments[: 2 if arguments[0] == "-F" else 1]
    if not arguments or arguments[0].startswith("-") or not _AWK_SCRIPT.fullmatch(arguments[0]):
        return Knowledge(f"{words[0]} runs a script that can write files and run programs")
    return Knowledge(leading=(words[0],))


def _sed(words: Sequence[str]) -> Knowledge:
    arguments = [each for each in words[1:] if each not in _SED_OPTIONS]
    if arguments[:1] == ["-e"] and "-e" not in arguments[1:]:
        arguments = arguments[1:]
    if (
        not arguments
        or not _SED_SCRIPT.fullmatch(arguments[0])
        or any(each.startswith("-") for each in arguments[1:])
    ):
        return Knowledge("sed with such options or such a script can write files or run programs")
    return Knowledge(leading=(words[0],))


def _interpreter(name: str, words: Sequence[str]) -> Knowledge:
    """An interpreter. A rule has to name its script or its module."""
    if len(words) == 2 and words[1] in ("--version", "-V"):
        return Knowledge(leading=(), least=1)
    if _PYTHON.fullmatch(name) and len(words) > 2 and words[1] == "-m":
        inner = knowledge_of(words[2:])
        return Knowledge(
            inner.always_asks, leading=tuple(words[:3]), least=3, inner=tuple(words[2:])
        )
    if len(words) < 2 or words[1].startswith("-"):
        return Knowledge(f"{name} runs code that is not in a file, or its options decide what runs")
    return Knowledge(leading=(), least=2)


def _after_options(words: Sequence[str]) -> tuple[str, ...]:
    """The words from the first one that is not an option, as far as that can be known."""
    at = 1
    while at < len(words) and (words[at].startswith("-") or "=" in words[at]):
        at += 1
    return tuple(words[at:])


_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_WRAPPERS: Mapping[str, tuple[re.Pattern[str], int]] = {
    "env": (re.compile(r"--"), 0),
    "timeout": (
        re.compile(
            r"--(?:preserve-status|foreground|verbose|signal=\w+|kill-after=[\d.]+[smhd]?)|-v"
        ),
        1,
    ),
    "nice": (re.compile(r"-n\d+|-\d+|--adjustment=-?\d+"), 0),
    "nohup": (re.compile(r"--"), 0),
    "time": (re.compile(r"-p"), 0),
    "command": (re.compile(r"--|-p"), 0),
    "stdbuf": (re.compile(r"-[ioe][0L]|--(?:input|output|error)=[0L]"), 0),
    "ionice": (re.compile(r"-c[0-3]|-n[0-7]|-t"), 0),
    "setsid": (re.compile(r"-w|--wait"), 0),
    "xargs": (re.compile(r"(?!)"), 0),
}  # fmt: skip
"""Programs that run the program in their arguments.

The pattern matches the options that change nothing else. The number is the number of operands
before the inner program.
"""


def _wrapped(name: str, words: Sequence[str]) -> Knowledge:
    harmless, operands = _WRAPPERS[name]
    at = 1
    if name == "nice" and len(words) > 2 and words[1] == "-n" and re.fullmatch(r"-?\d+", words[2]):
        at = 3
    while at < len(words) and harmless.fullmatch(words[at]):
        at += 1
    if name == "command" and len(words) > 1 and words[1] in ("-v", "-V"):
        return Knowledge(leading=tuple(words[:2]))
    if name == "env" and at == len(words) == 1:
        return Knowledge(leading=())
    reason = None
    inner = tuple(words[at + operands :])
    if name == "timeout" and not all(map(_DURATION.fullmatch, words[at : at + 1])):
        reason = f"{name} has options that Treadle does not know"
    elif name == "xargs":
        reason = "xargs adds arguments that nobody has seen"
    elif not inner or inner[0].startswith("-"):
        reason = f"{name} has options that Treadle does not know"
    elif name == "env" and "=" in inner[0]:
        reason = "env sets variables that can decide what a program loads"
    if reason:
        return Knowledge(reason, inner=_after_options(words[operands:]) or inner)
    return Knowledge(inner=inner, is_wrapper=True)
