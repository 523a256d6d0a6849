-- @kind: scd2
-- @unique_key: customer_id
-- @watermark_column: updated_at
SELECT customer_id, email, country, newsletter, updated_at
FROM {{ ref('silver.customers') }}
