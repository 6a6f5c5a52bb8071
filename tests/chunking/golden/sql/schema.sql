-- Readers of the library.
CREATE TABLE library.readers (
    id integer PRIMARY KEY,
    name text NOT NULL,
    since date DEFAULT now()
);

CREATE INDEX readers_name ON library.readers (name);

/* What is out. */
CREATE OR REPLACE VIEW library.loans AS
SELECT readers.name, count(*) AS books
FROM library.readers
JOIN library.books ON books.reader = readers.id
GROUP BY readers.name;

INSERT INTO library.readers (id, name) VALUES (1, 'Ada'), (2, 'Grace');

CREATE FUNCTION library.late(days integer) RETURNS boolean AS $$
    SELECT days > 28;
$$ LANGUAGE sql;

-- Who waits for a book, the one who has waited longest first. A reader who already has the book
-- does not wait for it, whatever the list says.
CREATE OR REPLACE FUNCTION library.waiting(wanted integer) RETURNS SETOF library.readers AS $$
    SELECT readers.*
    FROM library.readers
    JOIN library.reservations ON reservations.reader = readers.id
    WHERE reservations.book = wanted
      AND NOT EXISTS (
          SELECT 1 FROM library.books WHERE books.id = wanted AND books.reader = readers.id
      )
    ORDER BY reservations.since, readers.id;
$$ LANGUAGE sql STABLE;

CREATE TABLE library.books (
    id integer PRIMARY KEY,
    title text NOT NULL,
    signature text UNIQUE,
    reader integer REFERENCES library.readers (id),
    back date
);

UPDATE library.books SET reader = NULL, back = NULL WHERE back < now() - interval '1 year';
