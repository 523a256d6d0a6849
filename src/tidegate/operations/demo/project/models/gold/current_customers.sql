-- @materialized: view
-- @description: Customers as they are now
SELECT customer_id, name, city, valid_from AS since
FROM silver.customers
WHERE is_current
