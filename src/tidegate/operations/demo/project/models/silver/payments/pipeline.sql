SELECT payment_id, order_id, amount, paid_at, sent_at
FROM bronze.payments
