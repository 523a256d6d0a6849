-- @kind: delete_insert
-- @null_keys: match
SELECT customer_id, count(*) AS orders, min(ordered_on) AS since
FROM silver.orders
GROUP BY customer_id
HAVING count(*) >= 3
