"""Where does the time of the sentence encoder go, and would another way of computing the same network take less?

One thread, as each worker of the encoder has one: a batch of 32 and one of 128 texts of seven tokens, the median of a
query log. The parts are those of torch's profiler. The products' rate, and the encoder's, are set against a float32
product of 4096 x 4096 matrices on the same thread, right before and right after.

The other ways are the network written out, with one product for queries, keys and values, and

- linear layers and GELU fused by oneDNN, or
- attention as plain products and a softmax.

Both move the last bits of vectors. To see the code of processors without AVX-512 on one that has it, set
``ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 ONEDNN_MAX_CPU_ISA=AVX2 OPENBLAS_CORETYPE=Haswell``.
"""

import time
from collections.abc import Callable
from typing import Any

from benchmarks.against_machine import SIDE
from benchmarks.data import Skipped, median
from benchmarks.table import Line, show

QUESTION = "where does the time of the sentence encoder go?"
TOKENS, BATCHES = 7, (32, 128)
PARTS = {
    "products": ("aten::addmm", "aten::mm", "aten::bmm"),
    "copies of the bias": ("aten::copy_",),
    "GELU": ("aten::gelu",),
    "attention": ("aten::_scaled_dot_product_flash_attention_for_cpu",),
    "layer norms": ("aten::native_layer_norm",),
    "additions": ("aten::add", "aten::add_"),
}


def run(quick: bool) -> list[Line]:
    """Profile both batches, and time the other ways by turns with the encoder's."""
    try:
        import torch
    except ImportError:
        raise Skipped("torch is not installed; `make test` installs it") from None
    from quipukit.encoders.load import load_encoder
    from quipukit.encoders.network import load_network

    encoder = load_encoder("minilm")
    network = load_network(encoder._files, encoder.fingerprint)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            lines = [line for rows in BATCHES for line in _measured(network, rows, 2 if quick else 8)]
    finally:
        torch.set_num_threads(before)
    print(f"instructions: {torch.backends.cpu.get_cpu_capability()}")
    show(("what", "value"), lines)
    return lines


def _measured(network: Any, rows: int, rounds: int) -> list[Line]:
    import torch

    tokens = torch.randint(1000, 20_000, (rows, TOKENS), generator=torch.Generator().manual_seed(1))
    model = next(
        cell.cell_contents for cell in network._forward.__closure__ if isinstance(cell.cell_contents, torch.nn.Module)
    )
    written = _written_out(model)
    tasks: dict[str, Callable[[], Any]] = {
        "the encoder": lambda: network._forward(tokens),
        "written out": lambda: written(tokens, False, False),
        "fused by oneDNN": lambda: written(tokens, True, False),
        "attention as plain products": lambda: written(tokens, False, True),
    }
    usual = tasks["the encoder"]()
    for what, task in tasks.items():
        apart = float((task() - usual).abs().max())
        if apart > 1e-5:
            raise AssertionError(f"{what} computes another network: vectors are {apart} apart")
    taken: dict[str, list[float]] = {what: [] for what in tasks}
    shares = []
    width, layers = int(model.config.hidden_size), int(model.config.num_hidden_layers)
    products = rows * TOKENS * 24.0 * width**2 * layers
    for _ in range(rounds):
        first = _product()
        for what, task in tasks.items():
            taken[what].append(_fastest(task, max(2, 256 // rows)))
        rate = max(first, _product())
        shares.append(100 * products / taken["the encoder"][-1] / rate)
    lines = [Line(f"{rows} texts: the encoder (% of one thread's product)", (), median(shares))]
    parts = _parts(tasks["the encoder"], max(2, 1024 // rows))
    lines += [Line(f"{rows} texts: {part} (% of the encoder's time)", (), share) for part, share in parts.items()]
    alone = median(shares) / (parts["products"] / 100)
    lines.append(Line(f"{rows} texts: products alone (% of one thread's product)", (), alone))
    own = taken.pop("the encoder")
    for what, times in taken.items():
        ratios = [time / usual for time, usual in zip(times, own, strict=True)]
        lines.append(Line(f"{rows} texts: {what}, time : the encoder's", (), median(ratios)))
    return lines


def _parts(task: Callable[[], Any], times: int) -> dict[str, float]:
    """Return the share of every part in the time of a task, in percent."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(times):
            task()
    own = {event.key: float(event.self_cpu_time_total) for event in profiler.key_averages()}
    total = sum(own.values())
    shares = {part: 100 * sum(own.get(name, 0.0) for name in names) / total for part, names in PARTS.items()}
    return {**shares, "all others": 100 - sum(shares.values())}


def _product() -> float:
    """Return the rate of a large product in one thread, in operations a second."""
    import numpy as np
    import threadpoolctl

    square = np.random.default_rng(1).standard_normal((SIDE, SIDE), dtype=np.float32)
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        seconds = _fastest(lambda: square @ square, 2)
    return 2 * SIDE**3 / seconds


def _fastest(task: Callable[[], Any], times: int) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        task()
        best = min(best, time.perf_counter() - start)
    return best


def _written_out(model: Any) -> Callable[[Any, bool, bool], Any]:
    """Return BERT as a function of tokens, of whether linear layers and GELU are fused, and of whether attention is
    written out."""
    import torch

    functional = torch.nn.functional
    layers = []
    for layer in model.encoder.layer:
        of, after = layer.attention.self, layer.attention.output
        together = [
            torch.cat([getattr(one, part) for one in (of.query, of.key, of.value)]) for part in ("weight", "bias")
        ]
        layers.append((together, after.dense, after.LayerNorm, layer.intermediate.dense, layer.output))
    heads = int(model.config.num_attention_heads)

    def linear(rows: Any, weight: Any, bias: Any, fused: bool, gelu: bool = False) -> Any:
        if fused:
            return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "gelu" if gelu else "none", [], "none")
        found = functional.linear(rows, weight, bias)
        return functional.gelu(found) if gelu else found

    def attended(queries: Any, keys: Any, values: Any, plain: bool) -> Any:
        if not plain:
            return functional.scaled_dot_product_attention(queries, keys, values)
        weights = torch.softmax(queries * queries.shape[-1] ** -0.5 @ keys.transpose(-1, -2), -1)
        return weights @ values

    def forward(tokens: Any, fused: bool, plain: bool) -> Any:
        hidden = model.embeddings(tokens)
        texts, length, width = hidden.shape
        hidden = hidden.reshape(texts * length, width)
        for together, dense, norm, wide, output in layers:
            parts = linear(hidden, *together, fused).view(texts, length, 3, heads, width // heads)
            found = attended(*parts.permute(2, 0, 3, 1, 4), plain).transpose(1, 2).reshape(hidden.shape)
            hidden = norm(linear(found, dense.weight, dense.bias, fused) + hidden)
            inner = linear(hidden, wide.weight, wide.bias, fused, gelu=True)
            hidden = output.LayerNorm(linear(inner, output.dense.weight, output.dense.bias, fused) + hidden)
        return functional.normalize(hidden.view(texts, length, width).mean(1), dim=1)

    return forward
