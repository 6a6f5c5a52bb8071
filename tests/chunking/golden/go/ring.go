// Package ring keeps the last values of a stream.
package ring

import (
	"errors"
	"fmt"
	"testing"
)

// ErrEmpty is returned when there is nothing to take.
var ErrEmpty = errors.New("ring: empty")

const (
	Small = 16
	Large = 4096
)

type (
	// Value is anything that can be kept.
	Value interface {
		Size() int
	}
	// Watcher is told of each value that is lost.
	Watcher func(Value)
)

// Ring holds at most a fixed number of values; the oldest makes room for the newest.
type Ring[T Value] struct {
	values []T
	next   int
	full   bool
	lost   Watcher
}

// New makes a ring for n values.
func New[T Value](n int) *Ring[T] {
	return &Ring[T]{values: make([]T, n)}
}

// Len is the number of values that are held.
func (r *Ring[T]) Len() int {
	if r.full {
		return len(r.values)
	}
	return r.next
}

// Put adds a value.
func (r *Ring[T]) Put(value T) {
	if r.full && r.lost != nil {
		r.lost(r.values[r.next])
	}
	r.values[r.next] = value
	r.next = (r.next + 1) % len(r.values)
	r.full = r.full || r.next == 0
}

// Take removes the oldest value.
//
// The rest is moved, so that taking costs time in proportion to what is held; rings are small and are seldom
// read, so that nothing cleverer has been worth its lines so far.
func (r *Ring[T]) Take() (T, error) {
	var none T
	if r.Len() == 0 {
		return none, ErrEmpty
	}
	if !r.full {
		first := r.values[0]
		copy(r.values, r.values[1:r.next])
		r.next--
		return first, nil
	}
	first := r.values[r.next]
	ordered := append([]T{}, r.values[r.next+1:]...)
	ordered = append(ordered, r.values[:r.next]...)
	copy(r.values, ordered)
	r.values[len(r.values)-1] = none
	r.next = len(r.values) - 1
	r.full = false
	return first, nil
}

func (r Ring[T]) String() string { return fmt.Sprintf("%d of %d", r.Len(), len(r.values)) }

type word string

func (w word) Size() int { return len(w) }

func TestTake(t *testing.T) {
	r := New[word](2)
	r.Put("a")
	if got, err := r.Take(); err != nil || got != "a" {
		t.Fatalf("got %q, %v", got, err)
	}
}

func BenchmarkPut(b *testing.B) {
	r := New[word](Small)
	for i := 0; i < b.N; i++ {
		r.Put("x")
	}
}

func ExampleRing_String() {
	fmt.Println(New[word](3))
	// Output: 0 of 3
}

func Testing() bool { return false }
