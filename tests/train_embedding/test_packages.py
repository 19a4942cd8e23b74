"""The list has only permissive packages, and none that the benchmarks search."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from bench.retrieval.packages import CORPORA, Package, unpacked
from tools.train_embedding.licences import licence_of, permissive
from tools.train_embedding.packages import SUFFIXES, of_benchmarks, sources


def test_the_list_is_permissive_and_apart_from_the_benchmarks() -> None:
    listed = sources()
    assert listed
    assert [source for source in listed if not permissive(source.licence)] == []
    assert [source.name for source in listed if of_benchmarks(source.name)] == []
    assert {source.language for source in listed} <= set(SUFFIXES)
    assert len({(source.client, source.name) for source in listed}) == len(listed)
    assert all(of_benchmarks(package.name) for corpus in CORPORA for package in corpus.packages)


@pytest.mark.parametrize(
    "licence",
    [
        "MIT", "BSD-3-Clause AND MIT", "Apache License, Version 2.0", "GPL-2+ or MIT",
        "MIT/Apache-2.0", "BSD License; Apache Software License", "ISC License (ISCL)",
        "Apache-2.0 WITH LLVM-exception", "Python Software Foundation License",
    ],
)  # fmt: skip
def test_permissive_licences(licence: str) -> None:
    assert permissive(licence)


@pytest.mark.parametrize(
    "licence",
    ["", "GPL-3.0", "LGPL-2.1-only", "MIT AND GPL-2.0", "MPL-2.0", "EPL-2.0", "BUSL-1.1", "Other"],
)
def test_other_licences(licence: str) -> None:
    assert not permissive(licence)


@pytest.mark.parametrize(
    ("client", "place", "text", "licence"),
    [
        ("npm", "package/package.json", '{"license": "ISC"}', "ISC"),
        ("npm", "package/package.json", '{"license": {"type": "MIT"}}', "MIT"),
        ("wheel", "box-1.dist-info/METADATA", "Name: box\nLicense-Expression: MIT\n", "MIT"),
        ("wheel", "box-1.dist-info/METADATA", "Name: box\nLicense: UNKNOWN\n", ""),
        (
            "wheel",
            "box-1.dist-info/METADATA",
            "License: see\nClassifier: License :: OSI Approved :: BSD License\nName: box\n",
            "BSD License",
        ),
        (
            "apt",
            "usr/share/doc/box/copyright",
            "Files: *\nLicense: Expat\n Text of it\n\nFiles: debian/*\nLicense: GPL-2\n",
            "Expat",
        ),
        ("apt", "usr/share/doc/box/copyright", "Copyright: me, all of it\n", ""),
        ("source", "box-1/LICENSE.txt", "  Apache License\n  Version 2.0, of 2004\n", "Apache-2.0"),
        ("source", "box-1/LICENSE", "Apache License\nVersion 2.0\nGNU Public License", ""),
        ("source", "box-1/LICENCE", "All rights reserved\n", ""),
    ],
)
def test_the_licence_is_that_of_the_metadata(
    tmp_path: Path, client: str, place: str, text: str, licence: str
) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert licence_of(tmp_path, client) == licence


def test_links_outside_of_a_package_are_not_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def packed(command: list[str], cwd: Path, **_: object) -> subprocess.CompletedProcess[str]:
        with tarfile.open(cwd / "box-1.tgz", "w:gz") as archive:
            for name, target in (("out", "/usr/include"), ("in", "lid.js")):
                link = tarfile.TarInfo(f"package/{name}")
                link.type, link.linkname = tarfile.SYMTYPE, target
                archive.addfile(link)
            archive.addfile(tarfile.TarInfo("package/lid.js"))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", packed)
    folder = unpacked(Package("npm", "box", "1"), tmp_path) / "package"
    assert sorted(path.name for path in folder.iterdir()) == ["in", "lid.js"]
