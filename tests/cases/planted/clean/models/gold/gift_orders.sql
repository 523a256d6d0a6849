SELECT order_id, customer_id, ordered_on
FROM silver.orders
WHERE is_gift
  AND status = 'paid'
