"""Products by Inductor's keys, and their timings as they are recorded and read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tclab.capturing.target.timing import measured  # noqa: E402
from tclab.capturing.torch_private import padding  # noqa: E402
from tclab.workshop.verify import choices  # noqa: E402

KEY = (
    "((torch.Size([2, 64]), (64, 1), torch.float32), (torch.Size([64, 30]), (1, 64), "
    "torch.float32), 'exclude_pad:True', 'exclude_pad:False', <OpOverloadPacket(op='aten.addmm')>,"
    " (torch.Size([30]), (1,), torch.float32), False)"
)
SYMBOLS = KEY.replace("[2, 64]", "[s77, 64]")


def test_a_key_says_all_of_a_product() -> None:
    product = choices.Product.parse(KEY)
    assert product.factors == (([2, 64], (64, 1), "float32"), ([64, 30], (1, 64), "float32"))
    assert product.planned == {"mat1": True, "mat2": False}
    assert (product.operator, product.added) == ("addmm", ([30], (1,), "float32"))


def test_a_key_is_that_of_the_installed_pytorch() -> None:
    """What a target asked for is read back: the key is PyTorch's own."""
    import tclab

    c = tclab.capture(lambda x, w: torch.relu(x @ w), target="h200")(
        torch.randn(8, 64), torch.randn(64, 30)
    )
    (question,) = c.timed
    assert choices.Product.parse(question.key).factors[1] == ([64, 30], (30, 1), "float32")


def test_products_with_symbols_are_left_out() -> None:
    with pytest.raises(ValueError, match="no sizes"):
        choices.Product.parse(SYMBOLS)
    assert list(choices.parse_products([SYMBOLS, KEY])) == [KEY]


def test_what_is_recorded_is_what_a_target_reads(tmp_path: Path, monkeypatch) -> None:
    times = iter([(2.0, 1.0), (1.9, 1.0), (2.2, 1.0)])

    def ask(*args: object) -> None:
        from torch._inductor.fx_passes import pad_mm

        pad_mm.is_padded_faster("key", *next(times))

    monkeypatch.setattr(padding, "decide_padding", ask)
    monkeypatch.setattr(choices, "_make_tensor", lambda layout: layout)
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "a.json").write_text(json.dumps({"products": [KEY, SYMBOLS]}))
    written = choices.record(choices.read_keys(tmp_path), tmp_path / "padding.json", 3)
    assert written["products"] == [
        {"key": KEY, "ratio": [1.9, 2.0, 2.2], "microseconds": [2000.0, 1000.0]}
    ]
    table = measured.load_measurements(tmp_path / "padding.json")
    assert (table.answer(KEY), table.answer(SYMBOLS)) == ("yes", "")


def test_the_recorded_table_is_read_for_its_pytorch_alone(monkeypatch) -> None:
    from tclab.targets import get

    monkeypatch.setattr(torch, "__version__", "2.11.0+cu130")
    assert len(measured.measurements_for(get("h200")).ratios) > 200
    assert not measured.measurements_for(get("a100")).ratios
    monkeypatch.setattr(torch, "__version__", "2.13.0")
    assert not measured.measurements_for(get("h200")).ratios
