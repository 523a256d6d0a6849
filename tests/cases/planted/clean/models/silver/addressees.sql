-- @description: Everyone who may be written to, from both lists
SELECT customer_id, email, 'newsletter' AS reason
FROM silver.customers
WHERE newsletter
UNION
SELECT c.customer_id, c.email, 'order'
FROM silver.customers AS c
LEFT SEMI JOIN silver.orders AS o ON o.customer_id = c.customer_id
