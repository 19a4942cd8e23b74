"""Takes the pictures of the page in docs/images/page: every screen, filled by the showcase.

make pictures                                   all of them
python -m scripts.picture_page trace tools      those whose names begin so
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page

from scripts.small_png import small_png
from tests.page.browsing import NARROW, WIDE, browsing, context_of, find_browser
from tests.page.served import Served, serving
from tests.page.showcase.scene import Scene, Studied, showcase, studied

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "page"
_AT_HOME = """folder => {
    const places = [["/home/config", "/.config/treadle"], ["/repo", "/voyage"], ["", ""]];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        let shown = texts.currentNode.nodeValue;
        if (!shown.includes(folder)) continue;
        for (const [made, usual] of places) {
            shown = shown.replaceAll(folder + made, "/home/ada" + usual);
        }
        texts.currentNode.nodeValue = shown;
    }
}"""
"""Shows paths as on a person's machine, not the temporary folder."""
_SETTLED = "document.fonts.ready.then(() => new Promise(done => setTimeout(done, 400)))"


@dataclass(frozen=True, slots=True)
class Picture:
    """A screen to picture: its address, and the actions before."""

    name: str
    path: str
    keys: Sequence[str] = ()
    into_view: str = ""
    """A text to scroll to."""
    size: tuple[int, int] = WIDE
    dark: bool = False


def of_records(scene: Scene) -> list[Picture]:
    """Lists, traces, sessions: before any analysis, so that lists show the assistant."""
    past = scene.trips
    long = f"/traces/{past.comparison.trace_id}"
    booking = f"/traces/{past.booking.trace_id}"
    return [
        Picture("threads", "/threads"),
        Picture("threads-dark", "/threads", dark=True),
        Picture("threads-narrow", "/threads", size=NARROW),
        Picture("thread", f"/threads/{past.lisbon_thread}"),
        Picture("runs", "/runs"),
        Picture("runs-peek", "/runs?query=label:search,checkout", ("j", "j", "Space")),
        Picture("runs-by-model", "/runs?group=model"),
        Picture("runs-by-time", "/runs?group=time&query=since:1d -label:eval"),
        Picture("spans", "/traces?query=label:checkout"),
        Picture("trace", past.timeout.path),
        Picture("trace-dark", past.search_call.path, dark=True),
        Picture("trace-narrow", booking, size=NARROW),
        Picture("trace-long", long),
        Picture("trace-critical", f"{past.slow_answer.path}&critical=true"),
        Picture("trace-find", f"{long}?find=exchange_rate", ("n",)),
        Picture("trace-retrieval", past.policy.path),
        Picture("trace-failed-result", past.refund.path),
        Picture("sessions", "/sessions"),
        Picture(
            "session", f"/sessions/{scene.session}", into_view="Do that, with a test for the nine."
        ),
        Picture("proposals", "/proposals"),
        Picture("proposal", f"/proposals/{scene.proposal}"),
        Picture("proposal-dark", f"/proposals/{scene.proposal}", dark=True),
        Picture("tools", "/tools?tool=request_code_context"),
        Picture("models", "/models"),
        Picture("settings", "/settings"),
        Picture("settings-narrow", "/settings", size=NARROW),
        Picture("keys", booking, ("?",)),
    ]


def of_studies(scene: Scene, found: Studied) -> list[Picture]:
    """A person's work with the records: asking, experimenting, holding calls."""
    booking = f"{scene.trips.timeout.path}&analyst={found.conversation}"
    experiment = f"/experiments/{found.experiment}"
    return [
        Picture("analyst", booking),
        Picture("analyst-dark", booking, dark=True),
        Picture("analyst-whole", f"/analyst?analyst={found.conversation}"),
        Picture("analyst-narrow", f"/analyst?analyst={found.conversation}", size=NARROW),
        Picture("experiments", "/experiments"),
        Picture("experiment", experiment),
        Picture("experiment-results", f"{experiment}?tab=results&batch={found.batch}"),
        Picture("experiment-history", f"{experiment}?tab=history"),
        Picture("breakpoints", f"/breakpoints?held={found.held}"),
    ]


@dataclass(frozen=True, slots=True)
class Camera:
    """Take the pictures whose names begin with one of `wanted`."""

    browser: Browser
    folder: Path
    wanted: tuple[str, ...]

    def wants(self, name: str) -> bool:
        """Whether that picture is taken."""
        return name.startswith(self.wanted)

    def take(self, served: Served, pictures: Sequence[Picture]) -> None:
        """Take pictures of one server; any error in the page ends it."""
        for picture in pictures:
            if not self.wants(picture.name):
                continue
            context = context_of(self.browser, served.address, size=picture.size, dark=picture.dark)
            with context as (page, _):
                page.goto(picture.path)
                settle(page)
                for key in picture.keys:
                    page.keyboard.press(key)
                if picture.into_view:
                    page.get_by_text(picture.into_view).first.scroll_into_view_if_needed()
                settle(page)
                page.evaluate(_AT_HOME, str(served.repo.parent.resolve()))
                self.keep(page, picture.name)

    def take_empty(self) -> None:
        """Pictures of an empty server, and of a page whose server has stopped."""
        if not (self.wants("threads-empty") or self.wants("connection-lost")):
            return
        with ExitStack() as running, tempfile.TemporaryDirectory() as folder:
            served = running.enter_context(serving(Path(folder)))
            with context_of(self.browser, served.address) as (page, faults):
                page.goto("/threads")
                settle(page)
                self.keep(page, "threads-empty")
                faults.expect("ERR_|WebSocket")
                running.close()
                page.get_by_text("The server is not reachable.").wait_for()
                self.keep(page, "connection-lost")

    def keep(self, page: Page, name: str) -> None:
        """Write the picture of the page."""
        blank = self.browser.new_page()
        (self.folder / f"{name}.png").write_bytes(small_png(page.screenshot(), blank))
        blank.close()
        sys.stderr.write(f"{name}\n")


def settle(page: Page) -> None:
    """Wait until nothing loads or moves."""
    page.get_by_role("main").wait_for()
    page.wait_for_load_state("networkidle")
    loading = page.get_by_role("status").filter(has_text=re.compile("^Loading "))
    loading.first.wait_for(state="detached")
    page.evaluate(_SETTLED)


def main() -> None:
    """Take them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="beginnings of the names of pictures")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where to put them")
    given = parser.parse_args()
    executable = find_browser()
    if executable is None:
        sys.exit("There is no Chromium: run scripts/browser.sh.")
    given.folder.mkdir(parents=True, exist_ok=True)
    with browsing(executable) as browser, tempfile.TemporaryDirectory() as folder:
        camera = Camera(browser, given.folder, tuple(given.names) or ("",))
        with showcase(Path(folder)) as scene:
            camera.take(scene.served, of_records(scene))
            with studied(scene) as found:
                camera.take(scene.served, of_studies(scene, found))
        camera.take_empty()


if __name__ == "__main__":
    main()
