// Package synclist has a list that several goroutines fill.
package synclist

import (
	"slices"
	"sync"
)

// List is a list of values in the order in which they were added. It is safe for concurrent use, and its zero value is empty.
type List[T any] struct {
	mu   sync.Mutex // guards list
	list []T
}

// Add adds a value.
func (l *List[T]) Add(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, v)
}

// All returns a copy of the values.
func (l *List[T]) All() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}
