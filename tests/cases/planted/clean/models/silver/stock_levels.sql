-- @merge_strategy: snapshot
-- @partition_column: counted_on
SELECT counted_on, warehouse, book_id, sum(quantity) AS quantity
FROM bronze.stock
GROUP BY counted_on, warehouse, book_id
