-- @kind: merge
-- @unique_key: customer_id
-- @watermark_column: updated_at
SELECT
  customer_id,
  initcap(first_name) AS first_name,
  initcap(last_name) AS last_name,
  lower(email) AS email,
  upper(coalesce(country, '{{ var("home_country") }}')) AS country,
  birth_date,
  coalesce(newsletter, FALSE) AS newsletter,
  updated_at
FROM bronze.customers
WHERE customer_id IS NOT NULL
