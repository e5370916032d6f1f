"""``quipukit evaluate``: the whole loop in one command, from queries to a report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quipukit.cli.console import print_table, say
from quipukit.cli.obfuscate import FILTER_HELP, PARTITION_HELP, POOL_HELP, VECTORS_HELP
from quipukit.cli.retrieve import RERANK_ON_HELP
from quipukit.errors import InputError, ResourceError

if TYPE_CHECKING:
    from quipukit.executors.base import Executor
    from quipukit.experiment.grid import Preset
    from quipukit.experiment.options import Options
    from quipukit.results import Result
    from quipukit.retrieval.system import SystemSpec
    from quipukit.specs import Spec

_INTERRUPTED = 130


# Options that may be given with --resume: they change how the work is done, not the result.
_BESIDE_RESUME = {"resume", "workers", "dask", "shared", "report", "points"}


def evaluate(
    context: typer.Context,
    collection: str = typer.Argument("wordnet", help="wordnet, irds:ID, or a folder with docs, topics.tsv, qrels.txt."),
    mechanisms: list[str] = typer.Option(
        [], "-m", "--mechanisms", help="Mechanisms: CMP (see --grid) or 'CusText(k=20)@10'; several. [the paper's]"
    ),
    epsilons: list[float] = typer.Option(
        [], "-e", "--epsilons", help="Epsilons for mechanisms without '@'; several. [placed, see --grid]"
    ),
    grid: str | None = typer.Option(
        None, help="Epsilons of mechanisms without '@': 'adaptive', where something moves, or 'fixed'. [preset: fixed]"
    ),
    n: list[int] = typer.Option(
        [], "-n", "--variants", min=1, help="Obfuscated variants per query; several sweep over N. [50]"
    ),
    output: Path | None = typer.Option(None, "-o", "--output", help="Folder for the result; resumes an existing run."),
    resume: Path | None = typer.Option(None, "--resume", help="Resume the experiment of this folder, as it was begun."),
    preset: str | None = typer.Option(
        None,
        help="A published setup, with the attacker of its paper (QuIA) alone: quipu2025 or ecir2024; other options "
        "override.",
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="Print the plan with its estimated cost, and stop."),
    queries: Path | None = typer.Option(None, help="The queries to hide. [the collection's]"),
    qrels: Path | None = typer.Option(None, help="Judgments in TREC's format. [the collection's]"),
    obfuscated: Path | None = typer.Option(None, help="Measure queries obfuscated elsewhere: a file or a folder."),
    topics: int | None = typer.Option(None, min=1, help="Take this many queries, spread evenly over all."),
    log: str | None = typer.Option(None, help="The attacker's query log: a file, irds:ID or wordnet. [wordnet's own]"),
    log_sample: int | None = typer.Option(None, min=1, help="Take a random sample of the log, of this size."),
    inject: bool = typer.Option(True, help="Complete the log with the originals, as the paper does."),
    retriever: list[str] = typer.Option([], help="Search systems: bm25, dense[:MODEL], an engine's address. [bm25]"),
    reranker: list[str] = typer.Option(
        [], help="The user's own model, or none; one for all retrievers or one each. [minilm]"
    ),
    rerank_on: str = typer.Option("text", help=RERANK_ON_HELP),
    depth: int | None = typer.Option(None, min=1, help="Documents per obfuscated query. [1 % of the collection / N]"),
    measure: list[str] = typer.Option([], help="Measures of utility, the main one first. [nDCG@10 SetR]"),
    attackers: list[str] = typer.Option(
        [], "--attackers", help="Who ranks the log; several. [panel Bayes; a preset: QuIA]"
    ),
    encoder: str = typer.Option("minilm", help="The attackers' encoder: minilm, static, or any by name or folder."),
    vectors: str | None = typer.Option(None, help=VECTORS_HELP),
    vocabulary_filter: str | None = typer.Option(None, help=FILTER_HELP),
    pool: str | None = typer.Option(
        None, help=f"{POOL_HELP} 'completed' is the log with the queries added. [the log, as it is]"
    ),
    partition: Path | None = typer.Option(None, help=PARTITION_HELP),
    k: int = typer.Option(10, "-k", min=1, help="Guesses that the active persona reads: R@k."),
    seed: int = typer.Option(7, help="Root seed of the noise: the same seed, the same result."),
    seeds: int = typer.Option(1, min=1, help="Repeat with this many seeds, for the spread over the noise."),
    noise: str | None = typer.Option(
        None, help="'common' noise for the settings of a mechanism, or 'independent'. [common; independent for engines]"
    ),
    skip_invalid: bool = typer.Option(False, "--skip-invalid", help="Leave out settings that a mechanism refuses."),
    send_originals: bool = typer.Option(
        False, "--send-originals", help="Let search systems over the network receive the original queries too."
    ),
    growth: bool = typer.Option(True, help="Measure at a few settings how risk grows with the variants seen."),
    sessions: str | None = typer.Option(
        None, help="Attack sessions: a file with sid, position and qid, or 'planted'; see docs/sessions.md."
    ),
    workers: int | None = typer.Option(None, min=1, help="Do the work in this many local processes."),
    dask: str | None = typer.Option(None, help="Do the work on a dask.distributed cluster, as tcp://host:8786."),
    shared: Path | None = typer.Option(
        None, help="A folder that all workers see: they write vectors there, and read them; see docs/scale.md."
    ),
    report: bool = typer.Option(True, help="Write the report when all is done."),
    points: bool = typer.Option(False, "--points", help="Print risk and utility of every setting too."),
) -> None:
    """Hide queries with a grid of settings, search, attack, and report what is still found and who can still guess.

    Everything that is finished is kept in the folder: after Ctrl-C, a crash or a full disk the same command, or
    --resume, continues where it stopped. Further mechanisms, attackers, seeds or numbers of variants can be added to a
    finished run, and cost their own work only.

    \b
    Examples:
      quipukit evaluate -m CMP VickreyMhl AEA -n 20 --topics 30 -o runs/try
      quipukit evaluate --preset quipu2025 -o runs/wordnet
      quipukit evaluate irds:vaswani --log wordnet -m CMP TEM -e 1 5 10 20 -o runs/vaswani
      quipukit evaluate -m CMP TEM -n 1 5 20 50 -o runs/sweep
      quipukit evaluate -m CMP TEM --grid fixed -o runs/fixed
      quipukit evaluate --preset quipu2025 --dry-run
      quipukit evaluate --preset quipu2025 --dask tcp://host:8786 --shared /scratch/me/quipukit -o runs/wordnet
      quipukit evaluate FOLDER --retriever searxng+http://host --rerank-on snippet -m CMP@5 -n 20 -o runs/web
      quipukit evaluate FOLDER --retriever searxng+http://host --reranker none -m CMP@5 -n 20 -o runs/web
      quipukit evaluate --resume runs/try
    """
    if workers is not None and dask is not None:
        raise InputError("--workers and --dask exclude each other; keep one.")
    if shared is not None and workers is None and dask is None:
        raise InputError("--shared is for workers, and there are none; add --dask ADDRESS, or leave it out.")
    placed: Sequence[Spec] = ()
    if resume is not None:
        _refuse_other_options(context, resume)
        folder, options = resume, None
    else:
        options, placed = _options(context.params)
        if preset and not attackers:
            say(
                f"note: the preset {preset} reproduces the attacker of its paper, {' '.join(options.attackers)} alone; "
                "stronger ones find more: --attackers panel Bayes"
            )
        if dry_run:
            _show_estimate(options, output, placed)
            return
        if output is None:
            from quipukit.collections.load import load_collection

            load_collection(collection)  # a misspelled name is the first thing to be said
            raise InputError("name a folder for the result with -o, for instance -o runs/first.")
        folder = output
    execute(options, folder, _executor(dask, workers, shared), report, points, placed)


def _refuse_other_options(context: typer.Context, folder: Path) -> None:
    """Refuse options that would be ignored: a folder is resumed as it was begun."""
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and name not in _BESIDE_RESUME:
            raise InputError(
                f"--resume uses the options that {folder} was begun with; leave out "
                f"{_as_typed(parameter, context.params[name])}, or leave out --resume: the same command resumes too."
            )


def _as_typed(parameter: Any, value: Any) -> str:
    """Return a parameter as a command line writes it: its shortest flag, or what an argument was given."""
    if parameter.param_type_name == "argument":
        return repr(value)
    return str((parameter.secondary_opts if value is False else parameter.opts)[0])


def execute(
    options: "Options | None",
    folder: Path,
    executor: "Executor | None" = None,
    report: bool = True,
    points: bool = False,
    placed: "Sequence[Spec]" = (),
    formats: "Sequence[str] | None" = None,
) -> None:
    """Run an experiment, or resume that of the folder; print the result and write the report.

    ``formats`` are those of the report's figures, by default all.
    """
    from quipukit.experiment import run as experiment
    from quipukit.experiment.progress_view import ProgressView

    with ProgressView() as view:
        try:
            if options is None:
                result = experiment.resume(folder, listener=view, executor=executor)
            else:
                result = experiment.run(options, folder, listener=view, executor=executor, placed=placed)
            page = _show(result, folder, view, report, points, formats)
        except KeyboardInterrupt:
            view.close()
            # Before that file there are settings to be placed, and nothing that --resume could read.
            begun = (folder / "experiment.json").exists()
            how = f"Resume with: quipukit evaluate --resume {folder}" if begun else "The same command resumes."
            say(f"stopped; what is finished is kept. {how}")
            raise SystemExit(_INTERRUPTED) from None
        except ResourceError:
            view.close()
            say(f"what is finished is kept; resume with: quipukit evaluate --resume {folder}")
            raise
    if page is not None:
        say(f"report: {page}")
    say(f"result: {folder}")


def _show(
    result: "Result", folder: Path, view: Any, report: bool, points: bool, formats: "Sequence[str] | None"
) -> Path | None:
    from quipukit.cli.report import print_report
    from quipukit.report.drawing import FORMATS
    from quipukit.report.write import Report

    made = Report([result])
    page = None
    if report:
        show = view.stage("writing the report", "parts")
        page = made.write(folder / "report", formats=FORMATS if formats is None else formats, progress=show)
    view.close()
    print_report(made, points)
    if page is None and (folder / "report").is_dir():
        say(f"note: {folder / 'report'} is older than this result; `quipukit report {folder}` writes it again")
    return page


def _executor(dask: str | None, workers: int | None, shared: Path | None) -> "Executor | None":
    if dask is None and workers is None:
        return None
    from quipukit.executors import Dask

    return Dask(address=dask, workers=workers, shared=shared)


def _options(given: dict[str, Any]) -> "tuple[Options, list[Spec]]":
    """Return what was chosen, and which mechanisms' settings are to be placed.

    It is what a preset says, overridden by what was given.
    """
    from quipukit.attackers.registry import with_other_vectors
    from quipukit.experiment import grid
    from quipukit.experiment.options import MEASURES, Options, usual_attackers

    chosen = grid.preset(given["preset"]) if given["preset"] else None
    if given["obfuscated"] is not None and (given["mechanisms"] or given["epsilons"]):
        raise InputError("--obfuscated brings its own settings; leave out -m and -e.")
    named: dict[str, Any] = {
        name: None if given[name] is None else str(given[name])
        for name in ("queries", "qrels", "obfuscated", "partition")
    }
    alike = (
        *("topics", "log", "log_sample", "inject", "encoder", "vectors", "pool", "k", "seed", "seeds", "noise"),
        *("skip_invalid", "send_originals", "growth", "sessions", "vocabulary_filter"),
    )
    mechanisms = given["mechanisms"] or (chosen.mechanisms if chosen else grid.PAPER)
    attackers = tuple(given["attackers"]) or (chosen.attackers if chosen else usual_attackers(mechanisms))
    if given["obfuscated"] is not None and given["vectors"] is None:
        attackers = tuple(with_other_vectors(attackers))
    options = Options(
        collection=given["collection"],
        n=tuple(given["n"]) or (chosen.n if chosen else 50,),
        systems=_systems(given["retriever"], given["reranker"], given["rerank_on"], chosen),
        depth=given["depth"] or (chosen.depth if chosen else None),
        measures=tuple(given["measure"]) or (chosen.measures if chosen else MEASURES),
        attackers=attackers,
        **named,
        **{name: given[name] for name in alike},
    )
    epsilons = given["epsilons"] or (chosen.epsilons if chosen and not given["mechanisms"] else ())
    ours = mechanisms if given["obfuscated"] is None else ()
    way = given["grid"] or ("fixed" if chosen else "adaptive")
    specs = tuple(grid.expand(ours, epsilons, options.references))
    return replace(options, specs=specs), grid.to_place(ours, epsilons, way)


def _systems(
    retrievers: list[str], rerankers: list[str], rerank_on: str, chosen: "Preset | None"
) -> "tuple[SystemSpec, ...]":
    from quipukit.experiment.options import SYSTEMS
    from quipukit.retrieval.system import combine, parse_systems

    usual = parse_systems(chosen.systems) if chosen else SYSTEMS
    if not retrievers and not rerankers and rerank_on == "text":
        return usual
    named = rerankers or (["minilm"] if retrievers else [system.reranker_name for system in usual])
    return combine(retrievers or [system.retriever_name for system in usual], named, rerank_on)


def _show_estimate(options: "Options", folder: Path | None, placed: "Sequence[Spec]") -> None:
    from quipukit.experiment.cost import estimate

    cost = estimate(options, folder)
    caption = cost.caption()
    if placed:
        names = ", ".join(map(repr, placed))
        caption += f"\nsettings of {names} are placed when it runs (--grid adaptive); as many as in the fixed grid here"
    print_table("", ["stage", "to do", "unit", "about"], cost.rows(), caption)
