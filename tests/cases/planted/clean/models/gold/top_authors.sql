-- @materialized: view
SELECT author, revenue, rank() OVER (ORDER BY revenue DESC) AS place
FROM gold.author_sales
