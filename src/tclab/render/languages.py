"""Define Pygments lexers for languages that Pygments lacks: MLIR (TTIR, TTGIR) and NVIDIA's
SASS.
"""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)


class MlirLexer(RegexLexer):  # type: ignore[misc]
    """A lexer for MLIR's generic syntax, sufficient for Triton's IR."""

    name = "MLIR"
    aliases = ("mlir",)
    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"//.*", Comment.Single),
            (r'"(\\.|[^"\\])*"', String.Double),
            (r"%[\w$.-]+(:\d+|#\d+)?", Name.Variable),
            (r"[@^][\w$.-]+", Name.Function),
            (r"#[\w$.-]+", Name.Decorator),
            (r"![\w$.-]+(\.[\w$-]+)*", Keyword.Type),
            (r"\b(tensor|vector|memref)(?=<)", Keyword.Type),
            (r"\b(\d+x)+(?=[a-z!])", Number.Integer),
            (r"\b(bf16|f8\w+|f16|f32|f64|[su]?i\d+|index|none)\b", Keyword.Type),
            (r"-?0x[0-9a-fA-F]+|-?\d+\.\d*([eE][+-]?\d+)?|-?\d+", Number),
            (r"\b[a-z_]\w*(\.\w+)+", Name.Function),
            (r"\b(module|attributes|loc|dense|true|false|to|step|iter_args|unknown)\b", Keyword),
            (r"[A-Za-z_][\w$]*", Name),
            (r"->|[=:*/+&|?-]", Operator),
            (r"[()\[\]{}<>,;]", Punctuation),
            (r".", Name),
        ]
    }


class SassLexer(RegexLexer):  # type: ignore[misc]
    """A lexer for the assembly that `nvdisasm` prints."""

    name = "SASS"
    aliases = ("nvsass",)
    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"//.*", Comment.Single),
            (r"/\*[^*]*\*/", Comment.Multiline),
            (r"\.[A-Za-z_][\w.$]*:?", Name.Label),
            (r"(@!?U?P\w+)(\s+)", bygroups(Name.Decorator, Whitespace)),
            (r"!?U?P(T|\d+)\b", Name.Variable),
            (r"-?\|?U?R(Z|\d+)\b(\.\w+)*\|?", Name.Variable),
            (r"c\[0x[0-9a-f]+\]", Name.Constant),
            (r"-?0x[0-9a-fA-F]+|-?\d+(\.\d+)?([eE][+-]?\d+)?", Number),
            (r"[A-Z][A-Z0-9_]+(\.[A-Za-z0-9_]+)*", Keyword),
            (r'"[^"\n]*"', String.Double),
            (r"[\w$@]+", Name),
            (r"[-+*|~!&`]", Operator),
            (r"[()\[\]{}<>,;:=#%]", Punctuation),
            (r".", Name),
        ]
    }
