"""``quipukit vocabulary``: which words of the queries a mechanism would not know."""

from pathlib import Path

import typer

from quipukit.cli.console import print_json, print_table, print_tsv, print_wrapped, say
from quipukit.cli.obfuscate import FILTER_HELP, VECTORS_HELP, queries_of
from quipukit.errors import InputError


def vocabulary(
    queries: Path | None = typer.Option(None, help="A file of queries: qid, tab, query; or CSV, JSON lines, Parquet."),
    collection: str | None = typer.Option(None, help="The queries of a collection: wordnet, irds:ID, a folder."),
    vectors: str | None = typer.Option(None, help=VECTORS_HELP),
    vocabulary_filter: str | None = typer.Option(None, help=FILTER_HELP),
    tokenizer: str = typer.Option(
        "clean", help="How queries are tokenized: 'clean', or 'whitespace' as the published ones were."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, with the share of each query."),
    as_tsv: bool = typer.Option(False, "--tsv", help="Print tab-separated rows."),
) -> None:
    """List the words of queries that are outside the vocabulary, with their counts.

    A mechanism maps such a word to the one position of all unknown words, or drops it: its meaning is lost, and
    retrieval suffers. If there are many, use vectors trained on texts of the same subject.

    \b
    Examples:
      quipukit vocabulary --queries topics.tsv
      quipukit vocabulary --collection wordnet --json
      quipukit vocabulary --queries topics.tsv --vectors glove-6b-100d-wink --tsv
    """
    from quipukit.text import TOKENIZERS, current_tokenizer
    from quipukit.vectors.sources import load_vectors
    from quipukit.vectors.unknown import unknown_words

    tokenizer = current_tokenizer(tokenizer)
    if tokenizer not in TOKENIZERS:
        raise InputError(f"--tokenizer must be 'clean' or 'whitespace' (found {tokenizer!r}).")
    if (queries is None) == (collection is None):
        raise InputError("name the queries: --queries topics.tsv, or --collection wordnet.")
    asked = queries_of(None, queries, collection)
    known = load_vectors(vectors, vocabulary_filter=vocabulary_filter)
    unknown = unknown_words(asked, known, tokenizer)  # type: ignore[arg-type]
    summary = f"{unknown} ({known.name}, {len(known):,} words)"
    if as_json:
        parts = {
            "vectors": {"name": known.name, "words": len(known)},
            "tokens": {"count": unknown.tokens, "unknown": unknown.unknown},
            "queries": {"count": len(unknown.per_query), "affected": unknown.affected},
            "words": unknown.words.to_dict("records"),
            "per_query": unknown.per_query.to_dict("records"),
        }
        print_json(parts)
    elif as_tsv:
        print_tsv(unknown.words)
        say(summary)
    elif unknown.words.empty:
        print_wrapped(summary)
    else:
        rows = [[word, f"{count:,}", f"{number:,}"] for word, count, number in unknown.words.itertuples(index=False)]
        print_table("", ["word outside the vocabulary", "count", "queries"], rows, summary)
