WITH sold AS (
  SELECT DISTINCT book_id FROM silver.order_lines
)
SELECT b.book_id, b.title, b.author
FROM silver.books AS b
LEFT ANTI JOIN sold ON sold.book_id = b.book_id
