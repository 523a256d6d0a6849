SELECT g.genre, sum(l.quantity) AS copies, sum(l.amount) AS revenue
FROM silver.order_lines AS l
JOIN silver.book_genres AS g ON g.book_id = l.book_id
GROUP BY ROLLUP (g.genre)
