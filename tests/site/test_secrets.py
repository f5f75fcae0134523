"""What a machine knows and nobody asked for reaches no page, and no other file of the site."""

from __future__ import annotations

from tests import planted


def test_no_secret_reaches_the_site(project, tmp_path_factory) -> None:
    variables = planted.plant(tmp_path_factory.mktemp("machine"))
    planted.plant_in_git(project.root)
    snippet = '"""Paths."""\n' + planted.INNOCENT
    project.write("snippets/start/paths.py", snippet)
    project.page('snippet("start/hello")', 'snippet("start/paths")', "overview()")
    done = project.build("--strict", **variables)
    assert done.returncode == 0, done.stdout
    assert not planted.found_in(done.stdout)
    assert "file.gone" in project.html()
    assert planted.found(project.root / "site") == []
    assert planted.found(project.root / ".tclab", "cache") == []
    project.write("snippets/start/paths.py", f"{snippet}\nraise ValueError(os.path.abspath('x'))\n")
    assert not planted.found_in(project.fails(**variables))
