-- @merge_strategy: incremental
-- @unique_key: order_id
-- @watermark_column: updated_at
-- @description: Each order once, in its newest version
SELECT order_id, customer_id, lower(status) AS status, amount, ordered_on, updated_at
FROM bronze.orders
