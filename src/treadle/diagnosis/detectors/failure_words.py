"""Words that name a kind of failure, and the negations of such words."""
# ruff: noqa: RUF001  (words of other scripts)

import re
from functools import cache
from typing import Any

import re2  # type: ignore[import-untyped]  # it ships no types

from treadle.diagnosis.detectors.finding import Kind, Severity

SEVERITIES = {
    Kind.ERROR: Severity.HIGH,
    Kind.EXCEPTION: Severity.HIGH,
    Kind.FAILED_TO: Severity.HIGH,
    Kind.UNAUTHORIZED: Severity.HIGH,
    Kind.FORBIDDEN: Severity.HIGH,
    Kind.EXIT_CODE: Severity.HIGH,
    Kind.NOT_FOUND: Severity.MEDIUM,
    Kind.DOES_NOT_EXIST: Severity.MEDIUM,
    Kind.TIMEOUT: Severity.MEDIUM,
    Kind.RATE_LIMIT: Severity.MEDIUM,
    Kind.INVALID: Severity.LOW,
    Kind.MISSING: Severity.LOW,
    Kind.UNDEFINED: Severity.LOW,
    Kind.NULL: Severity.LOW,
    Kind.EMPTY_RESULT: Severity.LOW,
}
"""The severity of each kind of failure.

An exit code is as severe as an error.
"""

OUR_KINDS = {
    "not_found": Severity.MEDIUM,
    "timeout": Severity.MEDIUM,
    "limit": Severity.MEDIUM,
    "denied": Severity.LOW,
    "cancelled": Severity.LOW,
}
"""The severities of the milder failures of Treadle's own tools.

The keys are kinds of failures in the results of these tools.
"""

_PHRASES: tuple[tuple[Kind, str, str], ...] = (
    (
        Kind.UNAUTHORIZED,
        (
            r"unauthori[sz]ed|not authori[sz]ed|unauthenticated"
            r"|authentication (?:failed|required|error)"
            r"|(?:invalid|incorrect|expired|bad|wrong) (?:api[ _-]?key|(?:access |auth )?token"
            r"|credentials?|password)"
            r"|log ?in (?:failed|required)|not logged in|could not authenticate"
            r"|(?:token|session) (?:has |is )?expired"
        ),
        "",
    ),
    (
        Kind.FORBIDDEN,
        (
            r"forbidden|access (?:is |was )?denied|permission (?:was )?denied"
            r"|(?:operation |is |are )?not (?:allowed|permitted)"
            r"|insufficient (?:permissions?|privileges?|scopes?|rights)"
            r"|outside (?:of )?(?:the )?(?:workspace|allowed|root|sandbox|project)"
            r"|blocked by (?:policy|robots|the)|(?:do|does)(?: not|n't) have (?:permission|access)"
            r"|zugriff verweigert|accès refusé|permission non accordée|acceso denegado"
            r"|permiso denegado|acesso negado|доступ запрещ[её]н|отказано в доступе"
        ),
        "权限不够|拒绝访问|アクセスが拒否",
    ),
    (
        Kind.RATE_LIMIT,
        (
            r"rate[ -]?limit(?:ed|ing|s)?|too many requests"
            r"|quota (?:has been |was )?(?:exceeded|exhausted)"
            r"|(?:exceeded|over) (?:your |the )?(?:current )?quota|throttl(?:ed|ing)"
            r"|resource exhausted"
        ),
        "频率限制|请求过多",
    ),
    (
        Kind.TIMEOUT,
        (
            r"tim(?:ed?|ing)[ -]?out|timeout|deadline (?:was )?exceeded|took too long"
            r"|zeitüberschreitung|délai (?:d'attente )?dépassé|tiempo de espera|время ожидания"
        ),
        "超时|タイムアウト",
    ),
    (
        Kind.DOES_NOT_EXIST,
        (
            r"(?:do|does|did)(?: not|n't) (?:currently )?exists?|no such|no longer exists?"
            r"|nonexistent"
            r"|(?:unknown|unrecogni[sz]ed) (?:tool|command|function|column|table|host|option|method"
            r"|argument|subcommand|database|user|model|action|parameter|id|endpoint|path)"
            r"|unknown (?:\pL+ ){1,3}?\pL+:|existiert nicht|n'existe pas|no existe|não existe"
            r"|не существует"
        ),
        "不存在|存在しません",
    ),
    (
        Kind.NOT_FOUND,
        (
            r"not (?:be )?found|(?:is|was|were|are|could|can)(?:n['’]t|['’]t) (?:be )?found"
            r"|(?:could|can)(?: ?not|n['’]t|['’]t) (?:find|locate|resolve)"
            r"|(?:could|can)(?: ?not|n['’]t|['’]t) be (?:found|located|resolved)"
            r"|(?:unable|fail(?:ed|s)?) to (?:find|locate|resolve)"
            r"|(?:was|were|is|are) unable to be (?:found|located|resolved)"
            r"|not recogni[sz]ed as|no matching distribution"
            r"|nicht gefunden|introuvable|non trouvé|no encontrad[oa]"
            r"|no se (?:encontró|ha encontrado)|não encontrad[oa]|non trovat[oa]|не найден\pL*"
            r"|did not appear|no match for|aucun fichier|niet gevonden|nie znaleziono|bulunamadı"
            r"|không tìm thấy|tidak ditemukan"
        ),
        "找不到|未找到|見つかりません|찾을 수 없|לא נמצא|غير موجود",
    ),
    (
        Kind.FAILED_TO,
        (
            r"fail(?:ed|s)|could(?: not|n't)|can(?:not|'t| not)|unable to|unsuccessful(?:ly)?"
            r"|aborted|refused|crashed|unreachable|went wrong"
            r"|(?:is|are|currently|temporarily) unavailable|service unavailable"
            r"|not available|rejected|not supported|unsupported|is not running|no space left"
            r"|out of memory|already (?:exists?|in use|running)|conflicts?|(?:is |disk )full"
            r"|overloaded"
            r"|not (?:mergeable|reachable|writable|readable|accessible|applicable|possible"
            r"|executable)"
            r"|is locked|deadlock|by zero|insufficient|exceed(?:s|ed|ing)|has not been"
            r"|have not been|not (?:performed|applied|made|modified)|unchanged"
            r"|(?:was|were|been|is|are) (?:currently )?(?:killed|rejected|offline|terminated"
            r"|cancell?ed|closed|disabled|declined"
            r"|blocked"
            r"|lost|overdrawn)|limit reached|not able|wasn't able|unexpectedly"
            r"|due to (?:an? )?(?:\pL+ )?limit|offline|too (?:large|long|many|big|small|short|old)"
            r"|reset by peer"
            r"|denied|none of (?:them|the)|no changes to|modified since|maximum (?:\pL+ )*length"
            r"|only .{1,40} (?:is|are) (?:allowed|supported)|mislukt"
            r"|no (?:replacements?|changes?|edits?|actions?) (?:was|were) (?:performed|made"
            r"|applied)"
            r"|was interrupted|fehlgeschlagen|konnte nicht|échoué|impossible de|falló|no se pudo"
            r"|falhou|não foi possível|fallit[oa]|impossibile|не удалось"
        ),
        "失败|無法|无法|失敗|できませんでした|실패",
    ),
    (
        Kind.INVALID,
        (
            r"invalid|malformed|illegal|bad request|no valid|out of (?:range|bounds)"
            r"|unexpected (?:token|argument|keyword|end|eof|character|indent)|not (?:a )?valid"
            r"|must (?:be|have|contain|match)|(?:did|does) not match"
            r"|expected .+ (?:but )?(?:got|found|received)"
            r"|ungültig\pL*|invalide|inválid[oa]|non valid[oa]|неверн\pL+|недопустим\pL+"
        ),
        "无效|無効",
    ),
    (
        Kind.MISSING,
        (
            r"missing|(?:is|are|was) required|required (?:field|parameter|argument|property|option)"
            r"|not (?:provided|specified|set|configured|initiali[sz]ed|installed)|fehlt|manquante?"
            r"|ausente|отсутствует"
        ),
        "缺少",
    ),
    (Kind.UNDEFINED, r"undefined|(?:is |are )?not defined", ""),
    (Kind.NULL, r"null (?:pointer|reference|value)|is null|nonetype", ""),
    (
        Kind.ERROR,
        r"errors?|exceptions?|failures?|fehler|erreur|errore|erro|ошибк[аи]|fatal|panic",
        "エラー|错误|錯誤|오류",
    ),
)
"""The words of each kind.

An entry has the kind, a pattern of whole words, and a pattern of words in scripts without spaces.
If a text contains words of several kinds, the kind that is first in this list counts.
"""


def _pattern(words: str, unspaced: str) -> str:
    # A word within a name, such as errors.md or error-boundary, does not count.
    whole = rf"(?:^|[^\pL\pN_./-])({words})(?:[^\pL\pN_./-]|[./-](?:[^\pL\pN]|$)|$)"
    return f"(?i){whole}|({unspaced})" if unspaced else f"(?i){whole}"


@cache  # compiling is slow, and most processes do not need the patterns
def _machines() -> tuple[Any, tuple[tuple[Kind, Any], ...]]:
    """Compile a pattern set that finds the kinds in a text, and a pattern for each kind."""
    any_kind = re2.Set.SearchSet()
    patterns = []
    for kind, words, unspaced in _PHRASES:
        pattern = _pattern(words, unspaced)
        any_kind.Add(pattern)
        patterns.append((kind, re2.compile(pattern)))
    any_kind.Compile()
    return any_kind, tuple(patterns)


_BEFORE = re.compile(
    r"(?:\b(?:no|without|zero|0|never|not|none|nor|non|free of|nothing is|nothing was"
    r"|keine?[nr]?|ohne|null|aucune?"
    r"|sans|pas d[e'’]|sin|ning[uú]n[oa]?|nessun[oa']?|senza|sem|nenhum[a]?|без|нет|geen|inga"
    r"|ingen)"
    r"(?:[ \t-](?:\w+[ \t]){0,2}|['’]\w*[ \t]?)|(?:没有|沒有|無|无|未发现|なし|0 ?个)\w{0,4})\Z",
    re.IGNORECASE,
)
"""Matches a negation at the end of the text before a word."""
_AFTER = re.compile(
    r"\w*[\"'`]?(?:\s?\(s\))?\s*(?:[:=]|=>|count:?|is|are|was|were)?\s*"
    r"(?:[\"'`(]?(?:0(?![\d.]*[1-9])|none|null|nil|no|n/?a|false|undefined|nan)"
    r"(?=\s*(?:$|[.,;:|)\]}\"'`]))|0 |\[\s*\]|\{\s*\}|\"\"|''|[-—]\s*$|[- ]free\b"
    r"|(?:没有|なし|はありません|нет\b|없))",
    re.IGNORECASE,
)
"""Matches a negation directly after a word."""
_NOTHING = re.compile(
    r"\s*(?:none|null|nil|no(?: errors?)?|n/?a|ok|okay|success(?:ful)?|0|false|undefined|nan|-|—)?"
    r"\s*[.!]?\s*",
    re.IGNORECASE,
)


def kind_of(text: str) -> tuple[Kind, int] | None:
    """Return the kind of failure that `text` names and the position of the word, or None.

    Raises UnicodeEncodeError if `text` contains a lone surrogate.
    """
    any_kind, patterns = _machines()
    for number in sorted(any_kind.Match(text) or ()):
        kind, pattern = patterns[number]
        for found in pattern.finditer(text):
            start, end = next(found.span(group) for group in (1, 2) if found.start(group) >= 0)
            if not negated(text, start, end):
                return kind, start
    return None


def severity_of(kind: Kind | None) -> Severity:
    """Return the severity of a failure whose text names `kind`.

    The severity is medium for kinds such as "not found" and "timeout". It is high for all other
    kinds and for None.
    """
    milder = kind is not None and SEVERITIES[kind] is Severity.MEDIUM
    return Severity.MEDIUM if milder else Severity.HIGH


def negated(text: str, start: int, end: int) -> bool:
    """Return whether the word from `start` to `end` is negated."""
    before = text[max(0, start - 32) : start]
    return bool(_BEFORE.search(before) or _AFTER.match(text, end, end + 40))


def says_nothing(text: str) -> bool:
    """Return whether the text of an error states that there is no error."""
    return len(text) <= 20 and _NOTHING.fullmatch(text) is not None
