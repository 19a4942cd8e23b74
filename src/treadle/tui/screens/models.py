"""The picker of models. It lists the models of all providers that can be used."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.content import Content

from treadle.app.model_catalog import ListedModel, ListedModels, TokenPrices
from treadle.errors import TreadleError, UsageError
from treadle.llm import ModelTest
from treadle.llm.profiles import EMBEDDED, UNNAMED
from treadle.llm.vendors import Vendor
from treadle.tui.actions import Where
from treadle.tui.key_bindings import bindings
from treadle.tui.screens.picker import CLOSE_BINDINGS, LIST_BINDINGS, Picker, filtered
from treadle.tui.screens.row_list import Row, fields
from treadle.tui.text import foreign, foreign_line
from treadle.tui.workbench import Workbench

UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Choice:
    """A model of a provider.

    `model` is None for a provider that does not answer or lists no models.
    """

    provider: ListedModels
    model: ListedModel | None

    @property
    def name(self) -> str:
        """The name of the model in settings and command-line options."""
        return f"{self.provider.provider}/{self.model.id}" if self.model else self.provider.provider


class ModelsScreen(Picker[Choice, str]):
    """Lets the person choose the model of this session, and returns its name."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *LIST_BINDINGS,
        *CLOSE_BINDINGS,
        *bindings(Where.MODELS, priority=True),
    ]
    TITLE_TEXT = "Models"
    ENTER = "Use"
    PLACE = Where.MODELS
    FILTER = "Type to find a model. “tools” or “images” finds models that take them."
    EMPTY = "No provider is set up, so there are no models."
    NO_MATCH = "No model matches."

    def __init__(self, workbench: Workbench, current: str | None) -> None:
        """`current` is the model of the session, or None if the settings select it."""
        super().__init__()
        self._workbench = workbench
        self._current = current
        self._providers: Sequence[ListedModels] | None = None
        self._tests: dict[str, ModelTest | None] = {}
        self._vendors: dict[str, Sequence[Vendor] | str] = {}

    async def find_rows(self, query: str) -> Sequence[Row[Choice]]:
        """Return the models by provider, and the providers that do not answer."""
        if self._providers is None:
            self.show_message("Asking the providers for their models…")
            self._providers = (await self._workbench.models()).data
            self.show_message("")
            self.call_after_refresh(self._highlight_current)
        rows = [row for provider in self._providers for row in self._provider_rows(provider)]
        return filtered(rows, query)

    def summary(self) -> Content:
        """Return the number of models, and the model of the session."""
        count = sum(len(each.models) for each in self._providers or ())
        current = foreign_line(self._current or "chosen by your settings", columns=60)
        return Content.assemble(f"{count:,}  now: ", current)

    async def preview(self, value: Choice, columns: int) -> Content:  # noqa: ARG002
        """Return everything that is known about a model or a provider."""
        return Content("\n").join(self._facts(value))

    async def choose_row(self, value: Choice) -> None:
        """Use the model in this session."""
        self._check(value)
        self.finish(value.name)

    # The methods that run the actions in `treadle.tui.actions`.

    @work
    async def action_save_model(self) -> None:
        """Save the model in the configuration, and use it."""
        if (value := await self.settled()) is None:
            return
        try:
            self._check(value)
            saved = await self._workbench.save_model(value.name)
        except TreadleError as error:
            self.show_error(error)
            return
        text = f"{value.name} is saved in {saved.path}."
        if saved.overridden_by is not None:
            text += f" {saved.overridden_by} has priority when Treadle starts."
        self.app.notify(foreign(text).plain, markup=False)
        self.finish(value.name)

    @work
    async def action_test_model(self) -> None:
        """Ask the model a small question."""
        value = await self.settled()
        if value is None or self._tests.get(value.name, ...) is None:
            return
        self._tests[value.name] = None
        self.show_message(f"Asking {value.name}…")
        self.reload_preview()
        model = None if value.model is None else value.model.id
        try:
            tested = await self._workbench.test_model(value.provider.provider, model)
        except TreadleError as error:
            del self._tests[value.name]
            self.show_error(error)
            return
        self._tests[value.name] = tested
        self.show_message(_outcome(value.name, tested), error=not tested.reachable)
        self.reload_preview()

    @work
    async def action_show_vendors(self) -> None:
        """List the vendors of the model."""
        value = await self.settled()
        if value is None or value.model is None:
            return
        provider = value.provider.provider
        self.show_message(f"Asking {provider} for the vendors of {value.model.id}…")
        try:
            found = await self._workbench.model_vendors(provider, value.model.id)
        except TreadleError as error:
            self.show_error(error)
            return
        self._vendors[value.name] = found or f"{provider} lists no vendors for this model."
        self.show_message("" if found else f"{provider} lists no vendors for this model.")
        self.reload_preview()

    def _check(self, value: Choice) -> None:
        """Raise UsageError if requests cannot go to the provider."""
        if value.model is None:
            reason = value.provider.error or "It lists no models."
            raise UsageError(f"{value.provider.provider} cannot be used: {reason}")
        custom = any(each.provider == UNNAMED for each in self._providers or ())
        if custom and value.provider.provider != UNNAMED:
            raise UsageError(
                f"TREADLE_BASE_URL sends every request to its address, not to {value.name}.",
                hint="Start Treadle without TREADLE_BASE_URL.",
            )

    def _highlight_current(self) -> None:
        if self._current is not None and not self.query_text:
            self.highlight(self._current)

    def _provider_rows(self, provider: ListedModels) -> Iterator[Row[Choice]]:
        if provider.error is not None or not provider.models:
            yield _unreachable_row(Choice(provider, None))
        if provider.models:
            heading = _heading(provider)
            yield Row(f"{provider.provider}/", None, lambda _: heading)
        for model in provider.models:
            yield self._model_row(Choice(provider, model), model)

    def _model_row(self, choice: Choice, model: ListedModel) -> Row[Choice]:
        def draw(columns: int) -> Content:
            mark = "● " if choice.name == self._current else ""
            return fields(
                columns,
                Content.assemble((mark, "$text-primary"), foreign_line(model.id, columns=columns)),
                (Content(_window(model.context_window)), 6),
                (Content(_price(choice.provider, model.prices)), 13),
                (_ability(model.takes_tools, "tools"), 6),
                (_ability(model.takes_images, "images"), 7),
            )

        abilities = " tools" * bool(model.takes_tools) + " images" * bool(model.takes_images)
        return Row(choice.name, choice, draw, f"{choice.name}{abilities}")

    def _facts(self, value: Choice) -> Iterator[Content]:
        provider, model = value.provider, value.model
        yield foreign_line(value.name, "bold")
        if provider.base_url is not None:
            yield foreign_line(provider.base_url, "$text-muted")
        if provider.error is not None:
            yield Content()
            yield foreign(provider.error, "$text-error")
        if model is None:
            return
        if provider.latency is not None:
            yield Content.styled(f"answered in {provider.latency:.2f} s", "$text-muted")
        yield Content()
        window = model.context_window
        yield Content(f"context  {f'{window:,} tokens' if window else 'unknown'}")
        yield from _price_lines(provider, model.prices)
        yield Content(f"tools    {_known(model.takes_tools)}")
        yield Content(f"images   {_known(model.takes_images)}")
        if value.name in self._tests:
            tested = self._tests[value.name]
            yield Content()
            yield foreign("Asking…" if tested is None else _outcome(value.name, tested))
        vendors = self._vendors.get(value.name)
        if vendors is not None:
            yield Content()
            yield from _vendor_lines(vendors)


def _heading(provider: ListedModels) -> Content:
    name = foreign_line(provider.provider)
    return Content.assemble(name, "  ", foreign_line(provider.base_url or "", "not bold"))


def _unreachable_row(choice: Choice) -> Row[Choice]:
    error = choice.provider.error or "It lists no models."

    def draw(columns: int) -> Content:
        name = foreign_line(choice.provider.provider, columns=columns)
        reason = foreign_line(error, "$text-error", columns=columns)
        return Content.assemble("✗ ", name, ": ", reason)

    return Row(f"{choice.name}!", choice, draw, f"{choice.name} {error}")


def _window(tokens: int | None) -> str:
    if tokens is None:
        return UNKNOWN
    if tokens >= 1_000_000:
        return f"{tokens / 1_000_000:.3g}M"
    return f"{tokens / 1_000:.0f}k" if tokens >= 1_000 else str(tokens)


def _is_here(provider: ListedModels) -> bool:
    """Whether the models of a provider run on this machine. Their calls have no price."""
    address = provider.base_url or ""
    here = ("http://127.", "http://localhost", "http://[::1]")
    return provider.provider == EMBEDDED or address.startswith(here)


def _price(provider: ListedModels, prices: TokenPrices | None) -> str:
    if prices is None:
        return "local" if _is_here(provider) else UNKNOWN
    return f"{_dollars(prices.input)}/{_dollars(prices.output)}"


def _dollars(price: float | None) -> str:
    return UNKNOWN if price is None else f"${price:.4g}"


def _ability(takes: bool | None, name: str) -> Content:
    if takes is None:
        return Content.styled(f"{name}?", "$text-muted")
    return Content.styled(name, "$text-success") if takes else Content.styled("–", "$text-muted")  # noqa: RUF001


def _known(takes: bool | None) -> str:
    return "unknown" if takes is None else "yes" if takes else "no"


def _price_lines(provider: ListedModels, prices: TokenPrices | None) -> Iterator[Content]:
    if prices is None:
        here = "none: it runs on this machine" if _is_here(provider) else "unknown"
        yield Content(f"price    {here}")
        return
    yield Content(
        f"price    {_dollars(prices.input)} in, {_dollars(prices.output)} out for 1M tokens"
    )
    if prices.cached is not None:
        yield Content(f"         {_dollars(prices.cached)} for cached tokens")
    if prices.request:
        yield Content(f"         {_dollars(prices.request)} for each request")
    if prices.stepped:
        yield Content("         more for long inputs")


def _outcome(name: str, tested: ModelTest) -> str:
    if not tested.reachable:
        return f"{name} failed: {tested.error}"
    called = "called the tool" if tested.tool_call else "answered without calling the tool"
    return f"{name} {called} in {tested.latency or 0:.1f} s."


def _vendor_lines(vendors: Sequence[Vendor] | str) -> Iterator[Content]:
    if isinstance(vendors, str):
        yield foreign(vendors, "$text-muted")
        return
    yield Content.styled(f"{len(vendors)} vendors", "bold")
    for vendor in vendors:
        facts = [
            f"{_dollars(vendor.input_price)}/{_dollars(vendor.output_price)}",
            _window(vendor.context_window),
            {None: "tools?", True: "tools", False: "no tools"}[vendor.takes_tools],
        ]
        if vendor.quantization is not None:
            facts.append(vendor.quantization)
        if vendor.uptime is not None:
            facts.append(f"{vendor.uptime:.1f}% up")
        known = foreign_line(", ".join(facts), "$text-muted")
        yield Content.assemble(foreign_line(vendor.name, columns=40), "  ", known)
