-- @merge_strategy: scd2
-- @unique_key: customer_id
-- @watermark_column: updated_at
-- @description: Customers with their history: one row for each time something about them changed
SELECT customer_id, trim(name) AS name, city, updated_at
FROM bronze.customers
