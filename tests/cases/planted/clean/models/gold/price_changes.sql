SELECT p.book_id, b.title, p.price, p.valid_since, p.price - lag(p.price) OVER by_book AS change
FROM silver.book_prices AS p
JOIN silver.books AS b ON b.book_id = p.book_id
WINDOW by_book AS (PARTITION BY p.book_id ORDER BY p.valid_since)
