"""SQL of the times at which a key has a partner, and of the times at which it has none.

A partner is a row that a join or an EXISTS finds for an outer row while a comparison of the clock holds. The key is the
values that both rows have in common (see `partners`).

    rows of a key     [====)                 a row is a partner from mz_partner_from to before mz_partner_until (ms)
                        [======)   [===)
    islands           [========)   [===)     some partner is there
    gaps           ===)        [===)   [==   none is there

A bound is NULL for a time without beginning or end. There is no column of beginnings if no time has a beginning, and no
column of ends if no time has an end. Each key with partners has at least one row among the gaps; a row that stands for
no gap has `mz_partner_open` = false. So an outer join with the gaps tells a key that is always covered from a key
without rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..sql.text.dialect import quote

#: the beginning of the names of the columns here
OWN = "mz_partner_"
#: before and after every instant (ms)
_FIRST, _LAST = f"{-(1 << 62)}L", f"{1 << 62}L"
#: the last millisecond that is a TIMESTAMP
_LAST_TIMESTAMP = f"{((1 << 63) - 1) // 1000}L"
#: stands for the instant (ms) from which a run computes its rows, see `from_instant`; the number is before all partners
RUN = "-9000000000000001L"


def from_instant(sql: str, as_of: int) -> str:
    """SQL of a query over partners -> the same for a run as of an instant (ms).

    Partners that are gone before this instant may be left out.
    """
    return sql if as_of < int(RUN[:-1]) else sql.replace(RUN, f"{as_of}L")


def key_column(index: int) -> str:
    return f"{OWN}k{index}"


@dataclass(frozen=True)
class Partnered:
    """The partners of keys, as SQL."""

    #: a query of the columns mz_partner_k0 …, mz_partner_from, mz_partner_until
    rows: str
    keys: int
    #: whether partners come at some time; else they are there from the beginning
    comes: bool
    #: whether partners go at some time; else they are there for ever
    goes: bool
    #: whether the times are read as TIMESTAMP, else as numbers of milliseconds
    as_timestamps: bool

    def islands(self) -> str:
        """A query of the times with a partner: keys, mz_partner_from if `comes`, mz_partner_until if `goes`."""
        names, rows = _names(self.keys), _bounded(self.rows, self.keys)
        by = names
        if self.comes and self.goes:
            over = f"OVER (PARTITION BY {names} ORDER BY mz_partner_from, mz_partner_until ROWS"
            covered = f"max(mz_partner_until) {over} BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) >= mz_partner_from"
            rows = _query(f"*, CASE WHEN {covered} THEN 0 ELSE 1 END AS mz_begins", rows)
            rows = _query(f"*, sum(mz_begins) {over} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS mz_island", rows)
            by = f"{names}, mz_island"
        since = f", {self._since('min(mz_partner_from)')} AS mz_partner_from" if self.comes else ""
        until = f", {self._until('max(mz_partner_until)')} AS mz_partner_until" if self.goes else ""
        return f"{_query(names + since + until, rows)} GROUP BY {by}"

    def gaps(self) -> str:
        """A query of the times without a partner, each from when partners go to when partners come.

        The columns: keys, mz_partner_open, mz_partner_from if `goes`, mz_partner_until if `comes`.
        """
        names, rows = _names(self.keys), _bounded(self.rows, self.keys)
        if not self.goes:
            first = "min(mz_partner_from)"
            items = f"{names}, {self._until(first)} AS mz_partner_until, {first} > {_FIRST} AS mz_partner_open"
            return f"{_query(items, rows)} GROUP BY {names}"
        if not self.comes:
            last = "max(mz_partner_until)"
            items = f"{names}, {self._since(last)} AS mz_partner_from, {last} < {_LAST} AS mz_partner_open"
            return f"{_query(items, rows)} GROUP BY {names}"
        over = f"OVER (PARTITION BY {names} ORDER BY mz_partner_from, mz_partner_until"
        reach = f"max(mz_partner_until) {over} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS mz_reach"
        following = f"lead(mz_partner_from, 1, {_LAST}) {over}) AS mz_next, row_number() {over}) AS mz_number"
        rows = _query(f"*, {reach}, {following}", rows)
        # for the time before the first partner, and for the time after each partner
        rows = _query("*, explode(array(true, false)) AS mz_before", rows)
        since = self._since(f"IF(mz_before, {_FIRST}, mz_reach)")
        until = self._until("IF(mz_before, mz_partner_from, mz_next)")
        is_open = f"NOT mz_before OR mz_partner_from > {_FIRST}"
        items = f"{names}, {since} AS mz_partner_from, {until} AS mz_partner_until, {is_open} AS mz_partner_open"
        return f"{_query(items, rows)} WHERE CASE WHEN mz_before THEN mz_number = 1 ELSE mz_reach < mz_next END"

    def _since(self, value: str) -> str:
        """SQL of a lower bound in the clock's type, or NULL.

        `least` avoids overflows in rows that a WHERE leaves out later.
        """
        if not self.as_timestamps:
            return f"nullif({value}, {_FIRST})"
        return f"CASE WHEN {value} > {_FIRST} THEN timestamp_millis(least({value}, {_LAST_TIMESTAMP})) END"

    def _until(self, value: str) -> str:
        if not self.as_timestamps:
            return f"nullif({value}, {_LAST})"
        return (
            f"CASE WHEN {value} <= {_LAST_TIMESTAMP} THEN timestamp_millis(greatest({value}, -{_LAST_TIMESTAMP})) END"
        )


def _names(keys: int) -> str:
    return ", ".join(quote(key_column(index)) for index in range(keys))


def _query(items: str, rows: str) -> str:
    return f"SELECT {items} FROM ({rows}) AS mz_rows"


def _bounded(rows: str, keys: int) -> str:
    """The rows that are there at some time. A bound of NULL becomes `_FIRST` or `_LAST`."""
    since, until = (
        f"coalesce(mz_partner_from, {_FIRST}) AS mz_partner_from",
        f"coalesce(mz_partner_until, {_LAST}) AS mz_partner_until",
    )
    rows = _query(f"{_names(keys)}, {since}, {until}", rows)
    return f"{_query('*', rows)} WHERE mz_partner_from < mz_partner_until"
