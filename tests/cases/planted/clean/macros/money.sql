{% macro euros(cents) %}CAST({{ cents }} / 100 AS DECIMAL(12, 2)){% endmacro %}
