"""What passes a door: bytes that are the same each time, and nothing that leads out of a folder."""

from __future__ import annotations

import gzip
import io
import json
import tarfile

import pytest

from tclab.errors import StoreError, TclabError
from tclab.model import Provenance
from tclab.site.remote import announcements, protocol, tars, tree
from tclab.site.remote.announcements import Requirements


def tar(*members: tuple[str, bytes], **fields) -> bytes:
    """Return a tar with these files, whatever their names."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            for field, value in fields.items():
                setattr(info, field, value)
            made.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return out.getvalue()


# --------------------------------------------------------------------------- tars


def test_a_folder_is_the_same_bytes_whenever_it_is_packed(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "below").mkdir(parents=True)
        for file in sorted(("b.txt", "below/a.txt"), reverse=name == "two"):
            (tmp_path / name / file).write_text(file)
    packed = tars.pack(tmp_path / "one")
    assert packed == tars.pack(tmp_path / "two")
    tars.unpack(packed, tmp_path / "three")
    assert tars.pack(tmp_path / "three") == packed


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (tar(("../out", b"x")), "leads out of its folder"),
        (tar(("/etc/passwd", b"x")), "leads out of its folder"),
        (tar(("a/../../b", b"x")), "leads out of its folder"),
        (tar(("a//b", b"x")), "leads out of its folder"),
        (tar(("a\\b", b"x")), "leads out of its folder"),
        (tar(("a", b""), type=tarfile.SYMTYPE, linkname="/etc"), "is no plain file"),
        (tar(("a", b""), type=tarfile.LNKTYPE, linkname="b"), "is no plain file"),
        (tar(("a", b""), type=tarfile.FIFOTYPE), "is no plain file"),
        (tar(("a", b""), type=tarfile.CHRTYPE), "is no plain file"),
        (tar(("a", b"1"), ("a", b"2")), "is in it twice"),
        (tar(("a", b"1"), ("a/b", b"2")), "is in it twice"),
        (tar(("a", b"x" * 4000))[:1500], "no whole tar"),
        (b"what is no tar", "no whole tar"),
        (b"", "no whole tar"),
        (tar(), "nothing is in it"),
    ],
)
def test_a_tar_that_is_anything_else_is_refused_with_nothing_written(tmp_path, data, says):
    with pytest.raises(tars.InvalidTar, match=says):
        tars.unpack(data, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_sizes_are_limited(monkeypatch):
    monkeypatch.setattr(tars, "MAX_FILE_BYTES", 10)
    with pytest.raises(tars.InvalidTar, match="'a' has 11 bytes"):
        list(tars.iter_files(tar(("a", b"x" * 11))))
    monkeypatch.setattr(tars, "MAX_BYTES", 15)
    with pytest.raises(tars.InvalidTar, match="are in it"):
        list(tars.iter_files(tar(("a", b"x" * 9), ("b", b"x" * 9))))


# --------------------------------------------------------------------------- the tree


def test_a_tree_has_what_runs_rest_on_and_no_run(lab):
    (lab.root / "snippets/t").mkdir()
    (lab.root / "snippets/t/_shared.py").write_text("value = 1")
    for name in ("records/box/rows.jsonl", "records/box/t/one/run.json", "docs/index.md"):
        (lab.root / name).parent.mkdir(parents=True, exist_ok=True)
        (lab.root / name).write_text("{}")
    snippet = lab.write("t/one", "import _shared")
    made = tree.collect(lab.root, [snippet])
    assert {"mkdocs.yml", "snippets/t/_shared.py", "snippets/t/one.py"} <= made.content.keys()
    assert "src/tclab/site/remote/agent.py" in made.content
    assert "records/box/rows.jsonl" in made.content
    assert not {"docs/index.md", "records/box/t/one/run.json"} & made.content.keys()
    assert made.names[snippet.path] == "snippets/t/one.py"


def test_a_tree_is_unpacked_under_its_own_digest_alone(lab, tmp_path):
    made = tree.collect(lab.root, [lab.write("t/one", "1")])
    tree.unpack(made.packed, made.digest, tmp_path / "there")
    assert (tmp_path / "there/snippets/t/one.py").read_bytes() == made.content["snippets/t/one.py"]
    assert tree.collect(lab.root, []).digest == made.digest
    lab.write("t/one", "2")
    assert tree.collect(lab.root, []).digest != made.digest
    for data in (tree.collect(lab.root, []).packed, made.packed[:-20], b"no gzip"):
        with pytest.raises(tars.InvalidTar):
            tree.unpack(data, made.digest, tmp_path / "not")
    assert not (tmp_path / "not").exists()


def test_a_bomb_is_no_tree(tmp_path, monkeypatch):
    monkeypatch.setattr(tars, "MAX_BYTES", 2**20)
    with pytest.raises(tars.InvalidTar, match="MiB are in it"):
        tree.unpack(gzip.compress(b"\0" * 2**22), "0", tmp_path / "not")


# --------------------------------------------------------------------------- jobs and answers


def test_a_job_brings_all_that_the_snippets_key_names(lab):
    code = "# claim: it-is-so\nassert len('x') == 1"
    snippet = lab.write("t/one", code, "needs=cxx timeout=7 memory=99 raises=ValueError alone=true")
    names = tree.collect(lab.root, [snippet]).names
    sent = json.loads(
        protocol.to_json(protocol.encode_job(snippet, names, tree="", environment="here"))
    )
    back = protocol.decode_snippet(sent["snippet"], lab.root)
    for field in ("name", "path", "source", "needs", "raises", "timeout", "memory", "includes"):
        assert getattr(back, field) == getattr(snippet, field), field
    assert (back.alone, back.claims, back.file) == (True, snippet.claims, snippet.file)


@pytest.mark.parametrize("data", [b"", b"{}", b"[1]\n", b"\xff\xfe", b'{"protocol": 1}\n'])
def test_what_is_no_answer_is_trouble(data):
    assert protocol.Answer.parse(data).kind == "trouble"


def test_an_answer_of_another_protocol_is_refused_by_name():
    other = b'{"protocol": 99, "kind": "run", "why": ""}\n'
    assert protocol.Answer.parse(other) == protocol.Answer(
        "refused", "it answers in protocol 99, not 1"
    )


def test_a_run_comes_back_whole_or_not_at_all(lab):
    run = lab.one("import tclab\nprint('hello')\ntclab.show('code', name='x')")
    packed = protocol.pack_run(run)
    assert packed == protocol.pack_run(run)
    assert protocol.unpack_run(packed, "t/one", "here") == run
    with pytest.raises(StoreError, match="is that of t/one for here"):
        protocol.unpack_run(packed, "t/two", "here")
    with pytest.raises(StoreError, match=r"stdout\.txt: was truncated or edited"):
        protocol.unpack_run(packed.replace(b"hello\n", b"HELLO\n"), "t/one", "here")
    with pytest.raises(StoreError, match="is damaged"):
        protocol.unpack_run(packed[:700], "t/one", "here")


def test_a_variable_that_may_be_a_secret_is_not_sent(monkeypatch):
    monkeypatch.setenv("TORCH_LOGS", "dynamo")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    sent = protocol.variables_to_send()
    assert sent["TORCH_LOGS"] == "dynamo"
    assert "CUDA_VISIBLE_DEVICES" not in sent
    monkeypatch.setenv("TORCH_SECRET", "hunter2")
    with pytest.raises(TclabError, match="the variable TORCH_SECRET") as raised:
        protocol.variables_to_send()
    assert "hunter2" not in str(raised.value)
    assert "next: unset it" in str(raised.value)


def test_a_worker_gets_the_clients_variables_and_none_of_its_own(monkeypatch):
    monkeypatch.setenv("TORCH_LOGS", "here")
    monkeypatch.setenv("TCLAB_STORE", "here")
    got = protocol.agent_variables({"TORCH_SHOW_CPP_STACKTRACES": "1"})
    assert got["TORCH_SHOW_CPP_STACKTRACES"] == "1"
    assert not {"TORCH_LOGS", "TCLAB_STORE"} & got.keys()


# --------------------------------------------------------------------------- offers and wishes

MADE = {"torch": "2.13.0+cpu", "torch_git": "a", "python": "3.11", "cpu": "c", "system": "s"}


def offer(*environments: dict, **fields) -> dict:
    data = [
        {"python": "p", "provenance": {**MADE, "variables": {}, **one.get("made", {})}, "has": [],
         "problem": "", **one}
        for one in environments
    ]  # fmt: skip
    return {**announcements.announce(data, 1, "box"), **fields}


def test_the_environment_that_has_what_is_wanted_is_taken():
    two = offer({}, {"made": {"torch": "2.15.0+cpu"}, "has": ["cxx"]})
    assert announcements.match_environment(two, Requirements()) == (0, "")
    assert announcements.match_environment(two, Requirements(torch="2.15")) == (1, "")
    assert announcements.match_environment(two, Requirements(needs=frozenset({"cxx"}))) == (1, "")


def test_what_sees_no_gpu_runs_on_a_machine_with_one_as_well():
    gpu = {"gpu": "NVIDIA H100", "variables": {"CUDA_VISIBLE_DEVICES": "1"}, "cores": 0}
    there = offer({"made": gpu})
    here = Provenance(**MADE, date="")
    assert announcements.match_environment(there, Requirements(like=here, sees_gpu=False)) == (
        0,
        "",
    )
    assert announcements.match_environment(there, Requirements(like=here))[0] == -1


@pytest.mark.parametrize(
    ("there", "requirements", "says"),
    [
        (offer({}, protocol=99), Requirements(), "it speaks protocol 99, and this tclab 1"),
        ({}, Requirements(), "it speaks protocol None"),
        (
            offer({}, memory=512),
            Requirements(memory=4096),
            "it has 512 MiB of memory, and 4,096 are",
        ),
        (offer({}), Requirements(torch="2.1"), "PyTorch 2.13.0+cpu is not 2.1"),
        (offer({}), Requirements(gpu="H200"), "no H200"),
        (offer({}), Requirements(needs=frozenset({"cuda", "cxx"})), "no cuda, cxx"),
        (offer({"problem": "no torch"}), Requirements(), "no torch"),
        (offer(), Requirements(), "it has no environment"),
        (
            offer({}),
            Requirements(like=Provenance(**{**MADE, "cpu": "d"}, date="")),
            "CPU d → c",
        ),
        (
            offer({"made": {"variables": {"CXX": "clang++"}}}),
            Requirements(like=Provenance(**MADE, date="")),
            "variable CXX set to clang++",
        ),
    ],
)
def test_what_a_worker_lacks_is_said_in_words(there, requirements, says):
    number, why = announcements.match_environment(there, requirements)
    assert number == -1
    assert says in why


def test_this_python_announces_itself_as_it_is(lab, tmp_path):
    import sys

    asked = announcements.measure_environment(sys.executable, tmp_path)
    assert asked == announcements.measure()
    here = lab.plan().here
    assert announcements.match_environment(
        announcements.announce([asked], 2), Requirements(like=here)
    ) == (0, "")
    with pytest.raises(TclabError, match="cannot be used"):
        announcements.measure_environment("/bin/false", tmp_path)
