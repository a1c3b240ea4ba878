"""The classes of dbt-tests-adapter, inherited: what dbt expects of an adapter, asked of this one.

A package, so that `import conftest` elsewhere keeps meaning tests/conftest.py.
"""
