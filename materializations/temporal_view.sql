{% materialization temporal_view, adapter='sparktemporal', supported_languages=['sql'] %}
  {%- set target = this.incorporate(type='view') -%}

  {{ run_hooks(pre_hooks) }}

  {%- do temporal_make_room(target) -%}
  {%- set run = temporal_begin(target) -%}
  {%- for phase in run.phases -%}
    {%- do temporal_execute(run, phase) -%}
  {%- endfor -%}
  {%- do temporal_report(run) -%}

  {%- set grants = config.get('grants') -%}
  {%- do apply_grants(target, grants, should_revoke=should_revoke(run.old, full_refresh_mode=false)) -%}

  {{ run_hooks(post_hooks) }}
  {{ return({'relations': [target]}) }}
{% endmaterialization %}
