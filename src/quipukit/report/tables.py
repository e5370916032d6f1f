"""The tables of the report: Table 1 of the paper, its companions, the references, the formal side, radar and points."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from quipukit.measures.quipu import BACKWARDS, BUDGETS, NARROW, ORIGINAL, SHORT
from quipukit.report.narrative import cautions
from quipukit.report.radar import GAIN, equal_privacy, radar_frame
from quipukit.report.table_model import DASH, Cell, Section, Sheet, interval, number, percent, share
from quipukit.report.views import SCORES, Block
from quipukit.specs import format_value

WORSE, SINGLE, TURNS = "\N{DAGGER}", "\N{WHITE BULLET}", "\N{TILDE OPERATOR}"
NOT_RANKED, POOLS_MUCH = "\N{DIAMOND OPERATOR}", "\N{DOUBLE DAGGER}"
TURNED = "\N{LEFTWARDS ARROW}"
# Where more of the collection is pooled, even random words find what is relevant.
MOST_POOLED = 0.02
_GAP = Cell(DASH)

Rows = dict[tuple[str, str], tuple[Cell, ...]]


def table_1(blocks: Sequence[Block], attackers: Sequence[str] | None = None) -> Sheet:
    """Return QuIPU and hypervolume: mechanisms by strategy, attackers (all, or some) by collection and system."""
    judged = [block for block in blocks if block.judged]
    seeds = any(len(block.result.seeds) > 1 for block in judged)
    shown = {id(block): [who for who in block.attackers if attackers is None or who in attackers] for block in judged}
    sections = _by_mechanism(
        judged,
        lambda block, name: [cell for who in shown[id(block)] for cell in _score_cells(block, name, who)],
    )
    frames = [_scores_frame(block) for block in judged]
    words = [
        "QuIPU score of every mechanism against every attacker: twice the signed area between the diagonal of the "
        "risk-utility plane and the curve of its settings from most to least hidden; positive where more is found than "
        "given away. HV: hypervolume, the area under the best utility reached at each risk, over that of the original "
        "queries.",
        f"In brackets the 95 % interval over queries (studentized bootstrap); {DASH} where these cannot tell one.",
        "In braces the least and the largest score of a single noise seed."
        if seeds
        else "One noise seed; `quipukit evaluate --seeds 3` would show the spread over the noise.",
        "Bold: the best of a column.",
        f"{WORSE} significantly worse than the best (queries paired, labels exchanged and studentized draws, "
        "Holm's correction over all pairs of mechanisms, 5 %); without the mark, chance may explain the difference.",
        *(_over_queries(block) for block in judged),
        *dict.fromkeys(_cautions(block) for block in judged),
    ]
    flags = pd.concat(frames) if frames else pd.DataFrame({"single": [], "monotone": [], "unranked": []})
    if flags["single"].any():
        words.append(f"{SINGLE} single point: QuIPU is 0 wherever it lies, so it is not ranked.")
    if (flags["unranked"] == SHORT).any():
        words.append(
            f"{NOT_RANKED} the settings span less than {percent(NARROW)} of the diagonal, so that QuIPU is close to 0 "
            "whatever the mechanism does and is not ranked; nor is it called best by its hypervolume."
        )
    if (flags["unranked"] == BACKWARDS).any():
        words.append(
            f"{TURNED} on the whole the curve runs backwards, from more to less risk and utility, so that QuIPU has "
            "the sign of its opposite and nothing is ranked by it; if larger values hide more, declare hides_more."
        )
    if not flags["monotone"].all():
        words.append(f"{TURNS} not monotone: the curve runs backwards in part, and such parts count negatively.")
    return Sheet(
        name="table1",
        title="QuIPU score and hypervolume",
        headings=(
            "Mechanism",
            *(f"{who}{score}" for block in judged for who in shown[id(block)] for score in (" QuIPU", " HV")),
        ),
        groups=_groups(judged, lambda block: 2 * len(shown[id(block)])),
        sections=sections,
        frame=pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(),
        caption=" ".join(filter(None, words)),
    )


def companions(block: Block) -> Sheet:
    """Return what is found within a budget of risk; like the hypervolume it does not depend on the settings' order."""
    names = [f"best_{budget:g}" for budget in BUDGETS]
    best = block.scores.groupby("attacker")[names].max()

    def cells(who: str, name: str) -> list[Cell]:
        row = block.score_of(name, who)
        if row is None:
            return [_GAP] * len(names)
        return [
            Cell(number(row[column]), bold=bool(row["rankable"]) and row[column] == best[column][who])
            for column in names
        ]

    rows: Rows = {}
    for name in block.mechanisms:
        numbers = (cell for who in block.attackers for cell in cells(who, name))
        rows[block.result.strategies[name], name] = (Cell(name), *numbers)
    columns = ["strategy", "mechanism", "attacker", "measure", "hypervolume", *names, "anchored", "u0", "note"]
    return Sheet(
        name="companions",
        title="What is found within a budget of risk",
        headings=("Mechanism", *([f"U@{budget:g}" for budget in BUDGETS] * len(block.attackers))),
        groups=tuple((who, len(names)) for who in block.attackers),
        sections=_sections(rows),
        frame=_named_frame(block, block.scores[columns]),
        caption=f"U@0.05: the best {block.measure} among the settings with a risk of at most 0.05; {DASH} where none "
        "is that safe. Bold: the best of a column, unless its mechanism is not ranked. The best setting "
        "is chosen by its means on these queries: expect "
        "less utility and more risk on others, and see `quipukit recommend` for what can be certified.",
    )


def references(blocks: Sequence[Block]) -> Sheet:
    """Return risk and utility of Identity and Random, and what the original finds among as many documents."""
    judged = [block for block in blocks if block.judged]

    def deeper(block: Block) -> list[Cell]:
        found = block.ceilings["ceiling"]
        return [Cell(_range(found.min(), found.max())) if len(found) else _GAP, *[_GAP] * len(block.attackers)]

    def cells(block: Block, name: str) -> list[Cell]:
        curves = [block.curve(name, who) for who in block.attackers]
        utility = Cell(number(float(curves[0]["utility"].iloc[0]))) if len(curves[0]) else _GAP
        return [utility, *(Cell(number(float(rows["risk"].iloc[0]))) if len(rows) else _GAP for rows in curves)]

    frames = [
        _named_frame(block, block.points[block.points["mechanism"].isin(block.references)].drop(columns=["parameter"]))
        for block in judged
    ]
    sections = _by_mechanism(judged, cells, references=True)
    if any(len(block.ceilings) for block in judged):
        row = (Cell("Original, as many documents"), *(cell for block in judged for cell in deeper(block)))
        sections = (*sections, Section("", (row,)))
    names = {name for block in judged for name in block.references}
    caption = [
        "Utility, and risk against each attacker.",
        "Identity sends the query as it is and pools one list of documents, as in the paper." * (ORIGINAL in names),
        "Random sends random words: what the pool finds by chance." * ("Random" in names),
        "Each is one point, so none has a score.",
        "Original, as many documents: what the query as it is finds among as many documents as a setting pools (all "
        "that it finds, where its list ends earlier), over all settings; shares that are kept are of this."
        * any(len(block.ceilings) for block in judged),
    ]
    return Sheet(
        name="references",
        title="References",
        headings=("Mechanism", *(head for block in judged for head in (block.measure, *block.attackers))),
        groups=_groups(judged, lambda block: 1 + len(block.attackers)),
        sections=sections,
        frame=pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(),
        caption=" ".join(filter(None, caption)),
    )


def points(block: Block) -> Sheet:
    """Return risk, and utility where there is one, of every setting."""
    shown = block.points
    rows: Rows = {}
    strategies = block.result.strategies
    settings: dict[tuple[str, float], dict[str, dict[str, Any]]] = {}
    for row in shown.to_dict("records"):
        settings.setdefault((row["mechanism"], row["value"]), {})[row["attacker"]] = row
    for (name, value), by_attacker in settings.items():
        first = next(iter(by_attacker.values()))
        cells = [Cell(name), Cell(_value(first["parameter"], value))]
        if block.judged:
            cells += [_bounded(first, "utility"), *_kept_cells(first)]
        cells += [_bounded(by_attacker[who], "risk") for who in block.attackers]
        rows[strategies[name], f"{name}@{value}"] = tuple(cells)
    return Sheet(
        name="points",
        title="Every setting" if block.judged else "Risk of every setting",
        headings=(
            *("Mechanism", "Setting"),
            *([block.measure, "Original", "Kept", "Pooled"] if block.judged else []),
            *block.attackers,
        ),
        sections=_sections(rows),
        frame=_named_frame(block, shown),
        caption=("Mean utility, and mean risk against each attacker" if block.judged else "Mean risk")
        + ", with 95 % intervals over queries: of risks over all that were sent, of utilities over all that were "
        "judged. They hold for any number of queries, one setting at a time. Each mechanism stands from most to least "
        "hidden." + (f" {_over_queries(block)} {_KEPT}" if block.judged else "") + f" {_cautions(block)}".rstrip(),
        stubs=2,
    )


def formal(block: Block) -> Sheet:
    """Return what is promised on paper, and what leaks all the same, setting by setting."""
    rows: Rows = {}
    for row in block.settings.to_dict("records"):
        rows[row["strategy"], f"{row['mechanism']}@{row['value']}"] = (
            Cell(row["mechanism"]),
            Cell(_value(row["parameter"], row["value"])),
            Cell(row["guarantee"]),
            Cell(str(row["n"])),
            *(
                Cell(DASH if row[at] != row[at] else format_value(round(row[at], 6)))
                for at in ("budget", "budget_query")
            ),
            Cell(number(row["variants"], 1)),
            Cell(share(row["distinct"])),
            Cell(share(row["oov"])),
            Cell(row["oov_policy"] or DASH),
            Cell(number(row["n_x"])),
            Cell(share(row["kept_words"])),
            Cell(share(row["verbatim"])),
            Cell(share(row["any_verbatim"])),
            Cell(number(row["sentence_similarity"])),
            Cell(number(row["jaccard"])),
            Cell(str(row["nothing"]) if row["nothing"] else "0"),
        )
    return Sheet(
        name="formal",
        title="What is promised, and what leaks all the same",
        headings=(
            *("Mechanism", "Setting", "Guarantee of one variant", "N", "N \N{MULTIPLICATION SIGN} epsilon"),
            "N \N{MULTIPLICATION SIGN} L \N{MULTIPLICATION SIGN} epsilon",
            *("Sent", "Distinct", "OoV", "OoV policy", "N\N{LATIN SUBSCRIPT SMALL LETTER X}", "Kept words"),
            *("Verbatim", "Any verbatim", "Similarity", "Jaccard", "Nothing sent"),
        ),
        sections=_sections(rows),
        frame=_named_frame(block, block.settings),
        caption="N variants of one query multiply epsilon by N: the composed budget is what all that was sent promises "
        "together about a word; times L, about a query of L words (mean over the queries). "
        f"{_shared_noise(block)}Sent: variants per query in the mean. OoV: share of the queries' words outside the "
        "vocabulary. "
        "N\N{LATIN SUBSCRIPT SMALL LETTER X}: mean probability that a word stays as it is. Verbatim: share of the "
        "variants equal to the original; any verbatim: share of the queries with at least one of them. Nothing sent: "
        f"queries for which the mechanism found nothing to send. {DASH}: does not apply, or was not measured.",
        stubs=2,
        texts=(2, 9),
    )


def _shared_noise(block: Block) -> str:
    if block.result.manifest.get("noise") != "common":
        return ""
    return (
        "The noise is common to the settings of a mechanism, so each budget holds for its setting alone: outputs of "
        "several settings together have no finite guarantee. "
    )


def radar(block: Block) -> Sheet:
    """Return the three axes of ECIR 2024 and the area of the triangle."""
    frame = radar_frame(block)
    rows: Rows = {}
    ranked = block.scores.groupby("mechanism")["rankable"].all()
    for row in frame.to_dict("records"):
        numbers = (Cell(number(row[column])) for column in ("obfuscation", "recall", "gain"))
        best = row["area"] == frame["area"].max() and bool(ranked.get(row["mechanism"], False))
        largest = Cell(number(row["area"]), bold=best)
        names = (Cell(row["mechanism"]), Cell(_value(row["parameter"], row["value"])))
        rows[row["strategy"], f"{row['mechanism']}@{row['value']}"] = (*names, *numbers, largest)
    return Sheet(
        name="radar",
        title="Obfuscation, pooled recall, gain",
        headings=("Mechanism", "Setting", "Obfuscation", "Pooled recall", GAIN, "Area"),
        sections=_sections(rows),
        frame=_named_frame(block, frame),
        caption="Obfuscation: 1 \N{MINUS SIGN} mean sentence similarity of original and variants. Pooled recall: share "
        "of the relevant documents in the pool. Area: (\N{SQUARE ROOT}3 / 4)(ab + bc + ca), at most 1.299. Bold: the "
        "largest, unless its mechanism is not ranked (see the scores).",
        stubs=2,
    )


def equal(block: Block) -> Sheet:
    """Return the epsilons at which mechanisms are as similar to the original as the heuristics are."""
    frame = equal_privacy(block)
    heuristics = frame.drop_duplicates("heuristic")
    rows: Rows = {}
    for name, found in frame.groupby("mechanism", sort=False):
        cells = tuple(Cell(words) for words in found["words"])
        rows[found["strategy"].iloc[0], str(name)] = (Cell(str(name)), *cells)
    ranges = (f"{row.heuristic} {_range(row.similarity_low, row.similarity_high)}" for row in heuristics.itertuples())
    return Sheet(
        name="equal_privacy",
        title="Epsilons of equal privacy",
        headings=("Mechanism", *(f"as {name}" for name in heuristics["heuristic"])),
        sections=_sections(rows),
        frame=_named_frame(block, frame),
        caption="The epsilons at which a mechanism's sentence similarity is that of the heuristic, read from the line "
        "through its settings: from where it first meets the heuristic's range to where it last leaves it. "
        "Similarities: " + "; ".join(ranges) + ".",
        texts=tuple(range(1, 1 + len(heuristics))),
    )


def block_sheets(block: Block) -> list[Sheet]:
    """Return the tables of one block that hold anything."""
    found = [points(block), formal(block), equal(block)]
    if block.judged:
        found += [companions(block), radar(block)]
    return [sheet for sheet in found if not sheet.empty]


# --- cells and sections -------------------------------------------------------------------------------------------


_KEPT = (
    "Original: what the query as it is finds among as many documents as the setting pools; kept: the share of it that "
    "is found. Pooled: documents per query, and their share of the collection. "
    f"{POOLS_MUCH} more than {percent(MOST_POOLED)} of the collection is pooled, so that even random words find what "
    "is relevant: do not count on this utility."
)


def _score_cells(block: Block, name: str, who: str) -> list[Cell]:
    """Return QuIPU and hypervolume of a mechanism against an attacker."""
    row = block.score_of(name, who)
    if row is None:
        return [_GAP] * len(SCORES)
    flags = {
        WORSE: row["worse"],
        SINGLE: row["single"],
        NOT_RANKED: row["unranked"] == SHORT,
        TURNED: row["unranked"] == BACKWARDS,
        TURNS: not row["monotone"],
    }
    small = [interval(row["low"], row["high"])]
    if row["seeds"] > 1:
        small.append(f"{{{number(row['seed_low'])} to {number(row['seed_high'])}}}")
    volume = interval(row["hypervolume_low"], row["hypervolume_high"])
    return [
        Cell(
            number(row["quipu"]), bool(row["best"]), "".join(mark for mark, set_ in flags.items() if set_), tuple(small)
        ),
        Cell(
            number(row["hypervolume"]),
            bool(row["hypervolume_best"]),
            WORSE * bool(row["hypervolume_worse"]),
            (volume,),
        ),
    ]


def _kept_cells(row: Mapping[str, Any]) -> list[Cell]:
    """Return what the original finds among as many documents, the share kept of it, and how many these are."""
    much = row["pooled_share"] > MOST_POOLED
    pooled = Cell(number(row["pooled"], 0), marks=POOLS_MUCH * bool(much), small=(share(row["pooled_share"]),))
    return [Cell(number(row["ceiling"])), Cell(percent(row["kept"])), pooled]


def _over_queries(block: Block) -> str:
    """Say over how many queries the means are: utility over those with relevant documents, risk over all sent."""
    asked, judged = block.queries
    if asked == judged:
        return f"{block.name}: {asked} queries."
    return f"{block.name}: risk over all {asked} queries sent, utility over the {judged} with relevant documents."


def _cautions(block: Block) -> str:
    return " ".join(f"{block.run}: {line}" for line in cautions(block.result))


def _bounded(row: Mapping[str, Any], name: str) -> Cell:
    return Cell(number(row[name]), small=(interval(row[f"{name}_low"], row[f"{name}_high"]),))


def _value(parameter: str, value: float) -> str:
    return f"{parameter} {format_value(value)}" if parameter else DASH


def _range(low: float, high: float) -> str:
    return number(low) if number(low) == number(high) else f"{number(low)} to {number(high)}"


def _groups(blocks: Sequence[Block], width: Callable[[Block], int]) -> tuple[tuple[str, int], ...]:
    return tuple((block.name, width(block)) for block in blocks)


def _by_mechanism(
    blocks: Sequence[Block], cells: Callable[[Block, str], list[Cell]], references: bool = False
) -> tuple[Section, ...]:
    """Return one row a mechanism of any block; a block that lacks it shows dashes."""
    rows: Rows = {}
    for block in blocks:
        for name in block.references if references else block.mechanisms:
            rows.setdefault(
                ("" if references else block.result.strategies[name], name),
                (Cell(name), *(cell for other in blocks for cell in cells(other, name))),
            )
    return _sections(rows)


def _sections(rows: Rows) -> tuple[Section, ...]:
    strategies = dict.fromkeys(strategy for strategy, _ in rows)
    return tuple(
        Section(strategy, tuple(row for (own, _), row in rows.items() if own == strategy)) for strategy in strategies
    )


def _scores_frame(block: Block) -> pd.DataFrame:
    columns = ["strategy", "mechanism", "attacker", "measure", "quipu", "low", "high", "error", "queries", "seeds"]
    more = ["seed_low", "seed_high", "points", "best", "p_holm", "worse", "single", "length", "rankable", "monotone"]
    more.append("unranked")
    volume = [f"hypervolume{part}" for part in ("", "_low", "_high", "_best", "_p_holm", "_worse")]
    return _named_frame(block, block.scores[[*columns, *more, *volume]])


def _named_frame(block: Block, frame: pd.DataFrame) -> pd.DataFrame:
    named: dict[str, Any] = {"collection": block.name, "system": block.system or ""}
    return frame.assign(**named)[[*named, *(column for column in frame.columns if column not in named)]]


def slug(text: str) -> str:
    """Return a name that is safe in any file system.

    >>> slug("irds:vaswani, bm25 + minilm")
    'irds-vaswani-bm25-minilm'
    """
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower())
    return "-".join(part for part in kept.split("-") if part) or "result"


def slugs(texts: Iterable[str]) -> dict[str, str]:
    """Return a safe name for every text, no two alike."""
    found: dict[str, str] = {}
    for text in texts:
        name = own = slug(text)
        turn = 2
        while own in found.values():
            own, turn = f"{name}-{turn}", turn + 1
        found[text] = own
    return found
