-- @materialized: view
SELECT customer_id, country, amount
FROM gold.customer_value
ORDER BY amount DESC, customer_id
LIMIT 100
