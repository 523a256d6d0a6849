-- @description: Books of which less is in stock than was sold in the last count's month
WITH latest AS (
  SELECT book_id, sum(quantity) AS in_stock
  FROM silver.stock_levels
  WHERE counted_on = (SELECT max(counted_on) FROM silver.stock_levels)
  GROUP BY book_id
),
sold AS (
  SELECT book_id, sum(quantity) AS copies
  FROM silver.order_lines
  GROUP BY book_id
)
SELECT b.book_id, b.title, s.name AS supplier, latest.in_stock, coalesce(sold.copies, 0) AS copies
FROM silver.books AS b
JOIN latest ON latest.book_id = b.book_id
LEFT JOIN sold ON sold.book_id = b.book_id
LEFT JOIN silver.suppliers AS s ON s.supplier_id = b.supplier_id
WHERE latest.in_stock < coalesce(sold.copies, 0)
