-- @description: One row for each genre of a book
SELECT
  b.book_id,
  g.position + 1 AS place,
  lower(g.genre) AS genre
FROM silver.books AS b
LATERAL VIEW posexplode(b.genres) g AS position, genre
