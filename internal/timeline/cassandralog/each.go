package cassandralog

import (
	"errors"
	"sync"
)

// together bounds how much of one call is asked at once.
const together = 16

// each does something for each of a map's pairs, some at once, and gives the errors joined.
func each[K comparable, V any](m map[K]V, do func(K, V) error) error {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return eachOf(len(keys), func(i int) error { return do(keys[i], m[keys[i]]) })
}

// eachOf does something for 0 to n-1, some at once.
func eachOf(n int, do func(int) error) error {
	if n == 1 {
		return do(0)
	}
	failed := make([]error, n)
	var wait sync.WaitGroup
	slots := make(chan struct{}, together)
	for i := range n {
		slots <- struct{}{}
		wait.Go(func() {
			failed[i] = do(i)
			<-slots
		})
	}
	wait.Wait()
	return errors.Join(failed...)
}
