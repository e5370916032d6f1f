"""The API: what the pages and other programs call. OpenAPI describes it at /api/openapi.json."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from quipukit import __version__
from quipukit.web import models
from quipukit.web.service import Service

if TYPE_CHECKING:
    from quipukit.search.conclusions import Conclusion

_KINDS = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
    "csv": "text/csv; charset=utf-8",
    "tex": "text/plain; charset=utf-8",
}
_FAULTS: dict[int | str, dict[str, Any]] = {
    400: {"model": models.Fault, "description": "Something in the request is wrong; the message names the fix."},
    403: {"model": models.Fault, "description": "The token is missing, or the request comes from another site."},
    409: {"model": models.Fault, "description": "It would cross a limit of the ledger; over_limit allows it."},
    413: {"model": models.Fault, "description": "The request is too long."},
    422: {"model": models.Fault, "description": "The request has another form."},
    502: {"model": models.Fault, "description": "The engine did not answer."},
}

Number = Annotated[int, Path(ge=0, le=10_000)]
Choice = Annotated[str, Query(max_length=200)]


def api(service: Service) -> APIRouter:
    """Return the routes below /api."""
    router = APIRouter(prefix="/api", responses=_FAULTS)

    @router.get("/status")
    def status() -> models.Status:
        """Return what the service offers."""
        from quipukit.web.searching import BUILT_IN

        return models.Status(
            version=__version__,
            ready=service.ready,
            engines=list(dict.fromkeys([*service.engines, BUILT_IN])),
            any_engine=service.access.local,
            results=[one.name for one in service.results],
        )

    @router.get("/mechanisms")
    def mechanisms() -> list[models.Mechanism]:
        """Return the mechanisms."""
        from quipukit.web.settings import choices

        return [models.Mechanism(**vars(choice)) for choice in choices()]

    @router.post("/try")
    async def try_out(request: models.TryRequest) -> models.TryAnswer:
        """Return the variants of a query, what is promised, and where the setting lies in the open results."""
        return await service.computing.run(lambda: trial_of(request))

    def trial_of(request: models.TryRequest) -> models.TryAnswer:
        from quipukit.web.tryout import try_setting

        trial = try_setting(service.mechanisms, request.query, request.mechanism, request.value, request.n)
        bound = service.mechanisms.bound(request.mechanism, request.value)
        places = [place for one in service.results for place in one.places_of(bound.name, bound.value)]
        return models.TryAnswer.model_validate({**vars(trial), "places": places})

    @router.post("/guesses")
    async def guesses(request: models.GuessesRequest) -> models.GuessesAnswer:
        """Return what attackers guess from the texts that were sent."""
        return await service.computing.run(lambda: guesses_of(request))

    def guesses_of(request: models.GuessesRequest) -> models.GuessesAnswer:
        from quipukit.web.tryout import checked_query

        mechanism = None
        if request.searched:
            wish = service.searches.wish(request.engine, request.mechanism, request.value, request.n)
            mechanism = service.searches.open(wish).mechanism
        elif request.mechanism is not None:
            mechanism = service.mechanisms.bound(request.mechanism, request.value)
        concluded = service.conclude(checked_query(request.query), request.texts, mechanism)
        return models.GuessesAnswer(
            log_size=concluded.log_size, added=concluded.added, attackers=_guesses(concluded.attackers)
        )

    @router.post("/search")
    async def search(request: models.SearchRequest) -> models.SearchAnswer:
        """Search privately: only what the mechanism outputs leaves, and the documents are ranked here."""
        return await private_answer(service, request)

    @router.post("/session/new")
    def new_session() -> models.Done:
        """Forget what was fetched: the next search begins a new session."""
        service.searches.forget()
        return models.Done()

    @router.post("/game/deal")
    async def deal(request: models.DealRequest) -> models.Deal:
        """Deal a round of the game."""
        from quipukit.web.game import LEVELS

        dealt = await service.computing.run(lambda: service.game.deal(request.round))
        return models.Deal(
            id=dealt.identity,
            round=dealt.number,
            rounds=len(LEVELS),
            title=dealt.level.title,
            setting=dealt.setting,
            texts=list(dealt.texts),
            choices=list(dealt.choices),
        )

    @router.post("/game/answer")
    async def answer(request: models.AnswerRequest) -> models.Verdict:
        """Say how a round ends."""
        verdict = await service.computing.run(lambda: service.game.answer(request.id, request.choice))
        return models.Verdict(
            query=verdict.query,
            right=verdict.right,
            lesson=verdict.lesson,
            log_size=verdict.concluded.log_size,
            added=verdict.concluded.added,
            attackers=_guesses(verdict.concluded.attackers),
        )

    @router.get("/results")
    def results() -> list[models.ResultSummary]:
        """Return the results that are open."""
        return [models.ResultSummary(**one.summary()) for one in service.results]

    @router.get("/results/{number}")
    def result(number: Number) -> dict[str, Any]:
        """Return everything that is drawn of a result."""
        return service.result(number).detail

    @router.get("/results/{number}/queries")
    def queries(
        number: Number,
        mechanism: Choice,
        value: float,
        attacker: Choice,
        persona: Choice,
        view: Annotated[int, Query(ge=0, le=1_000)] = 0,
    ) -> list[models.QueryRow]:
        """Return the queries of a result at a setting, the riskiest first."""
        value = value if math.isfinite(value) else 0.0
        rows = service.result(number).queries(view, mechanism, value, attacker, persona)
        return [models.QueryRow(**row) for row in rows]

    @router.get("/results/{number}/examples")
    def examples(
        number: Number, mechanism: Choice, value: float, view: Annotated[int, Query(ge=0, le=1_000)] = 0
    ) -> list[models.Example]:
        """Return what a setting sent for the example queries, and what the attackers made of it."""
        return [models.Example(**one) for one in service.result(number).examples(view, mechanism, value)]

    @router.get("/results/{number}/files/{name}", response_class=Response, responses={200: {"content": {"*/*": {}}}})
    def file(number: Number, name: Annotated[str, Path(max_length=200)]) -> Response:
        """Return a figure or a table of a result as a file."""
        content = service.result(number).file(name)
        ending = name.rpartition(".")[2]
        return Response(content, media_type=_KINDS[ending], headers={"content-disposition": "attachment"})

    @router.get("/compare")
    def compare(
        first: Annotated[int, Query(ge=0, le=10_000)], second: Annotated[int, Query(ge=0, le=10_000)]
    ) -> models.Comparison:
        """Return two results compared, with paired tests."""
        return models.Comparison(**service.comparison(first, second))

    return router


def _guesses(attackers: "Sequence[Conclusion]") -> list[models.AttackerGuesses]:
    return [
        models.AttackerGuesses(attacker=one.attacker, texts=list(one.guesses), hits=list(one.hits), rank=one.rank)
        for one in attackers
    ]


async def private_answer(service: Service, request: models.SearchRequest) -> models.SearchAnswer:
    """Search, or with ``dry_run`` say what would leave."""
    from quipukit.web.searching import BUILT_IN

    # What is on this machine computes; whoever asks an engine waits for it, and may wait for long.
    local = (request.engine or next(iter(service.engines), BUILT_IN)) == BUILT_IN
    workers = service.computing if local else service.waiting
    return await workers.run(lambda: _private_answer(service, request))


def _private_answer(service: Service, request: models.SearchRequest) -> models.SearchAnswer:
    from quipukit.web.searx import address_of
    from quipukit.web.tryout import checked_query

    checked_query(request.query)
    wish = service.searches.wish(request.engine, request.mechanism, request.value, request.n)
    searcher = service.searches.open(wish)
    answer = None if request.dry_run else searcher.search(request.query, over_limit=request.over_limit)
    preview = searcher.preview(request.query) if answer is None else answer.preview
    hits = [
        models.Hit(docno=hit.docno, url=address_of(hit), title=hit.title, snippet=hit.snippet, score=float(hit.score))
        for hit in (answer.hits if answer else ())
    ]
    return models.SearchAnswer(
        engine=wish.engine,
        reason=searcher.reason,
        dry_run=request.dry_run,
        hits=hits,
        preview=models.Preview(
            texts=list(preview.texts),
            local=preview.local,
            sends_original=preview.sends_original,
            guarantee=str(preview.guarantee),
            composed=str(preview.composed),
            warnings=list(preview.warnings),
            over_limit=preview.over_limit,
        ),
        failed=answer.failed if answer else 0,
        seconds=answer.seconds if answer else 0.0,
    )
