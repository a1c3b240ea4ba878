{# The consolidated updates of a temporal_view's output: mz_timestamp, mz_diff, mz_definite, columns.
   as_of: inclusive; the rows that are there then are stamped with it (snapshot=false leaves them out). up_to: exclusive.
   Without them: from since to the frontier. envelope: 'diffs', or 'upsert' and 'debezium' by a unique_key. #}
{% macro temporal_changes(relation=none, as_of=none, up_to=none, snapshot=true, envelope='diffs', unique_key=none,
                          max_changes=10000) %}
  {%- do temporal_needs_relation('temporal_changes', relation) -%}
  {%- if not execute -%}{{ return(relation) }}{%- endif -%}
  {%- do temporal_needs_no_view('temporal_changes', relation) -%}
  {{ return(adapter.temporal_changes(relation, {'as_of': as_of, 'up_to': up_to, 'snapshot': snapshot, 'envelope': envelope,
       'unique_key': unique_key, 'max_changes': max_changes})) }}
{% endmacro %}
