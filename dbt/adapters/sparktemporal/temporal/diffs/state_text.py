"""The state of a model as one line of JSON in the text of `<model>__live`.

A metastore limits the text of a view, so a long state (of many columns, or of a long query) is packed, or kept in a
table of one row that the view names:

| form | in the comment | beside it |
|---|---|---|
| INLINE | all fields, readable | |
| PACKED | model, run, project, schema; all fields compressed | |
| TABLE | model, run, project, schema; the name of the table | the table, `<model>__state_<run>` |

In each form the comment holds a checksum over all fields and the query of the view.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable
from enum import Enum
from typing import Any

from ...errors import Explained, ForeignRelation
from ..sql.text.identifiers import folded
from .state import State
from .state_formats import FORMAT, payload_of, state_of_payload

MARK = "mz_state:"
#: how the state in a text begins: with its format and its model, in every format
_OF_MODEL = re.compile(rf'/\* {MARK} {{"format":[0-9]+,"model":("(?:[^"\\]|\\.)*")')

#: every catalog keeps a view's text of so many characters; Hive's metastore in Derby keeps the fewest, 32,700
VIEW_TEXT_LIMIT = 30_000


class Form(Enum):
    """How the text of a view holds the state."""

    INLINE, PACKED, TABLE = "inline", "packed", "table"


def embed(state: State, body: str, form: Form = Form.INLINE) -> str:
    """State and the query of the view -> the text to commit."""
    payload = payload_of(state)
    check = _check(payload, body)
    before, _, after = body.partition("SELECT")
    if form is not Form.INLINE:
        head = ("model", "run", "project", "schema")
        payload = {"format": FORMAT, **{name: getattr(state, name) for name in head}}
        payload |= {"packed": packed(state)} if form is Form.PACKED else {"in_table": state.state_table}
    payload["check"] = check
    line = json.dumps(payload, separators=(",", ":"), ensure_ascii=True)
    # in a comment Spark would nest at `/*`, end at `*/`, and substitute at `${`
    line = line.replace("*", "\\u002a").replace("$", "\\u0024")
    return f"{before}SELECT /* {MARK} {line} */{after}"


def is_commit(text: str, model: str) -> bool:
    """Whether a run of the model committed this text of a view. The state in the text may be unreadable.

    A copy of the view under another name is no commit of the model of that name.
    """
    found = _OF_MODEL.search(text)
    return found is not None and folded(json.loads(found.group(1))) == folded(model)


def run_of(text: str) -> str:
    """The run of a live view, "" for an unknown one. A damaged state tells the run too, for a full refresh."""
    return _field_of(text, "run")


def project_of(text: str) -> str:
    """The dbt project that ran a model last, "" for an unknown one. A damaged state tells the project too."""
    return _field_of(text, "project")


def schema_of(text: str) -> str:
    """The schema of the model of a live view, "" for an unknown one."""
    line = text.partition(f"/* {MARK} ")[2].partition(" */")[0]
    try:
        return str(json.loads(line).get("schema", ""))
    except ValueError:
        return ""


def _field_of(text: str, name: str) -> str:
    found = re.search(rf'"{name}":"([^"]*)"', text)
    return found.group(1) if found else ""


def packed(state: State) -> str:
    """All fields of a state, in letters, digits and `+/=`."""
    plain = json.dumps(payload_of(state), separators=(",", ":"))
    return base64.b64encode(zlib.compress(plain.encode(), 9)).decode()


def unpacked(text: str) -> State:
    """The inverse of `packed`. Raises ValueError, KeyError, TypeError for a text that `packed` did not make."""
    return state_of_payload(_unpacked({"packed": text}, None))


def extract(text: str, model: str, load: Callable[[str], str] | None = None) -> State:
    """The text of a live view -> the state in it.

    Raises ForeignRelation for a text that no run of the model committed, and TemporalError for a state that is not as a
    run left it.
    load: the name of a table of the model's schema -> the packed state in it; a ValueError says why there is none.
    """
    if not is_commit(text, model):
        raise ForeignRelation(f"{model}__live", model)
    _, found, rest = text.partition(f"/* {MARK} ")
    line, closed, tail = rest.partition(" */")
    head = text.partition(f" /* {MARK} ")[0]
    try:
        if not (found and closed):
            raise ValueError("no state in it")
        payload = json.loads(line)
        check = payload.pop("check")
        if payload["format"] != FORMAT:
            raise ValueError(f"its format is {payload['format']}, this version reads {FORMAT}")
        payload = _unpacked(payload, load)
        if check != _check(payload, head + tail):
            raise ValueError("it was edited by hand: its checksum does not match")
        return state_of_payload(payload)
    except (ValueError, KeyError, TypeError) as error:
        raise Explained(
            "ST504",
            f"{model}__live, whose state cannot be used ({error})",
            f"what is stored for {model} is not known without it, so nothing is read, changed or dropped",
            f"dbt run --full-refresh -s {model}",
        ) from None


def _unpacked(payload: dict[str, Any], load: Callable[[str], str] | None) -> dict[str, Any]:
    """The fields a comment holds -> all fields of the state."""
    if "in_table" in payload:
        table = payload["in_table"]
        if load is None:
            raise ValueError(f"it is in the table {table}")
        payload = {"packed": load(table)}
    if "packed" not in payload:
        return payload
    try:
        return dict(json.loads(zlib.decompress(base64.b64decode(payload["packed"], validate=True))))
    except (ValueError, zlib.error) as error:
        raise ValueError(f"what is packed cannot be read: {error}") from None


def _check(payload: dict[str, Any], body: str) -> str:
    plain = {k: v for k, v in payload.items() if k != "check"}
    text = json.dumps(plain, sort_keys=True) + "".join(body.split())
    return hashlib.sha256(text.encode()).hexdigest()[:16]
