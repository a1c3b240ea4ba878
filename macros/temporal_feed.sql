{# The updates of a temporal_view's output that an incremental model has not yet taken, up to the frontier:
   mz_timestamp, mz_diff, mz_definite, columns. With incremental_strategy merge: the last update of each key, with mz_state
   (upsert, delete), by the unique_key of the model. verify: compare with what the table has. each_change=false: one
   difference instead of each update. #}
{% macro temporal_feed(relation=none, envelope=none, unique_key=none, max_changes=10000, verify=none, each_change=true) %}
  {%- do temporal_needs_relation('temporal_feed', relation) -%}
  {%- if not execute -%}{{ return(relation) }}{%- endif -%}
  {%- set materialized = model.get('config', {}).get('materialized') -%}
  {%- if materialized != 'incremental' -%}
    {%- do exceptions.raise_compiler_error('ST644 found: temporal_feed of ' ~ relation.identifier ~ ' in ' ~ model.get('name', 'a query')
       ~ ', which is no incremental model (' ~ materialized ~ ')\nwhy: a feed goes on after what the model took before\ninstead: '
       ~ "materialized='incremental', or temporal_changes(ref('" ~ relation.identifier ~ "')) for the changes between two instants") -%}
  {%- endif -%}
  {%- set strategy = config.get('incremental_strategy') or 'append' -%}
  {%- set key = unique_key or (config.get('unique_key') if strategy == 'merge' else none) -%}
  {%- set envelope = envelope or ('upsert' if strategy == 'merge' else 'diffs') -%}
  {%- if strategy not in ('append', 'merge') or (strategy == 'merge') != (envelope == 'upsert') -%}
    {%- do exceptions.raise_compiler_error('ST645 found: temporal_feed of ' ~ relation.identifier ~ ' with the envelope ' ~ envelope
       ~ ' in a model with incremental_strategy ' ~ strategy ~ '\nwhy: diffs and debezium are a log, to which is appended; an '
       ~ "upsert replaces the row of its key\ninstead: incremental_strategy='append' with envelope='diffs' or 'debezium', or "
       ~ "incremental_strategy='merge' with a unique_key") -%}
  {%- endif -%}
  {{ return(adapter.temporal_feed(relation, this if is_incremental() else none, {'envelope': envelope, 'unique_key': key,
       'max_changes': max_changes}, verify, each_change)) }}
{% endmacro %}
