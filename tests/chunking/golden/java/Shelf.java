/*
 * Part of the lending desk.
 */
package org.example.library;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * A shelf of books, kept by signature.
 *
 * <p>Not safe for use by several threads.
 */
@SuppressWarnings("unused")
public class Shelf<B extends Comparable<B>> implements Iterable<B> {

    /** How many books a new shelf has room for. */
    public static final int ROOM = 40;

    private final List<B> books = new ArrayList<>(ROOM);
    private int lent, lost;

    static {
        System.setProperty("shelf.room", String.valueOf(ROOM));
    }

    public Shelf() {
        this(List.of());
    }

    /**
     * Takes over the books of another shelf.
     *
     * @param others what is to stand here
     */
    public Shelf(List<B> others) {
        books.addAll(others);
    }

    /** Where to look for a book that may not be there. */
    @Override
    public java.util.Iterator<B> iterator() {
        return books.iterator();
    }

    /**
     * Lends a book, and notes for how long and to whom.
     *
     * <p>A book that is lent already is reserved for the one who asks, unless somebody else has reserved it before; then
     * the one who asks is put on the list of those who wait, and gets a letter when the book comes back.
     *
     * @param book   what is asked for
     * @param reader who asks
     * @param days   for how long, from one to {@code 28}
     * @return whether the book was handed out at once
     */
    @Nullable
    public Boolean lend(B book, String reader, int days) {
        if (days < 1 || days > 28) {
            throw new IllegalArgumentException("a book is lent for one to 28 days, not for " + days);
        }
        int place = books.indexOf(book);
        if (place < 0) {
            lost++;
            return null;
        }
        for (int i = place; i < books.size(); i++) {
            if (books.get(i).equals(book) && i % 2 == 0) {
                lent++;
                System.out.printf("%s takes %s for %d days%n", reader, book, days);
                return true;
            }
        }
        System.out.printf("%s waits for %s, which comes back in %d days at the latest%n", reader, book, days);
        System.out.printf("there are %d books lent and %d lost on this shelf of %d books%n", lent, lost, ROOM);
        return false;
    }

    enum State {
        HERE,
        LENT {
            @Override
            boolean open() {
                return false;
            }
        };

        boolean open() {
            return true;
        }
    }

    record Loan(String reader, int days) {
        Loan {
            if (days < 1) throw new IllegalArgumentException();
        }
    }

    interface Watcher {
        void changed(State state);
    }

    static class ShelfTest {
        @Test
        void lendsNothingFromAnEmptyShelf() {
            assert new Shelf<String>().lend("A 1", "Ada", 7) == null;
        }
    }
}

@interface Audited {
    String by() default "desk";
}
