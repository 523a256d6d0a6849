-- @description: Copies and revenue by author
SELECT b.author, sum(l.quantity) AS copies, sum(l.amount) AS revenue
FROM silver.books AS b
JOIN silver.order_lines AS l ON l.book_id = b.book_id
GROUP BY b.author
