WITH shipped AS (
  SELECT order_id FROM silver.shipments
)
SELECT o.order_id, o.customer_id, o.ordered_at
FROM silver.orders AS o
WHERE o.status <> 'cancelled'
  AND NOT EXISTS (SELECT 1 FROM shipped AS s WHERE s.order_id = o.order_id)
