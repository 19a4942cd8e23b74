"""Recognizes files that decide what runs, or where prompts and keys go.

A person must approve each change of such a file.
"""

from fnmatch import fnmatchcase

from treadle.file_names import comparable

PROTECTED_FOLDERS = frozenset({
    ".treadle", ".git", ".githooks", ".husky", ".github", ".gitlab", ".circleci", ".buildkite",
    ".woodpecker", ".drone", ".tekton", ".azure-pipelines", ".teamcity", ".ci", ".vscode", ".idea",
    ".devcontainer", ".fleet", ".zed", ".cursor", ".claude", ".continue", ".cargo", ".mvn",
    ".bundle",
    ".gitea", ".forgejo", ".semaphore", ".harness", ".builds", ".codex", ".gemini", ".windsurf",
    ".roo", ".kiro", ".amazonq", ".junie", ".opencode", ".clinerules", ".aider", ".vim", ".nvim",
    ".pnp", ".yarn", "node_modules", ".venv", "venv", "site-packages",
})  # fmt: skip
"""Names of folders whose files are all protected, in lower case.

Programs run commands or code from the files in these folders.
"""

PROTECTED_NAMES = frozenset({
    # ignore rules and git's settings of a repository
    ".gitignore", ".ignore", ".treadleignore", ".gitattributes", ".gitmodules", ".gitconfig",
    ".dockerignore", ".npmignore", ".editorconfig", ".mailmap",
    # continuous integration and hooks
    ".gitlab-ci.yml", ".gitlab-ci.yaml", ".travis.yml", ".appveyor.yml", "appveyor.yml",
    "azure-pipelines.yml", "azure-pipelines.yaml", "bitbucket-pipelines.yml", "jenkinsfile",
    ".drone.yml", ".woodpecker.yml", ".cirrus.yml", ".cirrus.star", ".build.yml", ".zuul.yaml",
    ".readthedocs.yaml", ".readthedocs.yml", ".gitpod.yml",
    "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml",
    ".pre-commit-config.yaml", ".pre-commit-hooks.yaml", "lefthook.yml", ".lefthook.yml",
    ".overcommit.yml", ".huskyrc", "codeowners", "renovate.json", ".renovaterc",
    # files of builds, tests and environments that name commands
    "makefile", "gnumakefile", "justfile", ".justfile", "taskfile.yml", "taskfile.yaml", "rakefile",
    "package.json", "setup.py", "setup.cfg", "pyproject.toml", "tox.ini", "noxfile.py",
    "conftest.py",
    "sitecustomize.py", "usercustomize.py", "pytest.ini", "tasks.py", "fabfile.py", "dodo.py",
    "build.rs", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts",
    "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd", "pom.xml", "build.xml", "build.sbt",
    "cmakelists.txt",
    "meson.build", "build", "build.bazel", "workspace", "workspace.bazel", "module.bazel",
    ".bazelrc",
    "configure", "configure.ac", "gemfile", "composer.json", "mix.exs", "rebar.config", "dune",
    "package.swift", "podfile", "directory.build.props", "directory.build.targets", "nuget.config",
    "dockerfile", "containerfile", "docker-compose.yml", "docker-compose.yaml", "compose.yml",
    "compose.yaml", "vagrantfile", "procfile", "tiltfile", "skaffold.yaml", "devbox.json",
    "pipfile", "poetry.toml", "pdm.toml", "hatch.toml", "pixi.toml", "pants.toml", "buck",
    ".buckconfig",
    "environment.yml", "environment.yaml", "setup.hs", "stack.yaml", "cabal.project", "project.clj",
    "deps.edn", "cargo.toml", "rust-toolchain", "rust-toolchain.toml", "go.mod", "go.work",
    "sconstruct", "sconscript", "wscript", "premake5.lua", "xmake.lua", "build.zig",
    "build.zig.zon",
    "cmakepresets.json", "build.ninja", "earthfile", "brewfile", "berksfile", "guardfile",
    "config.ru", "makefile.pl", "build.pl", "gradle.properties", "gradle-wrapper.properties",
    "global.json", "deno.json", "deno.jsonc", "turbo.json", "nx.json", "lerna.json", "project.json",
    "angular.json", "pnpm-workspace.yaml", "tsconfig.json", ".rspec", "phpunit.xml",
    "phpunit.xml.dist", "phpstan.neon", "phpstan.neon.dist", "psalm.xml", ".php-cs-fixer.php",
    "netlify.toml", "vercel.json", "heroku.yml", "serverless.yml", "pulumi.yaml", "dub.json",
    "package-lock.json", "npm-shrinkwrap.json", "bun.lockb", "pnpm-lock.yaml", "go.sum",
    "gemfile.lock", "composer.lock",
    "flake.nix", "shell.nix", "default.nix", ".envrc", ".mise.toml", "mise.toml", ".tool-versions",
    # settings of package managers, linters and editors. They may load code, or change the addresses
    # from which packages are downloaded.
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pnpmfile.js", ".pypirc", "pip.conf",
    ".bashrc", ".profile", ".zshrc", ".vimrc", ".exrc", ".nvimrc", ".lvimrc", ".dir-locals.el",
    ".gdbinit", ".lldbinit", ".pdbrc", ".pylintrc", ".mcp.json", "mcp.json", "agents.md",
    ".bash_profile", ".bash_login", ".bash_aliases", ".zshenv", ".zprofile", ".zlogin", ".inputrc",
    ".rprofile", ".irbrc", ".pryrc", ".nvim.lua", ".ycm_extra_conf.py", ".clangd",
    ".lfsconfig", ".wgetrc", ".curlrc", "pylintrc", ".flake8", ".coveragerc", "mypy.ini",
    ".mypy.ini", "uv.toml", "bunfig.toml", "opencode.json", "gemini.md", "agents.override.md",
    ".aider.conf.yml", ".sublime-project",
    "claude.md", ".cursorrules", ".windsurfrules", "copilot-instructions.md",
})  # fmt: skip
"""Names of protected files, in lower case."""

PROTECTED_PATTERNS = (
    "dockerfile.*", "*.dockerfile", "makefile.*", "*.mk", "jenkinsfile.*", "*.pth",
    "*.code-workspace", "*.sublime-project", ".?*ignore", "*.lock", "*.gradle", "*.gradle.kts",
    "*.sbt", "*.cabal", "*.cmake", "*.bzl", "*.rake", "*.egg-link", "constraints*.txt",
    "requirements*.in", ".mocharc*", ".nycrc*", ".stylelintrc*", "stylelint.config.*",
    ".lintstagedrc*", "lint-staged.config.*", ".commitlintrc*", "commitlint.config.*",
    "cypress.config.*", "tsup.config.*", "metro.config.*", "vue.config.*", "rspack.config.*",
    "ava.config.*", ".pnp.*", ".rubocop*.yml", "tsconfig.*.json",
    "docker-compose.*.yml", "docker-compose.*.yaml", "requirements*.txt", ".eslintrc*",
    "eslint.config.*", ".prettierrc*", "prettier.config.*", "babel.config.*", ".babelrc*",
    "webpack.config.*", "rollup.config.*", "vite.config.*", "vitest.config.*", "jest.config.*",
    "playwright.config.*", "karma.conf.*", "gulpfile.*", "gruntfile.*", "next.config.*",
    "nuxt.config.*", "tailwind.config.*", "postcss.config.*", "svelte.config.*", "astro.config.*",
    "*.gemspec", "*.podspec", "*.csproj", "*.fsproj", "*.vbproj", "*.vcxproj", "*.targets",
    "*.props",
    "*.service", "*.plist", "*.desktop",
)  # fmt: skip
"""Patterns of names of protected files, in lower case."""


def why_protected(relative: str) -> str | None:
    """Return why a change of the file at `relative` needs approval, or None.

    `relative` is a POSIX path relative to the root.
    """
    *folders, name = comparable(relative).split("/")
    for folder in folders:
        if folder in PROTECTED_FOLDERS:
            return (
                f"files in {folder} configure which programs run, or where prompts and keys are "
                "sent"
            )
    if name in PROTECTED_NAMES | PROTECTED_FOLDERS or any(
        fnmatchcase(name, pattern) for pattern in PROTECTED_PATTERNS
    ):
        return f"{name} configures which programs run, or which files are ignored"
    return None
