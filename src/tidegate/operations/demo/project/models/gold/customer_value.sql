-- @description: How much each customer has ordered
SELECT c.customer_id, c.name, c.city, count(o.order_id) AS orders, coalesce(sum(o.amount), 0) AS ordered
FROM silver.customers AS c
LEFT JOIN silver.orders AS o ON o.customer_id = c.customer_id AND o.status <> 'cancelled'
WHERE c.is_current
GROUP BY c.customer_id, c.name, c.city
