"""What goes over the wire, as OpenAPI describes it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

Query = Annotated[str, Field(min_length=1, max_length=1_000, description="The query. It stays on this machine.")]
Name = Annotated[str, Field(max_length=100)]
Count = Annotated[int, Field(ge=1, le=200, description="N, the number of variants.")]
Text = Annotated[str, Field(max_length=2_000)]


class Strict(BaseModel):
    """A request: nothing but what is named."""

    model_config = ConfigDict(extra="forbid")


class TryRequest(Strict):
    """A query and a setting."""

    query: Query
    mechanism: Name
    value: FiniteFloat | None = None
    n: Count = 20


class Place(BaseModel):
    """Where a setting lies in a result: risk and utility, and those of all others."""

    result: str
    view: int
    label: str
    measure: str
    risk: float
    utility: float
    frontier: bool
    others: list[tuple[float, float]]


class TryAnswer(BaseModel):
    """What a setting makes of a query, what is promised, and where the setting lies."""

    setting: str
    texts: list[str]
    guarantee: str
    composed: str
    plain: list[str]
    notes: list[str]
    sends_original: bool
    contains_original: bool
    places: list[Place]


class GuessesRequest(Strict):
    """A query, the texts that were sent for it, and the setting, which attackers of covers know.

    ``searched`` says that they were sent by a search: without a mechanism it is then the default one of searches.
    """

    query: Query
    texts: list[Text] = Field(max_length=2_000)
    engine: Annotated[str, Field(max_length=500)] | None = None
    mechanism: Name | None = None
    value: FiniteFloat | None = None
    n: Count | None = None
    searched: bool = False


class AttackerGuesses(BaseModel):
    """The ten best guesses of an attacker; ``hits`` marks the true one."""

    attacker: str
    texts: list[str]
    hits: list[bool]
    rank: float | None


class GuessesAnswer(BaseModel):
    """What attackers guess who know so many public queries; ``added`` says that the query is a further one."""

    log_size: int
    added: bool
    attackers: list[AttackerGuesses]


class SearchRequest(Strict):
    """A query, and where and how to search for it; by default the first engine and the best certified setting."""

    query: Query
    engine: Annotated[str, Field(max_length=500)] | None = None
    mechanism: Name | None = None
    value: FiniteFloat | None = None
    n: Count | None = None
    dry_run: bool = Field(False, description="Show what would leave, and send nothing.")
    over_limit: bool = Field(False, description="Search even if it crosses a limit of the ledger.")


class Hit(BaseModel):
    """A document."""

    docno: str
    url: str
    title: str
    snippet: str
    score: float


class Preview(BaseModel):
    """What leaves for a query, or would leave."""

    texts: list[str]
    local: bool
    sends_original: bool
    guarantee: str
    composed: str
    warnings: list[str]
    over_limit: bool


class SearchAnswer(BaseModel):
    """Documents, the best first, and what left for them."""

    engine: str
    reason: str
    dry_run: bool
    hits: list[Hit]
    preview: Preview
    failed: int
    seconds: float


class Mechanism(BaseModel):
    """A mechanism that can be chosen."""

    name: str
    summary: str
    strategy: str
    parameter: str
    values: list[float]
    default: float | None
    sends_original: bool
    own_count: bool


class Status(BaseModel):
    """What the service offers."""

    version: str
    ready: bool
    engines: list[str]
    any_engine: bool
    results: list[str]


class ResultSummary(BaseModel):
    """A result that is open."""

    name: str
    collection: str
    queries: int
    mechanisms: list[str]
    settings: int
    attackers: list[str]
    judged: bool


class QueryRow(BaseModel):
    """A query of a result at one setting."""

    qid: str
    query: str
    risk: float
    rank: float | None
    utility: float | None


class Attack(BaseModel):
    """What an attacker made of an example: pairs of a guess and whether it is the original."""

    attacker: str
    rank: str | None
    guesses: list[tuple[str, bool]]


class Example(BaseModel):
    """An example query of a result: what a setting sent, and what the attackers made of it."""

    qid: str
    query: str
    sent: list[str]
    attacks: list[Attack]


class Comparison(BaseModel):
    """Two results compared; differences are first - second."""

    measure: str
    paired: bool
    queries: list[int]
    differs: list[dict[str, Any]]
    scores: list[dict[str, Any]]
    notes: list[str]


class DealRequest(Strict):
    """Which round of the game."""

    round: Annotated[int, Field(ge=0, le=100)]


class Deal(BaseModel):
    """A round: what the engine saw, and the queries to choose from."""

    id: str
    round: int
    rounds: int
    title: str
    setting: str
    texts: list[str]
    choices: list[str]


class AnswerRequest(Strict):
    """The visitor's guess."""

    id: Annotated[str, Field(max_length=64)]
    choice: Annotated[int, Field(ge=0, le=100)]


class Verdict(BaseModel):
    """How a round ended."""

    query: str
    right: bool
    lesson: str
    log_size: int
    added: bool
    attackers: list[AttackerGuesses]


class Fault(BaseModel):
    """What was wrong, and the fix."""

    error: str


class Done(BaseModel):
    """Nothing to say."""

    done: Literal[True] = True
