-- @description: The newest state of each book
WITH ranked AS (
  SELECT
    book_id,
    trim(title) AS title,
    author,
    genres,
    publisher.name AS publisher,
    publisher.city AS publisher_city,
    price,
    published_on,
    supplier_id,
    row_number() OVER (PARTITION BY book_id ORDER BY changed_at DESC) AS newest
  FROM {{ ref('bronze.books') }}
)
SELECT book_id, title, author, genres, publisher, publisher_city, price, published_on, supplier_id
FROM ranked
WHERE newest = 1
