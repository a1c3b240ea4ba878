"""The edits by which docs/howto/migrate-view.md and migrate-incremental.md have people migrate models, and no others.

| in the model | becomes | page, step |
|---|---|---|
| `materialized` of a model with a clock | `temporal_view` | both, 2 |
| `materialized` of a model without a clock that reads only temporal views | `view` | incremental, 5 |
| `{% if is_incremental() %} … {% endif %}` | nothing | incremental, 2 |
| `x > current_timestamp() - interval …` | `mz_now() < x + interval …` | incremental, 2 |
| `current_timestamp()`, but not dbt's macro of the name | `mz_now()` | view, 2 |
| `unique_key`, once it is refused | the last row of the key, above the window | incremental, 3 |

Other configs stay: the first run says that they do nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_CONFIG = re.compile(r"\{\{ config\(.*?\) \}\}", re.DOTALL)
_INCREMENT = re.compile(r"\n?\{% if is_incremental\(\) %\}.*?\{% endif %\}", re.DOTALL)
_CLOCK = re.compile(r"\b(current_timestamp|current_date|now)\(\)")
_WINDOW = re.compile(r"([\w.]+) (>=?) current_timestamp\(\) - (interval \d+ \w+)")
_REF = re.compile(r"\bref\('(\w+)'\)")
_NEWEST = re.compile(r"select max\((\w+)\) from \{\{ this \}\}")


def migrated(models: Mapping[str, str]) -> dict[str, str]:
    """Model -> its text after the edits, but that of `unique_key`; of the models that have to be edited."""
    made = {name: _with_a_clock(text) for name, text in models.items() if _CLOCK.search(text)}
    while found := {name: text for name, text in models.items() if name not in made and _reads_only(text, made)}:
        made |= {name: _materialized(text, "view") for name, text in found.items()}
    return made


def with_the_last_of_each_key(before: str, after: str) -> str:
    """before: the incremental model, whose filter names the column by which rows are new. after: without its filter."""
    key, newest = re.search(r"unique_key='(\w+)'", before), _NEWEST.search(before)
    assert key and newest, before
    config = _CONFIG.search(after)
    assert config, after
    kept = re.sub(r",\s*unique_key='\w+'", "", config[0])
    return f"""{kept}

select * except (version)
from (
  select *, row_number() over (partition by {key[1]} order by {newest[1]} desc) as version
  from (
{after[config.end() :].strip()}
  ) as in_window
) as numbered
where version = 1
"""


def _reads_only(text: str, temporal: Mapping[str, str]) -> bool:
    refs = set(_REF.findall(text))
    return bool(refs) and refs <= temporal.keys() and "source(" not in text


def _with_a_clock(text: str) -> str:
    text = _WINDOW.sub(lambda f: f"mz_now() {f[2].replace('>', '<')} {f[1]} + {f[3]}", _INCREMENT.sub("", text))
    text = re.sub(r"(?<!dbt\.)\bcurrent_timestamp\(\)", "mz_now()", text)
    return _materialized(text, "temporal_view")


def _materialized(text: str, kind: str) -> str:
    edited, times = re.subn(r"materialized='\w+'", f"materialized='{kind}'", text)
    assert times == 1, text
    return edited
