{# The oracle: the view at t against the query as written at t, as multisets.
   instants: a list; by default now, the frontier, and `samples` of the model's own boundaries, each -1, 0, +1 ms. Of a
   predicate that a read evaluates no boundaries are known: then also `samples` instants up to the expiration, or up to 30
   days ahead, the nearer the denser, other ones after each run. #}
{% test temporal_matches_source(model, instants=none, samples=3, float_digits=12) %}
  {%- if execute -%}
    {{ adapter.temporal_match(model, instants, samples, temporal_clock(), float_digits) }}
  {%- else -%}
    select 1 as mz_instant
  {%- endif -%}
{% endtest %}
