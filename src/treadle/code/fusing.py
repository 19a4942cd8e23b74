"""One score of what words, vectors and whole files say of an item, and of a file."""

from collections.abc import Iterable, Mapping, Sequence

from treadle.code.questions import Question, Weights
from treadle.code.ranking import Alike, Found, Hit, Similarities, by_score, file_worth, is_test
from treadle.code.terms import terms_of_word
from treadle.code.whole_files import WholeFile

SIMILARITY_ON_TOP = 0.4
"""The part that is its similarity by an embedder on top (docs/decisions/0016)."""
_SHORTEST, _TYPICAL, _LONGEST = 3, 20, 60
"""Lines of items between which the length counts, and those of one whose score stays."""
_NEXT_ITEMS = 3
_NEXT_SHARE = 0.2
TEXT = 0.4
"""What a document or a setting is worth by its whole text, which is longer than that of code."""
_STEM, _FOLDER, _FOLDERS = 0.2, 0.2, 0.15
"""What words of the query in the name of a file, of its folder, and of each folder add."""
_MOST_FOLDERS = 3


def fused_hits(found: Found, alike: Alike, limit: int | None = None) -> list[Hit]:
    """What was found by words and by vectors, the best first, ties by path and line."""
    hits, weights = found.hits, found.question.weights
    scores = own_scores(hits, alike.own or {}, weights)
    files = file_scores(found, scores)
    part = weights.file / (max(files.values(), default=0.0) or 1.0)
    scores = [
        score + part * files[hit.file_id] * hit.worth
        for hit, score in zip(hits, scores, strict=True)
    ]
    scores = with_best(hits, scores, alike.best)
    framed = found.framed.items
    scores = [
        score + weights.framed * framed.get(hit.item_id, 0.0) * hit.worth
        for hit, score in zip(hits, scores, strict=True)
    ]
    least = min(sorted(scores, reverse=True)[:limit], default=0.0)
    return by_score(
        hit._replace(score=score) for hit, score in zip(hits, scores, strict=True) if score >= least
    )[:limit]


def own_scores(hits: Sequence[Hit], own: Similarities, weights: Weights) -> list[float]:
    """A score of each hit by its words, its own vector and its length; the best has 1."""
    words = [hit.score for hit in hits]
    similar = [hit.worth * max(own.get(hit.item_id, 0.0), 0.0) for hit in hits]
    scores = _joined(words, similar, weights.similarity if own else 0.0)
    if weights.length:
        lengths = [hit.end_line - hit.start_line + 1 for hit in hits]
        scores = [
            score * (min(max(lines, _SHORTEST), _LONGEST) / _TYPICAL) ** weights.length
            for score, lines in zip(scores, lengths, strict=True)
        ]
    most = max(scores, default=0.0) or 1.0
    return [score / most for score in scores]


def with_best(
    hits: Sequence[Hit], scores: Sequence[float], best: Similarities | None
) -> list[float]:
    """`scores` with a part of the similarities by an embedder on top, if there is one."""
    if not best:
        return list(scores)
    return _joined(scores, [best.get(hit.item_id, 0.0) for hit in hits], SIMILARITY_ON_TOP)


def _joined(words: Sequence[float], similar: Sequence[float], similarity: float) -> list[float]:
    """Two scores in one, each as a share of its best; `similarity` is the part of the second.

    How far apart candidates are says more than their ranks (docs/decisions/0016, 0057).
    """
    of_words = (1 - similarity) / (max(words, default=0.0) or 1.0)
    of_similar = similarity / (max(similar, default=0.0) or 1.0)
    return [of_words * one + of_similar * other for one, other in zip(words, similar, strict=True)]


def file_scores(found: Found, scores: Sequence[float]) -> dict[int, float]:
    """The scores of files by id: of their best items, whose `scores` are given, and by whole text.

    The files of all hits are among them.
    """
    question = found.question
    paths = {hit.file_id: hit.file for hit in found.hits}
    paths.update((file.id, file.path) for file in found.files)
    boosts = {number: path_boost(path, question) for number, path in paths.items()}
    totals: dict[int, float] = dict.fromkeys(paths, 0.0)
    for part, scored in (
        (1.0, by_items(found.hits, scores, _NEXT_ITEMS)),
        (question.weights.whole_file, _by_text(found.files)),
    ):
        worth = {number: score * boosts[number] for number, score in scored.items()}
        for number, share in share_of_best(worth).items():
            totals[number] += part * share
    for number, likely in found.framed.files.items():
        if number in totals:
            totals[number] += question.weights.framed_file * likely * min(1.0, boosts[number])
    return totals


def share_of_best(scores: Mapping[int, float]) -> dict[int, float]:
    """Scores as shares of the best one."""
    most = max(scores.values(), default=0.0) or 1.0
    return {key: score / most for key, score in scores.items()}


def by_items(hits: Sequence[Hit], scores: Sequence[float], next_items: int) -> dict[int, float]:
    """By file id the score of its best item, and a share of those of the next ones."""
    by_file: dict[int, list[float]] = {}
    for hit, score in zip(hits, scores, strict=True):
        by_file.setdefault(hit.file_id, []).append(score)
    found: dict[int, float] = {}
    for number, of_file in by_file.items():
        best, *others = sorted(of_file, reverse=True)[: 1 + next_items]
        found[number] = best + _NEXT_SHARE * sum(others)
    return found


def _by_text(files: Iterable[WholeFile]) -> dict[int, float]:
    """BM25 of each file by id, times what a file of its kind is worth."""
    found: dict[int, float] = {}
    for file in files:
        _, _, worth = file_worth(file.path, file.origin)
        found[file.id] = file.score * worth * (TEXT if file.is_text else 1.0)
    return found


def path_boost(path: str, question: Question) -> float:
    """What the path of a file is worth: tests less, in a task words of the query more."""
    tests = 1.0 if question.wants_tests or not is_test(path) else question.weights.test_file
    if not question.weights.path:
        return tests
    *folders, name = path.split("/")
    wanted = question.terms
    shares = [_share(folder, wanted) for folder in folders]
    said = sum(share > 0.5 for share in shares)
    return (
        tests
        * (1 + _STEM * _share(name.partition(".")[0], wanted))
        * (1 + _FOLDER * (shares[-1] if shares else 0.0))
        * (1 + _FOLDERS * min(said, _MOST_FOLDERS))
    )


def _share(text: str, wanted: Mapping[str, float]) -> float:
    """The share of a name's parts that the query says."""
    terms = terms_of_word(text)
    terms = terms[:-1] or terms
    return sum(wanted.get(term, 0.0) for term in terms) / len(terms) if terms else 0.0
