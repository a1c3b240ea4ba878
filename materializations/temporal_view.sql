{% materialization temporal_view, adapter='sparktemporal', supported_languages=['sql'] %}
  {%- set target = this.incorporate(type='view') -%}

  {{ run_hooks(pre_hooks) }}

  {%- set existing = load_cached_relation(this) -%}
  {%- set run = temporal_begin(target, existing) -%}
  {%- for step in adapter.temporal_write(run) -%}
    {%- do write(run.script) -%}
  {%- endfor -%}
  {%- if run.gave_way and existing -%}
    {%- do adapter.cache_dropped(existing) -%}
  {%- endif -%}
  {%- do temporal_summarize(run) -%}

  {%- set grants = config.get('grants') -%}
  {%- do apply_grants(target, grants, should_revoke=should_revoke(run.plan.old, full_refresh_mode=false)) -%}

  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [] if run.is_in_table else [target]}) }}
{% endmaterialization %}
