-- @description: What came in and what went out, as one list
SELECT payment_id AS entry_id, paid_on AS booked_on, 'payment' AS kind, amount
FROM silver.payments
WHERE NOT refunded
UNION ALL
SELECT payment_id, paid_on, 'refund', -amount
FROM silver.payments
WHERE refunded
